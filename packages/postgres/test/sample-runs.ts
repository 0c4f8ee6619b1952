import type { HistoryEvent, NewRun, RunCommit, StartRun, Store, Transition } from "holdfast/adapter";

export const LANE = { namespace: "default", workflow: "order", version: "1", queue: "default", priority: 0 } as const;
export const HOLD: Transition = { type: "hold", status: "running" };
export const ERROR = { name: "Error", message: "for the test", kind: "Unknown" } as const;
export const SWEEP = {
  suspectAfter: 2,
  parkAfter: 2,
  parkError: ERROR,
  timeoutGraceMs: 1_000,
  timeoutError: ERROR,
  limit: 100,
};

/** Time-ordered, like those of the engine. */
export function idOf(n: number): string {
  return `01890000-0000-7000-8000-${n.toString(16).padStart(12, "0")}`;
}

export function newRun(n: number, fields: Partial<NewRun> = {}): NewRun {
  const input = new TextEncoder().encode(JSON.stringify({ n }));
  return { ...LANE, runId: idOf(n), id: `order ${n}`, input, seed: `seed ${n}`, attributes: {}, ...fields };
}

export function aStart(run: NewRun, fields: Partial<StartRun> = {}): StartRun {
  return { run, ifRunning: "fail", ifClosed: "fail", hold: false, pick: null, ...fields };
}

export async function start(store: Store, runs: readonly NewRun[], workerId?: string): Promise<void> {
  const hold = workerId !== undefined;
  await store.runs.start({
    starts: runs.map((run) => aStart(run, { hold })),
    holdBy: workerId === undefined ? null : { workerId, claimId: idOf(999_999) },
    replaceError: ERROR,
  });
}

export async function register(store: Store, workerId: string, leaseMs = 60_000): Promise<string> {
  const lists = { queues: [LANE.queue], workflows: [LANE.workflow], labels: {} };
  await store.workers.register({ workerId, namespace: LANE.namespace, name: "a worker", ...lists, leaseMs });
  return workerId;
}

export function claim(store: Store, workerId: string, claimId: string, limit = 100) {
  const handlers = [{ workflow: LANE.workflow, version: LANE.version }];
  const where = { namespace: LANE.namespace, queues: [LANE.queue], handlers };
  return store.runs.claim({ workerId, claimId, again: false, ...where, limit, solo: false });
}

export function event(seq: number, fields: Partial<HistoryEvent> = {}): HistoryEvent {
  return {
    seq,
    type: "step_completed",
    op: `step ${seq}`,
    at: 1_000 + seq,
    payload: new TextEncoder().encode("true"),
    ...fields,
  };
}

/** The first commit of a run that was started and held. */
export function firstCommit(n: number, fields: Partial<RunCommit> = {}): RunCommit {
  return {
    namespace: LANE.namespace,
    runId: idOf(n),
    workerId: idOf(1),
    epoch: 1,
    commit: 0,
    events: [event(1)],
    eventCount: fields.events ? (fields.events.at(-1)?.seq ?? 0) : 1,
    consumed: 0,
    attributes: null,
    clearDeadline: false,
    transition: HOLD,
    ...fields,
  };
}
