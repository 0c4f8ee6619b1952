import { isTransient } from "../../calls/store-retry.ts";
import type { StoreTime } from "../../calls/store-time.ts";
import { RATE_GRAIN_MS, type RateRow } from "../../model/rates.ts";
import type { Logger } from "../../ports/logger.ts";
import type { AddRatesParams, Store } from "../../ports/store.ts";

type Counts = { -readonly [K in keyof RateRow]: RateRow[K] };

interface RateCounterParams {
  readonly store: Store;
  readonly storeTime: StoreTime;
  readonly log: Logger;
}

/**
 * What happens to the runs of one worker, per minute and workflow. With its heartbeats the worker adds it to what others have
 * counted, so that rates over days cost no counting of runs. What a worker has not sent when it dies is lost; nothing is added twice.
 */
export class RateCounter {
  readonly #params: RateCounterParams;
  #counts = new Map<string, Counts>();
  /** Of each workflow, what is counted in now. */
  #last = new Map<string, Counts>();
  /** Under way, or to be repeated unchanged. */
  #sent: AddRatesParams | undefined;
  #busy = false;
  #no = 0;
  #workerId = "";

  constructor(params: RateCounterParams) {
    this.#params = params;
  }

  started(workflow: string): void {
    this.#of(workflow).started += 1;
  }

  ended(workflow: string, status: string): void {
    const counts = this.#of(workflow);
    counts.ended += 1;
    if (status === "failed" || status === "timed_out") counts.failed += 1;
  }

  retried(workflow: string): void {
    this.#of(workflow).retried += 1;
  }

  /** Adds what was counted since the last time, under the id that the worker has now. Never rejects. */
  async send(namespace: string, workerId: string): Promise<void> {
    if (this.#busy || workerId === "") return;
    if (this.#workerId !== workerId) {
      // Whether the last counts were added under the old id is not known.
      this.#workerId = workerId;
      this.#no = 0;
      this.#sent = undefined;
    }
    if (!this.#sent && this.#counts.size > 0) {
      this.#no += 1;
      this.#sent = { namespace, workerId, no: this.#no, rates: [...this.#counts.values()] };
      this.#counts = new Map();
      this.#last = new Map();
    }
    if (!this.#sent) return;
    this.#busy = true;
    const sent = this.#sent;
    try {
      await this.#params.store.workers.addRates(sent);
      if (this.#sent === sent) this.#sent = undefined;
    } catch (error) {
      if (isTransient(error)) return;
      this.#sent = undefined;
      this.#params.log.warn({ workerId, error: String(error) }, "the store refuses what this worker has counted");
    } finally {
      this.#busy = false;
    }
  }

  #of(workflow: string): Counts {
    const now = this.#params.storeTime.now();
    const from = now - (now % RATE_GRAIN_MS);
    // Nearly always that of the run before: nothing is made for it.
    const last = this.#last.get(workflow);
    if (last?.from === from) return last;
    const key = `${from} ${workflow}`;
    const counts = this.#counts.get(key) ?? { from, workflow, started: 0, ended: 0, failed: 0, retried: 0 };
    this.#counts.set(key, counts);
    this.#last.set(workflow, counts);
    return counts;
  }
}
