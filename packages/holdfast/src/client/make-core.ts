import type { ReserveDelivery } from "../calls/holding-delivery.ts";
import type { Lifetime } from "../calls/lifetime.ts";
import type { PortsBundle } from "../calls/ports-bundle.ts";
import type { RunEnds } from "../calls/run-ends.ts";
import type { Worker } from "../engine/worker/worker.ts";
import type { LiveRun } from "../model/live-run.ts";
import { ClientCore } from "./client-core.ts";
import { firstOf, localQueries } from "./local-queries.ts";
import { ResultWaiter } from "./result-waiter.ts";
import { UpdateWaiter } from "./update-waiter.ts";

export interface CoreParams {
  readonly namespace: string;
  readonly ends: RunEnds;
  readonly life: Lifetime;
  /** Those of the client; the list grows. */
  readonly workers: readonly Worker[];
  readonly lookMs: number;
}

/** What a client shares with its handles, with what its workers know. */
export function makeCore(ports: PortsBundle, { namespace, ends, life, workers, lookMs }: CoreParams): ClientCore {
  const isHeldHere = (runId: string): boolean => workers.some((worker) => worker.holds(runId));
  const waiting = { ...ports, namespace, ends, lookMs, isHeldHere, life };
  const [waiter, updates] = [new ResultWaiter(waiting), new UpdateWaiter(waiting)];
  const look = (runId: string): LiveRun | undefined => firstOf(workers, (worker) => worker.look(runId));
  const reserve: ReserveDelivery = (messages) => firstOf(workers, (worker) => worker.reserveDelivery(messages));
  return new ClientCore(ports, namespace, waiter, updates, life, look, localQueries(workers), reserve);
}
