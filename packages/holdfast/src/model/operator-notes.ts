/**
 * Who does what to a run from outside, and why: what messages and events carry of it.
 *
 * Invariants
 *  O1. One event for each action; the row of a run is parked exactly when the last of its `run_parked`, `run_resumed` and
 *      `run_forked` is a `run_parked`. The store appends them, in the transaction that changes the row.
 *  O2. What stands before the `run_forked` of a fork is what its origin has there, and nothing of it was undone.
 */
import type { ErrorRecord } from "./error-record.ts";
import type { EventDraft, EventMeta, EventType } from "./event.ts";
import { EMPTY_PAYLOAD, type Payload } from "./payload.ts";

/** Who did it, and why. */
export interface Who {
  readonly by?: string;
  readonly reason?: string;
  /** The run id of the batch that did it: its first one, if it has continued as new. */
  readonly batch?: string;
}

/** The code of a run that a person has paused. */
export const PAUSED = "paused";

/** Without the fields that are not known. */
export function whoOf({ by, reason, batch }: { readonly [K in keyof Who]?: unknown }): Who {
  return {
    ...(typeof by === "string" ? { by } : {}),
    ...(typeof reason === "string" && reason !== "" ? { reason } : {}),
    ...(typeof batch === "string" ? { batch } : {}),
  };
}

/** A message from a person carries the reason as its name, and who sent it as its payload. */
export function messageFrom({ by, reason }: Who): { readonly name: string; readonly payload: Payload } {
  return {
    name: reason ?? "",
    payload: by === undefined ? EMPTY_PAYLOAD : new TextEncoder().encode(JSON.stringify(by)),
  };
}

export function senderOf({ name, payload }: { readonly name: string; readonly payload: Payload }): Who {
  return whoOf({ by: payload.length === 0 ? undefined : textIn(payload), reason: name });
}

function textIn(payload: Payload): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(payload));
  } catch {
    return undefined; // not from a client of ours
  }
}

/** The event of every park. It has the error without its stack and its causes: those are in the row. */
export function parkNote({ name, message, kind, code, data }: ErrorRecord): EventDraft & { readonly meta: EventMeta } {
  const error: ErrorRecord = { name, message, kind, ...(code === undefined ? {} : { code }) };
  return { type: "run_parked", op: null, meta: { error, ...(code === PAUSED ? whoOf(data ?? {}) : {}) } };
}

/** The event of every resume. */
export function resumeNote(who: { readonly [K in keyof Who]?: unknown }): EventDraft {
  const meta: EventMeta = whoOf(who);
  return Object.keys(meta).length === 0 ? { type: "run_resumed", op: null } : { type: "run_resumed", op: null, meta };
}

const NOTES: ReadonlySet<EventType> = new Set([
  "pause_requested",
  "run_parked",
  "run_resumed",
  "run_restarted",
  "run_noted",
]);

/** Whether a pause that was asked for before is over: it was done, undone, or somebody has since wanted the run to go on. */
export function endsPause({ type, meta }: { readonly type: EventType; readonly meta?: EventMeta }): boolean {
  // A retry by the workflow itself counts its attempts; that of a person does not.
  if (type === "run_retried") return meta?.attempt === undefined;
  return type === "run_parked" || type === "run_resumed" || type === "run_forked";
}

/** Whether it is about the run as seen from outside: the code never sees it, and it may stand anywhere between turns. */
export function isOperatorNote({ type }: { readonly type: EventType }): boolean {
  return NOTES.has(type);
}
