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
] as const;

export type Point = (typeof POINTS)[number];

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

/** The points that a call passes on its way to the store. */
export function pointsBefore({ method }: StoreMoment, draining: boolean): readonly Point[] {
  const points: Point[] = [];
  if (draining && ["runs.commit", "runs.releaseIfHeld", "workers.stop"].includes(method)) points.push("draining");
  if (method === "runs.commit") points.push("before-commit");
  if (method === "runs.claim") points.push("before-claim");
  if (method === "runs.start") points.push("before-start");
  if (method === "workers.heartbeat") points.push("before-heartbeat");
  if (method === "workers.sweep") points.push("before-sweep");
  if (method === "transact") points.push("before-transaction");
  return points;
}

/** The points that it passes after it took effect, before the engine gets the answer. */
export function pointsAfter({ method, result }: StoreMoment): readonly Point[] {
  if (method === "runs.commit") return ["after-commit"];
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
