/**
 * The committer: one per worker. It gathers what all live runs want written and sends it in one store call.
 *
 * Invariants
 *  C1. Never two flushes of one run in flight: a run is taken only when its last commit has been answered.
 *  C2. A batch whose outcome is unknown is sent again unchanged until there is an answer. Only the fence may discard it.
 *  C3. No timers: while flushes are in flight, the next batch fills by itself; when idle, a flush leaves in the next
 *      macrotask. Only a run whose row another transaction has locked waits: briefly at first, unless another batch takes it
 *      along, then longer and longer. It must neither spin nor delay the other runs' batches for as long as the lock lasts.
 *  C4. A run is gathered only between turns, so history always ends at the end of a turn.
 * It does not own what a run wants written, nor what happens once that is durable (the executor does).
 */

import { backoff, isTransient, type StorePatience } from "../../calls/store-retry.ts";
import type { StoreTime } from "../../calls/store-time.ts";
import { HoldfastError, isHoldfastError } from "../../errors/holdfast-error.ts";
import { describeValue } from "../../errors/safe-read.ts";
import { type Message, messagesByRun } from "../../model/message.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import type { CommitOutcome, CommitRunsResult, RunCommit, Store } from "../../ports/store.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { reportFlush } from "./report-flush.ts";

/** A flush full of large payloads must not take longer than the store allows for one call. */
const BYTES_PER_FLUSH_MAX = 8 * 1024 * 1024;
const CONTENDED_MS = 20;
const CONTENDED_MS_MAX = 1_000;
/** A flush of fewer runs than this is not worth dividing. */
const RUNS_DIVIDED_MIN = 256;

export interface Committable {
  /** Whether it is to be taken; for the committer alone, so that it need not keep a set. */
  wanted: boolean;
  /** What to write now, if anything. Called between turns, and not again before the answer. */
  takeCommit(): RunCommit | undefined;
  /** The store's answer, with any messages that prevented the run from being suspended or ended. */
  committed(outcome: CommitOutcome, messages: readonly Message[]): void;
  /** The store refuses this run's data in any batch: the run cannot continue with it. */
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

/** Of a class, because it leads to the whole run (passing-map.ts). */
class Entry {
  readonly target: Committable;
  readonly commit: RunCommit;
  /** How many times its row was found locked, from when a batch may take it along again, and when it is sent in any case. */
  busy = 0;
  mayGoAt = 0;
  mustGoAt = 0;

  constructor(target: Committable, commit: RunCommit) {
    this.target = target;
    this.commit = commit;
  }
}

export class Committer {
  readonly #params: CommitterParams;
  /** In the order in which they asked. One that was forgotten may still be in it, unwanted. */
  #dirty: Committable[] = [];
  #wanted = 0;
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
    if (!target.wanted) {
      target.wanted = true;
      this.#wanted += 1;
      this.#dirty.push(target);
    }
    this.#schedule();
  }

