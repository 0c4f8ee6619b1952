/**
 * Named points: where a worker process is made to die or to stop. They are around the store port and in the steps of
 * the torture workflows, so production code has none.
 */
import {
  type CommitRunsParams,
  type CommitRunsResult,
  type Store,
  type StoreMethod,
  storeAround,
} from "holdfast/adapter";

export const POINTS = [
  "before-commit",
  "after-commit",
  "in-step",
  "retry-backoff",
  "sleeping",
  "waiting",
  "before-claim",
  "after-claim",
  "before-start",
  "after-start",
  "before-heartbeat",
  "after-heartbeat",
  "before-sweep",
  "after-sweep",
  "before-transaction",
  "in-transaction",
  "after-transaction",
  "draining",
  "before-task-claim",
  "after-task-claim",
  "before-finish",
  "after-finish",
  "before-beat",
  "after-beat",
  "in-task",
  "before-result",
  "after-result",
] as const;

export type Point = (typeof POINTS)[number];

/** Points that a process passes because of the tasks that it executes. */
export const POINTS_OF_TASKS: readonly Point[] = [
  "before-task-claim",
  "after-task-claim",
  "before-finish",
  "after-finish",
  "before-beat",
  "after-beat",
  "in-task",
];
/** Points that it passes because of runs that have scheduled tasks. */
export const POINTS_OF_RESULTS: readonly Point[] = ["before-result", "after-result"];
/** Points that every worker passes. */
export const POINTS_OF_ALL: readonly Point[] = [
  "before-heartbeat",
  "after-heartbeat",
  "before-sweep",
  "after-sweep",
  "draining",
];

/** A store call; `result` is set once the store has answered, before the engine gets the answer. */
export interface StoreMoment {
  readonly method: StoreMethod;
  readonly params: never;
  readonly result?: unknown;
}

export interface StoreWatch {
  before(call: StoreMoment): void;
  after(call: StoreMoment): void;
}

/** The store with a watcher, which is called before each call is sent and after it took effect. */
export function watchStore(store: Store, watch: StoreWatch): Store {
  return storeAround(store, async (method, given, call) => {
    const params = given as never;
    watch.before({ method, params });
    const result = await call();
    watch.after({ method, params, result });
    return result;
  });
}

const CALLS_OF_A_DRAIN: readonly StoreMethod[] = ["runs.commit", "runs.releaseIfHeld", "tasks.finish", "workers.stop"];

/** Whether a commit records what became of a task. */
function hasResult({ commits }: CommitRunsParams): boolean {
  return commits.some(({ events }) => events.some(({ type }) => type === "task_completed" || type === "task_failed"));
}

/** The points that a call passes on its way to the store. */
export function pointsBefore({ method, params }: StoreMoment, draining: boolean): readonly Point[] {
  const points: Point[] = [];
  if (draining && CALLS_OF_A_DRAIN.includes(method)) points.push("draining");
  if (method === "runs.commit") points.push("before-commit");
  if (method === "runs.commit" && hasResult(params)) points.push("before-result");
  if (method === "tasks.claim") points.push("before-task-claim");
  if (method === "tasks.finish") points.push("before-finish");
  if (method === "tasks.beat") points.push("before-beat");
  if (method === "runs.claim") points.push("before-claim");
  if (method === "runs.start") points.push("before-start");
  if (method === "workers.heartbeat") points.push("before-heartbeat");
  if (method === "workers.sweep") points.push("before-sweep");
  if (method === "transact") points.push("before-transaction");
  return points;
}

/** The points that it passes after it took effect, before the engine gets the answer. */
export function pointsAfter({ method, params, result }: StoreMoment): readonly Point[] {
  if (method === "runs.commit") return hasResult(params) ? ["after-commit", "after-result"] : ["after-commit"];
  if (method === "tasks.claim")
    return (result as { tasks: readonly unknown[] }).tasks.length > 0 ? ["after-task-claim"] : [];
  if (method === "tasks.finish") return ["after-finish"];
  if (method === "tasks.beat") return ["after-beat"];
  if (method === "runs.claim") return (result as { runs: readonly unknown[] }).runs.length > 0 ? ["after-claim"] : [];
  if (method === "runs.start") return ["after-start"];
  if (method === "transact") return ["after-transaction"];
  if (method === "workers.heartbeat") return ["after-heartbeat"];
  if (method === "workers.sweep") return (result as { returned: number }).returned > 0 ? ["after-sweep"] : [];
  return [];
}

/** The points that the runs of a commit have reached once the engine knows that it is durable. */
export function pointsReached(params: CommitRunsParams, { outcomes }: CommitRunsResult): readonly Point[] {
  const written = params.commits.filter((_, i) => outcomes[i]?.outcome === "written");
  const points = new Set<Point>();
  for (const { events, transition } of written) {
    if (events.some(({ type }) => type === "step_attempt_failed")) points.add("retry-backoff");
    if (transition.type === "suspend" && transition.status !== "compensating") points.add(transition.status);
  }
  return [...points];
}
