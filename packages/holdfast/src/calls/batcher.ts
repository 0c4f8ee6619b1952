import { NONE } from "../model/short-list.ts";
import type { Clock, Timer } from "../ports/clock.ts";
import { cutOff } from "./lifetime.ts";
import { type GiveUp, isTransient, lockedMs, rowLocked, type StorePatience, untilAnswered } from "./store-retry.ts";

export interface BatcherParams<T, R> extends StorePatience {
  readonly clock: Clock;
  readonly sizeMax: number;
  /** Sends a batch; answers in the order of the items. Must be idempotent: it is repeated after an unknown outcome. */
  readonly send: (items: readonly T[]) => Promise<readonly R[]>;
  readonly giveUp: GiveUp;
  /** How many batches may be in flight at once; one by default. More than one only if their order does not matter. */
  readonly inFlightMax?: number;
  /** For calls about rows that another transaction may have locked. */
  readonly rows?: {
    /** The items of one row stay in order, and are never in two batches at once, which would find it locked by each other. */
    readonly of: (item: T) => string;
    /** The row is locked: the item is sent again soon, and delays those of no other row. */
    readonly isBusy: (result: R) => boolean;
  };
}

/** Of a class, because it leads to whoever waits, maybe a whole run (passing-map.ts). */
class Waiting<T, R> {
  readonly item: T;
  /** How many times its row was locked, and since when. */
  busy = 0;
  busySince = 0;
  readonly resolve: (result: R) => void;
  readonly reject: (error: unknown) => void;

  constructor(item: T, resolve: (result: R) => void, reject: (error: unknown) => void) {
    this.item = item;
    this.resolve = resolve;
    this.reject = reject;
  }
}

interface Answered<T, R> {
  /** Those whose rows were locked. */
  readonly busy: readonly Waiting<T, R>[];
  /** Gives the others their answers. */
  tell(): void;
}

