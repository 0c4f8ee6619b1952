import { Batcher } from "../../calls/batcher.ts";
import { backoff } from "../../calls/store-retry.ts";
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
  readonly #params: FinisherParams;
  readonly #batcher: Batcher<FinishTask, FinishOutcome>;
  #open = 0;
  #idleWaiters: (() => void)[] = [];

  constructor(params: FinisherParams) {
    const { clock, random, store, stopped } = params;
    this.#params = params;
    this.#batcher = new Batcher({
      clock,
      random,
      sizeMax: BATCH_SIZE_MAX,
      inFlightMax: IN_FLIGHT_MAX,
      send: async (finishes) => (await store.tasks.finish({ finishes })).outcomes,
      giveUp: stopped,
    });
  }

  /** Resolves with `lost` if nobody wants the answer any more. Rejects if the store refuses the data. */
  async finish(task: FinishTask): Promise<FinishOutcome["outcome"]> {
    this.#open += 1;
    try {
      for (let sends = 1; ; sends++) {
        const { outcome } = await this.#batcher.add(task);
        if (outcome !== "busy") return outcome;
        await backoff(this.#params, sends);
        if (this.#params.stopped()) return "lost";
      }
    } finally {
      this.#open -= 1;
      if (this.#open === 0) for (const resolve of this.#idleWaiters.splice(0)) resolve();
    }
  }

  untilIdle(): Promise<void> {
    if (this.#open === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idleWaiters.push(resolve));
  }
}
