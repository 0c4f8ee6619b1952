/**
 * Named points: where a worker process is made to die or to stand still. They stand around the store port, and in the steps
 * of the torture workflows, so production code knows nothing of them.
 */
import type { CommitRunsParams, CommitRunsResult, Store } from "holdfast/adapter";

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

/** A call of the store; `result` once the store has answered, before the engine hears of it. */
export interface StoreMoment {
  readonly method: keyof Store;
  readonly params: never;
  readonly result?: unknown;
}

export interface StoreWatch {
  before(call: StoreMoment): void;
  after(call: StoreMoment): void;
}

/** The store as it is, with somebody who looks on: before a call is made, and after it took effect. */
export function watchStore(store: Store, watch: StoreWatch): Store {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      const method = name as keyof Store;
      return async (...given: unknown[]): Promise<unknown> => {
        const params = given[0] as never;
        watch.before({ method, params });
        const result: unknown = await value.apply(target, given);
        watch.after({ method, params, result });
        return result;
      };
    },
  });
}

/** Which points a call passes on its way to the store. */
export function pointsBefore({ method }: StoreMoment, draining: boolean): readonly Point[] {
  const points: Point[] = [];
  if (draining && ["commitRuns", "releaseRunsIfHeld", "stopWorker"].includes(method)) points.push("draining");
  if (method === "commitRuns") points.push("before-commit");
  if (method === "claimRuns") points.push("before-claim");
  if (method === "startRuns") points.push("before-start");
  if (method === "heartbeatWorker") points.push("before-heartbeat");
  if (method === "sweepWorkers") points.push("before-sweep");
  if (method === "transact") points.push("before-transaction");
  return points;
}

/** Which points it passes when it has taken effect and nobody has been told. */
export function pointsAfter({ method, result }: StoreMoment): readonly Point[] {
  if (method === "commitRuns") return ["after-commit"];
  if (method === "claimRuns") return (result as { runs: readonly unknown[] }).runs.length > 0 ? ["after-claim"] : [];
  if (method === "startRuns") return ["after-start"];
  if (method === "transact") return ["after-transaction"];
  if (method === "heartbeatWorker") return ["after-heartbeat"];
  if (method === "sweepWorkers") return (result as { returned: number }).returned > 0 ? ["after-sweep"] : [];
  return [];
}

/** Where the runs of a commit stand once the engine has heard that it is durable. */
export function pointsReached(params: CommitRunsParams, { outcomes }: CommitRunsResult): readonly Point[] {
  const written = params.commits.filter((_, i) => outcomes[i]?.outcome === "written");
  const points = new Set<Point>();
  for (const { events, transition } of written) {
    if (events.some(({ type }) => type === "step_attempt_failed")) points.add("retry-backoff");
    if (transition.type === "suspend" && transition.status !== "compensating") points.add(transition.status);
  }
  return [...points];
}