/** Natural batching for calls that many callers make at once: while one batch is in flight, the next one fills. */
export class Batcher<T, R> {
  readonly #params: BatcherParams<T, R>;
  #waiting: Waiting<T, R>[] = [];
  /** Batches in flight, in the form in which their items learn of the end of a lifetime. (No set: see passing-map.ts.) */
  #sent: readonly (readonly Waiting<T, R>[])[] = NONE;
  /** Rows whose items must wait: another batch has them, or they were found locked. */
  readonly #sentRows = new Set<string>();
  readonly #lockedRows = new Map<string, Timer>();
  /** Answers that the callers do not have yet. */
  readonly #untold: (() => void)[] = [];
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
      this.#waiting.push(new Waiting(item, resolve, reject));
      this.#schedule();
    });
  }

  get #inFlightMax(): number {
    return this.#params.inFlightMax ?? 1;
  }

  #schedule(): void {
    if (this.#inFlight >= this.#inFlightMax || this.#scheduled || this.#waiting.length === 0) return;
    this.#scheduled = true;
    this.#params.clock.immediate(() => void this.#sendNext());
  }

  async #sendNext(): Promise<void> {
    this.#scheduled = false;
    const batch = this.#take();
    if (batch.length === 0) return;
    this.#inFlight += 1;
    this.#sent = [...this.#sent, batch];
    const rows = this.#rowsOf(batch);
    for (const row of rows) this.#sentRows.add(row);
    const sent = this.#send(batch);
    this.#schedule();
    const { busy, tell } = await sent;
    this.#sent = this.#sent.filter((other) => other !== batch);
    this.#inFlight -= 1;
    for (const row of rows) this.#sentRows.delete(row);
    if (busy.length > 0) this.#postpone(busy);
    if (this.#inFlightMax > 1 && this.#waiting.length > 0 && !this.#scheduled) this.#sendBefore(tell);
    else if (this.#untold.length > 0) this.#untold.push(tell);
    else tell();
    this.#schedule();
    if (this.#inFlight > 0 || this.#waiting.length > 0) return;
    this.#forget?.();
    this.#forget = undefined;
  }

  /**
   * The next batch leaves before the callers of the last one go on: they may have much to do (the children that were started are
   * executed), and the receiver would wait for that.
   */
  #sendBefore(tell: () => void): void {
    this.#untold.push(tell);
    if (this.#untold.length === 1) this.#params.clock.immediate(() => this.#tellAll());
    this.#scheduled = true;
    void this.#sendNext();
  }

  /** In the order in which they were answered. */
  #tellAll(): void {
    for (const tell of this.#untold.splice(0)) tell();
    this.#schedule();
  }

  /** The next batch: whatever waits, but for what must wait on. */
  #take(): readonly Waiting<T, R>[] {
    const { rows, sizeMax } = this.#params;
    if (!rows || (this.#sentRows.size === 0 && this.#lockedRows.size === 0)) return this.#waiting.splice(0, sizeMax);
    const batch: Waiting<T, R>[] = [];
    const rest: Waiting<T, R>[] = [];
    for (const waiting of this.#waiting) {
      const row = batch.length < sizeMax ? rows.of(waiting.item) : undefined;
      const free = row !== undefined && !this.#sentRows.has(row) && !this.#lockedRows.has(row);
      (free ? batch : rest).push(waiting);
    }
    this.#waiting = rest;
    return batch;
  }

  /** Empty if no other batch can be sent meanwhile. */
  #rowsOf(batch: readonly Waiting<T, R>[]): ReadonlySet<string> {
    const { rows } = this.#params;
    if (!rows || this.#inFlightMax === 1) return NO_ROWS;
    return new Set(batch.map(({ item }) => rows.of(item)));
  }

  /** Before those that have come since, once the locks should be gone. */
  #postpone(busy: readonly Waiting<T, R>[]): void {
    const { clock, random, giveUp, rows } = this.#params;
    const now = clock.monotonic();
    const times = new Map<string, number>();
    const again = busy.filter((waiting) => {
      if (waiting.busy === 0) waiting.busySince = now;
      waiting.busy += 1;
      const error = rowLocked();
      if (giveUp(waiting.busy, error, now - waiting.busySince)) {
        waiting.reject(error);
        return false;
      }
      const row = rows?.of(waiting.item) ?? "";
      times.set(row, Math.max(times.get(row) ?? 0, waiting.busy));
      return true;
    });
    this.#waiting = [...again, ...this.#waiting];
    for (const [row, n] of times) {
      const timer = clock.setTimer(lockedMs(random, n), () => {
        this.#lockedRows.delete(row);
        this.#schedule();
      });
      this.#lockedRows.set(row, timer);
    }
  }

  /** The batches in flight may or may not be answered, but no caller waits for them any longer. */
  #cutOff(): void {
    for (const timer of this.#lockedRows.values()) timer.cancel();
    this.#lockedRows.clear();
    for (const batch of [...this.#sent, this.#waiting.splice(0)]) for (const waiting of batch) waiting.reject(cutOff());
  }

  /** Resolves when it is answered. */
  async #send(batch: readonly Waiting<T, R>[]): Promise<Answered<T, R>> {
    const { send, giveUp, rows } = this.#params;
    const busy: Waiting<T, R>[] = [];
    try {
      const items = batch.map((waiting) => waiting.item);
      const results = await untilAnswered(this.#params, () => send(items), giveUp);
      if (rows) busy.push(...batch.filter((_, i) => rows.isBusy(results[i] as R)));
      const tell = (): void =>
        batch.forEach((waiting, i) => {
          const result = results[i] as R;
          if (!rows?.isBusy(result)) waiting.resolve(result);
        });
      return { busy, tell };
    } catch (error) {
      // A refused item must not fail its neighbors.
      if (batch.length > 1 && !isTransient(error) && !this.#params.life?.over)
        for (const waiting of batch) {
          const alone = await this.#send([waiting]);
          alone.tell();
          busy.push(...alone.busy);
        }
      else for (const waiting of batch) waiting.reject(error);
    }
    return { busy, tell: () => {} };
  }
}

const NO_ROWS: ReadonlySet<string> = new Set();
