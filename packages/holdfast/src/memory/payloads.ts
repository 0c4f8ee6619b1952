import type { Payload } from "../model/payload.ts";
import {
  isInUse,
  MESSAGES_WITH_VALUE,
  numbersAfter,
  PAYLOAD_PARTS,
  type PayloadPlace,
  type PlacedPayload,
  payloadPage,
} from "../model/payload-place.ts";
import type { ReadPayloadsParams, ReplaceOutcome, ReplacePayload, ReplacePayloadsParams } from "../ports/store.ts";
import { type MemoryState, type RunRecord, runIn } from "./state.ts";
import { taskKey, tasksOfRun } from "./tasks/task-state.ts";

export function readPayloads(state: MemoryState, params: ReadPayloadsParams): (readonly PlacedPayload[])[] {
  return params.runs.map(({ namespace, runId, after }) => {
    const run = runIn(state, namespace, runId);
    const left = run ? payloadsOf(state, run).filter((place) => isAfter(place, after)) : [];
    return payloadPage(left, params);
  });
}

function isAfter({ part, number }: PayloadPlace, after: PayloadPlace | null): boolean {
  const last = numbersAfter(part, after);
  return last !== null && number > last;
}

function payloadsOf(state: MemoryState, { runId, input, output }: RunRecord): PlacedPayload[] {
  const all: (PayloadPlace & { readonly payload: Payload | null | undefined })[] = [
    { part: "input", number: 0, payload: input },
    { part: "output", number: 0, payload: output },
    ...(state.events.get(runId) ?? []).map(({ seq, payload }) => ({ part: "event" as const, number: seq, payload })),
    ...(state.inbox.get(runId) ?? [])
      .filter(({ kind }) => MESSAGES_WITH_VALUE.includes(kind))
      .map(({ number, payload }) => ({ part: "message" as const, number, payload })),
    ...tasksOfRun(state, runId).map(({ seq, details }) => ({
      part: "details" as const,
      number: seq,
      payload: details,
    })),
  ];
  const order = ({ part }: PayloadPlace): number => PAYLOAD_PARTS.indexOf(part);
  return all
    .filter((one): one is PlacedPayload => (one.payload?.length ?? 0) > 0)
    .sort((a, b) => order(a) - order(b) || a.number - b.number);
}

export function replacePayloads(
  state: MemoryState,
  { payloads }: ReplacePayloadsParams,
): { readonly outcomes: readonly ReplaceOutcome[] } {
  return { outcomes: payloads.map((one) => replacePayload(state, one)) };
}

function replacePayload(state: MemoryState, { namespace, runId, from, to, ...place }: ReplacePayload): ReplaceOutcome {
  const run = runIn(state, namespace, runId);
  if (!run) return "changed";
  const owner = { held: run.heldBy !== null, consumed: run.consumed, owes: state.debtsOf.has(runId) };
  if (isInUse(owner, place)) return "in_use";
  const stored = payloadsOf(state, run).find(({ part, number }) => part === place.part && number === place.number);
  if (!stored || !(isSame(stored.payload, from) || isSame(stored.payload, to))) return "changed";
  write(state, run, place, to);
  return "replaced";
}

function isSame(a: Payload, b: Payload): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

/** Events and messages are copied: somebody may have read them. */
function write(state: MemoryState, run: RunRecord, { part, number }: PayloadPlace, payload: Payload): void {
  if (part === "input" || part === "output") {
    run[part] = payload;
  } else if (part === "details") {
    const task = state.tasks.get(taskKey({ runId: run.runId, seq: number }));
    if (task) task.details = payload;
  } else {
    const rows = part === "event" ? state.events.get(run.runId) : state.inbox.get(run.runId);
    const at = rows?.findIndex((row) => ("seq" in row ? row.seq : row.number) === number) ?? -1;
    if (rows && at >= 0) rows[at] = { ...rows[at], payload } as never;
  }
}
