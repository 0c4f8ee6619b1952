/**
 * The committer: one per worker. It gathers what all live runs want written and sends it as one call of the store.
 *
 * Invariants
 *  C1. Never two flushes of one run in flight: a run is taken only when its last commit has been answered.
 *  C2. A batch whose outcome is unknown is sent again unchanged until there is an answer. Only the fence may discard it.
 *  C3. No timers: while flushes are in flight the next batch fills by itself; when idle, a flush leaves in the next macrotask.
 *      Only a run whose row a stranger has locked, and that no other batch takes along, waits a moment: it must not spin.
 *  C4. A run is gathered between turns only, so history always ends at the end of a turn.
 * What it does not own: what a run wants written, and what happens once it is durable (the executor does).
 */
import type { Message } from "../model/message.ts";
import type { Clock, Timer } from "../ports/clock.ts";
import type { CommitOutcome, CommitRunsResult, RunCommit, Store } from "../ports/store.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import { backoff, isTransient, type StorePatience } from "./store-retry.ts";
import type { StoreTime } from "./store-time.ts";

const CONTENDED_MS = 20;

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
  readonly workerId: () => string;
  readonly flushesInFlightMax: number;
  readonly runsPerFlushMax: number;
  readonly eventsPerFlushMax: number;
  readonly telemetry: Telemetry | undefined;
}

interface Entry {
  readonly target: Committable;
  readonly commit: RunCommit;
  /** Who holds the run: a worker that is declared dead signs on under another id while batches are on their way. */
  readonly workerId: string;
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
    if (this.#dirty.size === 0 && (this.#again.length === 0 || this.#againAfter)) return;
    this.#scheduled = true;
    this.#params.clock.immediate(this.#gather);
  }

  readonly #gather = (): void => {
    this.#scheduled = false;
    const { runsPerFlushMax, eventsPerFlushMax } = this.#params;
    const workerId = this.#params.workerId();
    const batch = this.#takeAgain(runsPerFlushMax);
    let events = 0;
    for (const target of this.#dirty) {
      if (batch.length >= runsPerFlushMax || events >= eventsPerFlushMax) break;
      if (batch[0] && batch[0].workerId !== workerId) break;
      this.#dirty.delete(target);
      const commit = target.takeCommit();
      if (!commit) continue;
      events += commit.events.length;
      batch.push({ target, commit, workerId });
    }
    if (batch.length > 0) void this.#flush(batch);
    else this.#settleIdle();
    this.#schedule();
  };

  /** Runs that were locked go along with the next batch, whatever brings it about. */
  #takeAgain(runsMax: number): Entry[] {
    const workerId = this.#again[0]?.workerId;
    const batch = this.#again.filter((entry) => entry.workerId === workerId).slice(0, runsMax);
    this.#again = this.#again.filter((entry) => !batch.includes(entry));
    return batch;
  }

  async #flush(batch: readonly Entry[]): Promise<void> {
    const abandoned = this.#abandoned;
    this.#inFlight += 1;
    await this.#send(batch);
    if (this.#abandoned !== abandoned) return;
    this.#inFlight -= 1;
    this.#schedule();
    this.#settleIdle();
  }

  async #send(batch: readonly Entry[], again = false): Promise<void> {
    const { store, storeTime, clock } = this.#params;
    const abandoned = this.#abandoned;
    const params = { workerId: batch[0]?.workerId ?? "", commits: batch.map((entry) => entry.commit) };
    let result: CommitRunsResult | undefined;
    for (let failures = 0; !result; ) {
      const sentAt = clock.monotonic();
      try {
        result = await store.commitRuns(params);
        storeTime.observe(result.now, sentAt);
        this.#report(batch, sentAt);
      } catch (error) {
        if (!isTransient(error)) return this.#isolate(batch, error, again);
        failures += 1;
        this.#params.telemetry?.count("store_failures", 1, { call: "commitRuns" });
        await backoff(this.#params, failures);
        if (this.#abandoned !== abandoned) return;
      }
    }
    // Not inside the try: what goes wrong here is no refusal of the store's.
    this.#answer(batch, result);
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
    batch.forEach((entry, i) => {
      const outcome = result.outcomes[i] as CommitOutcome;
      if (outcome.outcome === "busy") this.#sendAgain(entry);
      else entry.target.committed(outcome, messagesFor(result, entry.commit.runId));
    });
  }

  #sendAgain(entry: Entry): void {
    this.#again.push(entry);
    this.#againAfter ??= this.#params.clock.setTimer(CONTENDED_MS, () => {
      this.#againAfter = undefined;
      this.#schedule();
    });
  }

  /** Something is refused: halve the batch until one run stands alone, and that one only when it is refused twice. */
  async #isolate(batch: readonly Entry[], error: unknown, again: boolean): Promise<void> {
    if (batch.length > 1) {
      const half = batch.length >> 1;
      await this.#send(batch.slice(0, half));
      await this.#send(batch.slice(half));
    } else if (!again) {
      await backoff(this.#params, 1);
      await this.#send(batch, true);
    } else for (const entry of batch) entry.target.refused(error);
  }

  #settleIdle(): void {
    if (!this.idle) return;
    const waiters = this.#idleWaiters;
    this.#idleWaiters = [];
    for (const resolve of waiters) resolve();
  }
}

const NO_MESSAGES: readonly Message[] = [];

function messagesFor(result: CommitRunsResult, runId: string): readonly Message[] {
  return result.messages.length === 0 ? NO_MESSAGES : result.messages.filter((message) => message.runId === runId);
}
