/**
 * The claimer: keeps the worker's free slots filled. It asks the store when a slot is free and something may be due: on a
 * hint, when the earliest known due time comes, and now and then as the safety net for hints that were lost. It also takes
 * runs that other code has parked for a bug or a divergence: when the worker starts, and whenever somebody asks it to look.
 */

import { isTransient, untilAnswered } from "../../calls/store-retry.ts";
import type { StoreTime } from "../../calls/store-time.ts";
import { uuidV7 } from "../../model/ids.ts";
import { type Message, messagesByRun } from "../../model/message.ts";
import type { Run } from "../../model/run.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import type { Logger } from "../../ports/logger.ts";
import type { Random } from "../../ports/random.ts";
import type { ClaimRunsResult, Store, TakeUpParams } from "../../ports/store.ts";
import type { Telemetry } from "../../ports/telemetry.ts";

/** Due runs that could not be taken are locked by somebody: do not spin, and less and less the longer it lasts. */
const CONTENDED_MS = 20;
const CONTENDED_MS_MAX = 1_000;

export interface ClaimerParams {
  readonly clock: Clock;
  readonly random: Random;
  readonly store: Store;
  readonly storeTime: StoreTime;
  readonly log: Logger;
  readonly fallbackMs: number;
  readonly telemetry: Telemetry | undefined;
  readonly base: () => Pick<TakeUpParams, "workerId" | "namespace" | "queues" | "handlers">;
  readonly freeSlots: () => number;
  /** Whether the worker is empty, and so may take a suspect alone. */
  readonly mayTakeSuspect: () => boolean;
  readonly onSuspectDue: () => void;
  readonly onClaimed: (run: Run, messages: readonly Message[]) => void;
  /** A claim for a suspect was answered; undefined: there was none left. */
  readonly onSoloAnswered: (runId: string | undefined) => void;
  readonly onDead: () => void;
}

export class Claimer {
  readonly #params: ClaimerParams;
  #running = false;
  /** The claim on its way, if there is one. */
  #flight: { readonly since: number } | undefined;
  #wanted = false;
  #asking = 0;
  /** Whether other code may have parked runs that this worker can go on with; asked for in a claim of its own. */
  #parkedWanted = false;
  /** The last claim was for parked runs: this one is for what is due. */
  #askedForParked = false;
  #onParkedAnswered: () => void = () => {};
  /** How many claims in a row have found due runs and could take none. */
  #contended = 0;
  #timer: Timer | undefined;
  #timerAt = Number.POSITIVE_INFINITY;
  /** The earliest due time that was noted since the claim in flight was sent. */
  #notedAt = Number.POSITIVE_INFINITY;

  constructor(params: ClaimerParams) {
    this.#params = params;
  }

  /** Since when a claim has been on its way; undefined when there is none. */
  get askingSince(): number | undefined {
    return this.#flight?.since;
  }

  /** How many runs the claim on its way may bring. */
  get asking(): number {
    return this.#asking;
  }

