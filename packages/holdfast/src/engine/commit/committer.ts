/**
 * The committer: one per worker. It gathers what all live runs want written and sends it as one call of the store.
 *
 * Invariants
 *  C1. Never two flushes of one run in flight: a run is taken only when its last commit has been answered.
 *  C2. A batch whose outcome is unknown is sent again unchanged until there is an answer. Only the fence may discard it.
 *  C3. No timers: while flushes are in flight the next batch fills by itself; when idle, a flush leaves in the next macrotask.
 *      Only a run whose row a stranger has locked waits: a moment at first, unless another batch takes it along, then longer
 *      and longer. It must neither spin nor hold up the batches of the others for as long as the lock lasts.
 *  C4. A run is gathered between turns only, so history always ends at the end of a turn.
 * What it does not own: what a run wants written, and what happens once it is durable (the executor does).
 */

import { backoff, isTransient, type StorePatience } from "../../calls/store-retry.ts";
import type { StoreTime } from "../../calls/store-time.ts";
import { type Message, messagesByRun } from "../../model/message.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import type { CommitOutcome, CommitRunsResult, RunCommit, Store } from "../../ports/store.ts";
import type { Telemetry } from "../../ports/telemetry.ts";

/** A flush that is full of large payloads must not take longer than the store allows a call to take. */
const BYTES_PER_FLUSH_MAX = 8 * 1024 * 1024;
const CONTENDED_MS = 20;
const CONTENDED_MS_MAX = 1_000;
/** A flush of fewer runs than these is not worth dividing. */
const RUNS_DIVIDED_MIN = 256;

export interface Committable {
  /** What to write now, if anything. Called between turns, and not again before the answer. */
  takeCommit(): RunCommit | undefined;
  /** The store's answer, with messages that kept the run from being let go of, if there were any. */
  committed(outcome: CommitOutcome, messages: readonly Message[]): void;
  /** The store refuses the data, whatever the batch: the run cannot go on with it. */
  refused(error: unknown): void;
}

export interface CommitterParams extends StorePatience {
  readonly clock: Clock;
  readonly store: Store;
  readonly storeTime: StoreTime;
  readonly flushesInFlightMax: number;
  readonly runsPerFlushMax: number;
  readonly eventsPerFlushMax: number;
  readonly telemetry: Telemetry | undefined;
}

interface Entry {
  readonly target: Committable;
  readonly commit: RunCommit;
  /** How often its row was found locked, since when a batch may take it along again, and when it is sent in any case. */
  readonly busy: number;
  readonly mayGoAt: number;
  readonly mustGoAt: number;
}

export class Committer {
  readonly #params: CommitterParams;
  readonly #dirty = new Set<Committable>();
  #again: Entry[] = [];
  #againAfter: Timer | undefined;
  #inFlight = 0;
  #abandoned = 0;
  #scheduled = false;
  #idleWaiters: (() => void)[] = [];

  constructor(params: CommitterParams) {
    this.#params = params;
  }

  request(target: Committable): void {
    this.#dirty.add(target);
    this.#schedule();
  }

  forget(target: Committable): void {
    this.#dirty.delete(target);
  }

  get idle(): boolean {
    return this.#inFlight === 0 && this.#dirty.size === 0 && this.#again.length === 0;
  }

  untilIdle(): Promise<void> {
    if (this.idle) return Promise.resolve();
    return new Promise((resolve) => this.#idleWaiters.push(resolve));
  }

  /** Batches that the store does not answer are no longer repeated: nobody waits for them. */
  abandon(): void {
    this.#abandoned += 1;
    this.#inFlight = 0;
    this.#againAfter?.cancel();
    this.#againAfter = undefined;
    this.#again = [];
  }

  #schedule(): void {
    if (this.#scheduled || this.#inFlight >= this.#params.flushesInFlightMax) return;
    if (this.#dirty.size === 0 && this.#nextAgainMs() > 0) return;
    this.#scheduled = true;
    this.#params.clock.immediate(this.#gather);
  }

  readonly #gather = (): void => {
    this.#scheduled = false;
    const { eventsPerFlushMax } = this.#params;
    const runsPerFlushMax = this.#share();
    const batch = this.#takeAgain(runsPerFlushMax);
    let events = 0;
    let bytes = 0;
    for (const target of this.#dirty) {
      if (batch.length >= runsPerFlushMax || events >= eventsPerFlushMax || bytes >= BYTES_PER_FLUSH_MAX) break;
      this.#dirty.delete(target);
      const commit = target.takeCommit();
      if (!commit) continue;
      events += commit.events.length;
      for (const { payload } of commit.events) if (payload) bytes += payload.length;
      batch.push({ target, commit, busy: 0, mayGoAt: 0, mustGoAt: 0 });
    }
    if (batch.length > 0) void this.#flush(batch);
    else this.#settleIdle();
    this.#wakeForAgain();
    this.#schedule();
  };

  /**
   * How many runs the next flush takes. Runs that are answered together ask together again: all in one flush, this process
   * and the store would wait for each other in turn. In shares, one works while the other does.
   */
  #share(): number {
    const { runsPerFlushMax, flushesInFlightMax } = this.#params;
    const runs = this.#dirty.size;
    const free = Math.max(1, flushesInFlightMax - this.#inFlight);
    return runs < RUNS_DIVIDED_MIN ? runsPerFlushMax : Math.min(runsPerFlushMax, Math.ceil(runs / free));
  }

  /** Runs that were locked go along with a batch, whatever brings it about. */
  #takeAgain(runsMax: number): Entry[] {
    const now = this.#params.clock.monotonic();
    const batch = this.#again.filter((entry) => entry.mayGoAt <= now).slice(0, runsMax);
    const taken = new Set(batch);
    this.#again = this.#again.filter((entry) => !taken.has(entry));
    return batch;
  }

