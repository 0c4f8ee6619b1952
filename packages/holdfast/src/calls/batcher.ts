import type { Clock } from "../ports/clock.ts";
import { cutOff } from "./lifetime.ts";
import { type GiveUp, isTransient, type StorePatience, untilAnswered } from "./store-retry.ts";

export interface BatcherParams<T, R> extends StorePatience {
  readonly clock: Clock;
  readonly sizeMax: number;
  /** Sends a batch; answers in the order of the items. Must be idempotent: it is repeated after an unknown outcome. */
  readonly send: (items: readonly T[]) => Promise<readonly R[]>;
  readonly giveUp: GiveUp;
  /** How many batches may be in flight at once; one by default. More than one only if their order does not matter. */
  readonly inFlightMax?: number;
}

interface Waiting<T, R> {
  readonly item: T;
  readonly resolve: (result: R) => void;
  readonly reject: (error: unknown) => void;
}

/** Natural batching for calls that many callers make at once: while one batch is in flight, the next one fills. */
export class Batcher<T, R> {
  readonly #params: BatcherParams<T, R>;
  #waiting: Waiting<T, R>[] = [];
  /** Batches in flight, in the form in which their items learn of the end of a lifetime. */
  readonly #sent = new Set<readonly Waiting<T, R>[]>();
  #forget: (() => void) | undefined;
  #inFlight = 0;
  #scheduled = false;

  constructor(params: BatcherParams<T, R>) {
    this.#params = params;
  }

  add(item: T): Promise<R> {
    const { life } = this.#params;
    return new Promise((resolve, reject) => {
      life?.assertOpen();
      // Watched only while there is something to do, so that a long lifetime does not keep the batcher of a short-lived
      // client alive.
      if (life) this.#forget ??= life.watch(() => this.#cutOff());
      this.#waiting.push({ item, resolve, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    const full = this.#inFlight >= (this.#params.inFlightMax ?? 1);
    if (full || this.#scheduled || this.#waiting.length === 0) return;
    this.#scheduled = true;
    this.#params.clock.immediate(() => void this.#sendNext());
  }

  async #sendNext(): Promise<void> {
    this.#scheduled = false;
    this.#inFlight += 1;
    const batch = this.#waiting.splice(0, this.#params.sizeMax);
    this.#sent.add(batch);
    const sent = this.#send(batch);
    this.#schedule();
    await sent;
    this.#sent.delete(batch);
    this.#inFlight -= 1;
    this.#schedule();
    if (this.#inFlight > 0 || this.#waiting.length > 0) return;
    this.#forget?.();
    this.#forget = undefined;
  }

  /** The batches in flight may or may not be answered, but no caller waits for them any longer. */
  #cutOff(): void {
    for (const batch of [...this.#sent, this.#waiting.splice(0)]) for (const waiting of batch) waiting.reject(cutOff());
  }

  async #send(batch: readonly Waiting<T, R>[]): Promise<void> {
    const { send, giveUp } = this.#params;
    try {
      const items = batch.map((waiting) => waiting.item);
      const results = await untilAnswered(this.#params, () => send(items), giveUp);
      batch.forEach((waiting, i) => {
        waiting.resolve(results[i] as R);
      });
    } catch (error) {
      // A refused item must not fail its neighbors.
      if (batch.length > 1 && !isTransient(error) && !this.#params.life?.over)
        for (const waiting of batch) await this.#send([waiting]);
      else for (const waiting of batch) waiting.reject(error);
    }
  }
}
