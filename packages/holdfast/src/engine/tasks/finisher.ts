import { Batcher } from "../../calls/batcher.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import type { FinishOutcome, FinishTask, Store } from "../../ports/store.ts";

const BATCH_SIZE_MAX = 500;
const IN_FLIGHT_MAX = 2;

export interface FinisherParams {
  readonly clock: Clock;
  readonly random: Random;
  readonly store: Store;
  /** Nobody wants an answer any more: the worker has left, and its tasks have been returned. */
  readonly stopped: () => boolean;
}

/** Reports the ends of attempts, in batches, each until it is answered (T4). */
export class Finisher {
  readonly #batcher: Batcher<FinishTask, FinishOutcome>;

  constructor({ clock, random, store, stopped }: FinisherParams) {
    this.#batcher = new Batcher({
      clock,
      random,
      sizeMax: BATCH_SIZE_MAX,
      inFlightMax: IN_FLIGHT_MAX,
      send: async (finishes) => (await store.tasks.finish({ finishes })).outcomes,
      giveUp: stopped,
      rows: { of: ({ runId }) => runId, isBusy: ({ outcome }) => outcome === "busy" },
    });
  }

  /** Rejects if the store refuses the data, and if nobody wants the answer any more. */
  async finish(task: FinishTask): Promise<FinishOutcome["outcome"]> {
    return (await this.#batcher.add(task)).outcome;
  }
}
