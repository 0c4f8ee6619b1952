import type { EventMeta } from "../../model/event-meta.ts";
import { array, attributes, errorRecord, Fault, flag, record, text } from "./line-checks.ts";

type Check = (value: unknown, what: string) => unknown;

const number: Check = (value, what) => {
  if (typeof value !== "number" || !Number.isFinite(value)) throw new Fault(`has ${what} that is not a number`);
};

/** What each field of an event's meta is. Unknown ones stay, as in a store. */
const META: { readonly [K in keyof Required<EventMeta>]: Check } = {
  ...{ attempt: number, ms: number, after: number, retryAt: number, fireAt: number, receive: number, begunAt: number },
  ...{ number, from: number, limit: number, fence: number, request: number },
  ...{ worker: text, group: text, branch: text, messageId: text, seed: text, by: text, reason: text, batch: text },
  ...{ inputHash: text, namespace: text, status: text, compensation: text, end: text, workflow: text },
  ...{ begun: flag, edited: flag, neverCalled: flag, unknown: flag, neverBegan: flag, withdrawn: flag, later: flag },
  ...{ retry: record, run: record, forkedFrom: record, task: record, child: record, to: record, attributes },
  ...{ error: errorRecord, forgets: array(text), failures: array(record), runs: array(record) },
};

export function eventMeta(value: unknown, what: string): object {
  const meta = record(value, what);
  for (const [field, given] of Object.entries(meta))
    if (Object.hasOwn(META, field)) META[field as keyof EventMeta](given, `${what}.${field}`);
  return meta;
}
