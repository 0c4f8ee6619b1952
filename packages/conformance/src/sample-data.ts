import type { ErrorRecord, HistoryEvent, NewRun, Payload, Transition } from "holdfast/adapter";

/** A Tuesday in 2026. The suites count from here. */
export const START_MS = Date.UTC(2026, 5, 2, 9);

export const LEASE_MS = 10_000;

export function bytes(text: string): Payload {
  return new TextEncoder().encode(text);
}

export function errorRecord(message: string): ErrorRecord {
  return { name: "Error", message, kind: "Unknown" };
}

/** Hashes of code. The second sorts before the others. */
export const CODES = ["b", "0", "f"].map((digit) => digit.repeat(32)) as [string, string, string];

/** Everything that a run needs; its id is derived from its runId unless given. */
export function newRun(runId: string, fields: Partial<NewRun> = {}): NewRun {
  return {
    namespace: "default",
    runId,
    id: `run ${runId}`,
    workflow: "order",
    version: "1",
    queue: "default",
    priority: 0,
    input: bytes('{"amount":12}'),
    seed: `seed ${runId}`,
    attributes: {},
    ...fields,
  };
}

/** `count` events that follow `eventCount`. */
export function someEvents(eventCount: number, count: number, at: number = START_MS): HistoryEvent[] {
  return Array.from({ length: count }, (_, i) => {
    const seq = eventCount + 1 + i;
    return { seq, type: "step_completed", op: `step ${seq}`, at, payload: bytes(`"result ${seq}"`) };
  });
}

export const HOLD: Transition = { type: "hold", status: "running" };
export const APPEND: Transition = { type: "append" };
export const RELEASE: Transition = { type: "release" };

export function suspend(
  availableAt: number | null,
  fields: Partial<Extract<Transition, { type: "suspend" }>> = {},
): Transition {
  const status = availableAt === null ? "waiting" : "sleeping";
  return { type: "suspend", status, availableAt, waitingFor: ["approved"], ...fields };
}

export function end(fields: Partial<Extract<Transition, { type: "end" }>> = {}): Transition {
  return {
    type: "end",
    status: "completed",
    output: bytes('"done"'),
    error: null,
    unlessBehind: false,
    compensation: null,
    ...fields,
  };
}

export function park(message: string, code?: string): Transition {
  return { type: "park", error: errorRecord(message), ...(code === undefined ? {} : { code }) };
}
