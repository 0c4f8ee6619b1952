import type { Lifetime } from "../calls/lifetime.ts";
import type { RunEnds } from "../calls/run-ends.ts";
import type { StoreTime } from "../calls/store-time.ts";
import type { SlotReservation } from "../engine/worker/slot-reservation.ts";
import { Worker } from "../engine/worker/worker.ts";
import { resolveWorkerOptions, type WorkerOptions } from "../engine/worker/worker-options.ts";
import type { NewRun } from "../model/run.ts";
import type { Batches } from "./batches/batches.ts";
import type { ClientCore } from "./client-core.ts";
import { firstOf } from "./local-queries.ts";
import { isDueAtOnce } from "./new-run.ts";
import { explainRun } from "./why.ts";

/** What a client shares with its workers. */
export interface SharedWithWorkers {
  readonly core: ClientCore;
  readonly storeTime: StoreTime;
  readonly ends: RunEnds;
  readonly life: Lifetime;
  /** Its workers. */
  readonly siblings: () => readonly Worker[];
  /** Undefined in a client that batches run in. */
  readonly batches: Batches | undefined;
}

/** `count`: how many workers the client has made. */
export function makeWorker<S extends string>(
  shared: SharedWithWorkers,
  options: WorkerOptions<S>,
  count: number,
): Worker {
  const { core, batches, storeTime, ends, life, siblings } = shared;
  const { environment, leaseMs, watches = false } = core.ports;
  const nameless = (): string => environment?.workerName() ?? `worker-${process.pid}-${count}`;
  const resolved = resolveWorkerOptions(options, nameless, leaseMs, watches);
  return new Worker({
    ports: core.ports,
    namespace: core.namespace,
    options: resolved,
    storeTime,
    ends,
    life,
    payer: core.payer,
    circlesOf: async (id) => {
      const { causes } = await explainRun(core, id);
      return causes.flatMap(({ circle }) => (circle ? [circle] : []));
    },
    siblings,
    onSignaled: () => {
      core.waiter.leave();
      batches?.leave();
    },
    ...(batches && resolved.workflows.some(({ guests }) => !guests) ? { onRunning: () => batches.serve() } : {}),
  });
}

/** If a worker of this process has a free slot, the run starts already claimed by it. */
export function freeSlot(workers: readonly Worker[], run: NewRun): SlotReservation | undefined {
  return isDueAtOnce(run) ? firstOf(workers, (worker) => worker.reserve(run)) : undefined;
}