  async #flush(batch: readonly Entry[]): Promise<void> {
    const abandoned = this.#abandoned;
    this.#inFlight += 1;
    await this.#send(batch, abandoned);
    if (this.#abandoned !== abandoned) return;
    this.#inFlight -= 1;
    this.#schedule();
    this.#settleIdle();
  }

  /** `abandoned`: how often that had happened when the batch was gathered. */
  async #send(batch: readonly Entry[], abandoned: number, again = false): Promise<void> {
    const { store, storeTime, clock } = this.#params;
    if (this.#abandoned !== abandoned) return;
    const params = { commits: batch.map((entry) => entry.commit) };
    let result: CommitRunsResult | undefined;
    for (let failures = 0; !result; ) {
      const sentAt = clock.monotonic();
      try {
        result = await store.runs.commit(params);
        storeTime.observe(result.now, sentAt);
        this.#report(batch, sentAt);
      } catch (error) {
        if (!isTransient(error)) return this.#isolate(batch, abandoned, error, again);
        failures += 1;
        this.#params.telemetry?.count("store_failures", 1, { call: "runs.commit" });
        await backoff(this.#params, failures);
        if (this.#abandoned !== abandoned) return;
      }
    }
    // Not inside the try: what goes wrong here is no refusal of the store's.
    if (this.#abandoned === abandoned) this.#answer(batch, result);
  }

  #report(batch: readonly Entry[], sentAt: number): void {
    const { telemetry, clock } = this.#params;
    if (!telemetry) return;
    const events = batch.reduce((sum, entry) => sum + entry.commit.events.length, 0);
    telemetry.count("flushes", 1, {});
    telemetry.count("flushed_events", events, {});
    telemetry.duration("flush", clock.monotonic() - sentAt, {});
  }

  #answer(batch: readonly Entry[], result: CommitRunsResult): void {
    const messagesOf = messagesByRun(result.messages);
    batch.forEach((entry, i) => {
      const outcome = result.outcomes[i] as CommitOutcome;
      if (outcome.outcome === "busy") this.#sendAgain(entry);
      else entry.target.committed(outcome, messagesOf(entry.commit.runId));
    });
  }

  #sendAgain(entry: Entry): void {
    const now = this.#params.clock.monotonic();
    const mustGoAt = now + Math.min(CONTENDED_MS_MAX, CONTENDED_MS * 2 ** Math.min(entry.busy, 10));
    // Most locks are gone in a moment; one that is found again may stay.
    this.#again.push({ ...entry, busy: entry.busy + 1, mayGoAt: entry.busy === 0 ? now : mustGoAt, mustGoAt });
    this.#wakeForAgain();
  }

  /** In how long the first of the runs that were locked has to be sent. */
  #nextAgainMs(): number {
    let at = Number.POSITIVE_INFINITY;
    for (const entry of this.#again) at = Math.min(at, entry.mustGoAt);
    return at - this.#params.clock.monotonic();
  }

  #wakeForAgain(): void {
    this.#againAfter?.cancel();
    this.#againAfter = undefined;
    const delayMs = this.#nextAgainMs();
    if (delayMs <= 0) return this.#schedule();
    if (delayMs === Number.POSITIVE_INFINITY) return;
    this.#againAfter = this.#params.clock.setTimer(delayMs, () => this.#wakeForAgain());
  }

  /** Something is refused: halve the batch until one run stands alone, and that one only when it is refused twice. */
  async #isolate(batch: readonly Entry[], abandoned: number, error: unknown, again: boolean): Promise<void> {
    if (batch.length > 1) {
      const half = batch.length >> 1;
      await this.#send(batch.slice(0, half), abandoned);
      await this.#send(batch.slice(half), abandoned);
    } else if (!again) {
      await backoff(this.#params, 1);
      await this.#send(batch, abandoned, true);
    } else for (const entry of batch) entry.target.refused(error);
  }

  #settleIdle(): void {
    if (!this.idle) return;
    const waiters = this.#idleWaiters;
    this.#idleWaiters = [];
    for (const resolve of waiters) resolve();
  }
}