  /** Resolves when the store was asked for parked runs, whatever it said. */
  start(): Promise<void> {
    this.#running = true;
    this.#parkedWanted = true;
    this.#askedForParked = false;
    const answered = new Promise<void>((resolve) => {
      this.#onParkedAnswered = resolve;
    });
    this.poke();
    if (!this.#flight) this.#onParkedAnswered();
    return answered;
  }

  /** The next claim looks for runs that other code has parked. */
  lookForParked(): void {
    this.#parkedWanted = true;
  }

  stop(): void {
    this.#running = false;
    this.#wanted = false;
    this.#onParkedAnswered();
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerAt = Number.POSITIVE_INFINITY;
  }

  /** The claim on its way was made under an id that is no more: nobody waits for its answer, should there ever be one. */
  abandon(): void {
    this.#onParkedAnswered();
    this.#flight = undefined;
    this.#asking = 0;
  }

  /** Something may be due, or a slot has become free. */
  poke(): void {
    this.#wanted = true;
    if (!this.#running || this.#flight) return;
    // Room may come about without anybody saying so: a worker that has kept itself empty for a suspect gives up in time.
    if (!this.#hasRoom()) return this.#wakeIn(this.#params.fallbackMs, this.#params.clock);
    const flight = { since: this.#params.clock.monotonic() };
    this.#flight = flight;
    this.#params.clock.immediate(() => void this.#claim(flight));
  }

  /** A slot has become free: go on if there was more to take. */
  slotFreed(): void {
    if (this.#wanted) this.poke();
  }

  /** Something becomes due at this store time that the last answer did not know of: ours, or a start of another process. */
  noteDueAt(storeAt: number): void {
    const { clock, storeTime } = this.#params;
    const delayMs = storeAt - storeTime.now();
    this.#notedAt = Math.min(this.#notedAt, clock.monotonic() + delayMs);
    this.#wakeIn(delayMs, clock);
  }

  #hasRoom(): boolean {
    // A worker without an id is about to sign on again, and pokes when it has.
    if (this.#params.base().workerId === "") return false;
    return this.#params.freeSlots() > 0 || this.#params.mayTakeSuspect();
  }

  async #claim(flight: object): Promise<void> {
    if (this.#flight !== flight) return;
    const { clock, random, store, storeTime, log } = this.#params;
    const base = this.#params.base();
    // Declared dead or signed off in the meantime: an answer for the old id says nothing about the new one, and what was
    // claimed under the old one belongs to others.
    const outdated = (): boolean => this.#flight !== flight || this.#params.base().workerId !== base.workerId;
    const solo = this.#params.mayTakeSuspect();
    const limit = solo ? 1 : this.#params.freeSlots();
    this.#askedForParked = this.#parkedWanted && !this.#askedForParked && !solo && limit > 0 && base.workerId !== "";
    if (this.#askedForParked) return this.#claimParked(flight, outdated);
    this.#onParkedAnswered();
    if (limit > 0 && this.#running && base.workerId !== "") {
      const claimId = uuidV7(clock.now(), random.bytes(16));
      let sentAt = clock.monotonic();
      this.#wanted = false;
      this.#asking = limit;
      this.#notedAt = Number.POSITIVE_INFINITY;
      try {
        const result = await untilAnswered(
          { clock, random },
          (again) => {
            sentAt = clock.monotonic();
            if (again) this.#wanted = true; // it may be told what it had taken, and nothing of what else is due
            return store.runs.claim({ ...base, claimId, again, limit, solo });
          },
          () => !this.#running || outdated(),
        );
        storeTime.observe(result.now, sentAt);
        const { telemetry } = this.#params;
        telemetry?.count("runs_claimed", result.runs.length, {});
        telemetry?.duration("claim", clock.monotonic() - sentAt, {});
        if (!outdated()) this.#take(result, limit, solo);
      } catch (error) {
        if (!isTransient(error)) log.error({ error: String(error) }, "claiming runs failed");
        this.#wakeIn(this.#params.fallbackMs, clock);
      }
    }
    if (this.#flight !== flight) return;
    this.#flight = undefined;
    this.#asking = 0;
    if (this.#wanted) this.poke();
  }

  /** Takes runs that other code has parked, into half of the free slots: what is due must not wait for all of them. */
  async #claimParked(flight: object, outdated: () => boolean): Promise<void> {
    const { clock, random, store, log } = this.#params;
    const base = this.#params.base();
    const limit = Math.ceil(this.#params.freeSlots() / 2);
    const claimId = uuidV7(clock.now(), random.bytes(16));
    const giveUp = (): boolean => {
      this.#onParkedAnswered();
      return !this.#running || outdated();
    };
    this.#parkedWanted = false;
    this.#asking = limit;
    try {
      let repeated = false;
      const hold = (again: boolean) => {
        repeated = again;
        return store.runs.holdIfParkedByOtherCode({ ...base, claimId, limit });
      };
      const { live, taken, more } = await untilAnswered({ clock, random }, hold, giveUp);
      // An earlier try may have taken some without saying so.
      if (live && (taken > 0 || repeated)) {
        const claim = () => store.runs.claim({ ...base, claimId, again: true, limit, solo: false });
        this.#activate(await untilAnswered({ clock, random }, claim, giveUp), outdated);
      }
      if (!live && !outdated()) this.#params.onDead();
      if (taken > 0) log.info({ runs: taken }, `took up ${taken} parked runs with other code`);
      this.#parkedWanted ||= more;
    } catch (error) {
      if (!isTransient(error)) log.error({ error: String(error) }, "taking up parked runs failed");
    }
    if (this.#flight === flight) {
      this.#flight = undefined;
      this.#asking = 0;
      this.poke();
    }
    this.#onParkedAnswered();
  }

  #activate({ runs, messages }: ClaimRunsResult, outdated: () => boolean): void {
    if (outdated()) return;
    const messagesOf = messagesByRun(messages);
    for (const run of runs) this.#params.onClaimed(run, messagesOf(run.runId));
  }

  #take(result: ClaimRunsResult, limit: number, solo: boolean): void {
    const { clock, storeTime } = this.#params;
    if (!result.live) return this.#params.onDead();
    if (solo) this.#params.onSoloAnswered(result.runs[0]?.runId);
    const messagesOf = messagesByRun(result.messages);
    for (const run of result.runs) this.#params.onClaimed(run, messagesOf(run.runId));
    if (result.suspectDue) this.#params.onSuspectDue();
    if (this.#params.mayTakeSuspect()) this.#wanted = true;
    this.#timer?.cancel();
    this.#timerAt = Number.POSITIVE_INFINITY;
    // The store did not know of these yet when it answered.
    if (this.#notedAt < Number.POSITIVE_INFINITY) this.#wakeIn(this.#notedAt - clock.monotonic(), clock);
    const contended = result.runs.length === 0 && result.moreDue;
    this.#contended = contended ? this.#contended + 1 : 0;
    const full = result.runs.length >= limit;
    if (full && !solo) {
      this.#wanted = true;
      return;
    }
    this.#wakeIn(this.#params.fallbackMs, clock);
    // What is locked is tried again after a pause; what becomes due before that does not wait for it.
    if (result.moreDue) this.#wakeIn(contended ? contendedMs(this.#contended) : 0, clock);
    if (result.nextDueAt !== null) this.#wakeIn(result.nextDueAt - storeTime.now(), clock);
  }

  #wakeIn(delayMs: number, clock: Clock): void {
    if (!this.#running) return;
    const at = clock.monotonic() + Math.max(0, delayMs);
    if (at >= this.#timerAt) return;
    this.#timer?.cancel();
    this.#timerAt = at;
    this.#timer = clock.setTimer(Math.max(0, delayMs), () => {
      this.#timerAt = Number.POSITIVE_INFINITY;
      this.poke();
    });
  }
}

function contendedMs(times: number): number {
  return Math.min(CONTENDED_MS_MAX, CONTENDED_MS * 2 ** Math.min(times - 1, 10));
}
