import type { Client, RetentionOptions } from "holdfast";
import type { Call } from "../../command/call.ts";
import { given } from "../../command/values.ts";
import type { Action } from "../../command/verb.ts";

const STATUSES = ["completed", "failed", "canceled", "terminated", "timed_out", "continued"] as const;

export const get: Action = async (call) => show(call, await call.open());

export const set: Action = async (call) => {
  const entries = STATUSES.map((status) => [status, call.text(status.replace("_", "-"))]);
  const hf = await call.open({ create: "empty" });
  await hf.retention.set(given(Object.fromEntries(entries)) as RetentionOptions);
  return show(call, hf);
};

async function show(call: Call, hf: Client): Promise<undefined> {
  const rules = await hf.retention.get();
  call.out.record(rules);
  call.out.facts(STATUSES.map((status) => [status.replace("_", " "), String(rules[status] ?? "forever")]));
  return undefined;
}