  forget(target: Committable): void {
    if (!target.wanted) return;
    target.wanted = false;
    this.#wanted -= 1;
    if (this.#wanted === 0) this.#dirty = [];
  }

  get idle(): boolean {
    return this.#inFlight === 0 && this.#wanted === 0 && this.#again.length === 0;
  }

  untilIdle(): Promise<void> {
    if (this.idle) return Promise.resolve();
    return new Promise((resolve) => this.#idleWaiters.push(resolve));
  }

  /** Batches that the store does not answer are no longer repeated. */
  abandon(): void {
    this.#abandoned += 1;
    this.#inFlight = 0;
    this.#againAfter?.cancel();
    this.#againAfter = undefined;
    this.#again = [];
  }

  #schedule(): void {
    if (this.#scheduled || this.#inFlight >= this.#params.flushesInFlightMax) return;
    if (this.#wanted === 0 && this.#nextAgainMs() > 0) return;
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
    const dirty = this.#dirty;
    this.#dirty = [];
    let next = 0;
    for (; next < dirty.length; next++) {
      if (batch.length >= runsPerFlushMax || events >= eventsPerFlushMax || bytes >= BYTES_PER_FLUSH_MAX) break;
      const target = dirty[next] as Committable;
      if (!target.wanted) continue;
      this.forget(target);
      const commit = commitOf(target);
      if (!commit) continue;
      events += commit.events.length;
      for (const { payload } of commit.events) if (payload) bytes += payload.length;
      batch.push(new Entry(target, commit));
    }
    // Those that asked meanwhile come last.
    if (next < dirty.length) this.#dirty = [...dirty.slice(next), ...this.#dirty];
    if (batch.length > 0) void this.#flush(batch);
    else this.#settleIdle();
    this.#wakeForAgain();
    this.#schedule();
  };

  /**
   * How many runs the next flush takes. Runs that are answered together ask together again. If one flush took them all, this
   * process and the store would take turns waiting for each other; with the runs divided, both work at once.
   */
  #share(): number {
    const { runsPerFlushMax, flushesInFlightMax } = this.#params;
    const runs = this.#wanted;
    const free = Math.max(1, flushesInFlightMax - this.#inFlight);
    return runs < RUNS_DIVIDED_MIN ? runsPerFlushMax : Math.min(runsPerFlushMax, Math.ceil(runs / free));
  }

  /** Locked runs go along with any batch. */
  #takeAgain(runsMax: number): Entry[] {
    if (this.#again.length === 0) return [];
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

  /** `abandoned`: its value when the batch was gathered. */
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
        this.#report(batch, result, sentAt);
      } catch (error) {
        if (!isTransient(error)) return this.#isolate(batch, abandoned, error, again);
        failures += 1;
        this.#params.telemetry?.count("store_failures", 1, { call: "runs.commit" });
        await backoff(this.#params, failures);
        if (this.#abandoned !== abandoned) return;
      }
    }
    // Not inside the try: an error here is not a refusal by the store.
    if (this.#abandoned === abandoned) this.#answer(batch, result);
  }

  #report(batch: readonly Entry[], { outcomes }: CommitRunsResult, sentAt: number): void {
    const { telemetry, clock } = this.#params;
    if (!telemetry) return;
    telemetry.duration("flush", clock.monotonic() - sentAt, {});
    const commits = batch.map((entry) => entry.commit);
    reportFlush(telemetry, commits, outcomes);
  }

  #answer(batch: readonly Entry[], result: CommitRunsResult): void {
    const messagesOf = messagesByRun(result.messages);
    batch.forEach((entry, i) => {
      const outcome = result.outcomes[i] as CommitOutcome;
      if (outcome.outcome === "busy") this.#sendAgain(entry);
      else answer(entry, outcome, messagesOf(entry.commit.runId));
    });
  }

  #sendAgain(entry: Entry): void {
    const now = this.#params.clock.monotonic();
    entry.mustGoAt = now + Math.min(CONTENDED_MS_MAX, CONTENDED_MS * 2 ** Math.min(entry.busy, 10));
    // Most locks are released at once; one that is found twice may last.
    entry.mayGoAt = entry.busy === 0 ? now : entry.mustGoAt;
    entry.busy += 1;
    this.#again.push(entry);
    this.#wakeForAgain();
  }

  /** How long until the first of the locked runs has to be sent. */
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

  /** The store refused something: halve the batch until the run is alone, and fail it only when it is refused twice. */
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

function commitOf(target: Committable): RunCommit | undefined {
  try {
    return target.takeCommit();
  } catch (error) {
    refuse(target, error);
    return undefined;
  }
}

function answer({ target }: Entry, outcome: CommitOutcome, messages: readonly Message[]): void {
  try {
    target.committed(outcome, messages);
  } catch (error) {
    refuse(target, error);
  }
}

/** What goes wrong in one run must neither end the process nor keep the other runs from being written. */
function refuse(target: Committable, error: unknown): void {
  const broken = (): HoldfastError =>
    new HoldfastError("invariant_broken", `The run could not be written: ${describeValue(error)}`, { cause: error });
  target.refused(isHoldfastError(error) ? error : broken());
}
