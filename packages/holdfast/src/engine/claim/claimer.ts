/**
 * The claimer: keeps the worker's free slots filled. It asks the store when a slot is free and something may be due: on a
 * hint, at the earliest known due time, and at intervals in case hints were lost. It also takes up runs that other code has
 * parked for a bug or a divergence: when the worker starts, and on request.
 */

import { isTransient, untilAnswered } from "../../calls/store-retry.ts";
import type { StoreTime } from "../../calls/store-time.ts";
import type { EventDraft } from "../../model/event.ts";
import { uuidV7 } from "../../model/ids.ts";
import { type Message, messagesByRun } from "../../model/message.ts";
import type { Run } from "../../model/run.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import type { Logger } from "../../ports/logger.ts";
import type { Random } from "../../ports/random.ts";
import type { ClaimRunsResult, Store, TakeUpParams } from "../../ports/store.ts";
import type { Telemetry } from "../../ports/telemetry.ts";

/**
 * Another transaction has locked the due runs that could not be claimed: do not spin, and back off for as long as that
 * lasts.
 */
const CONTENDED_MS = 20;
const CONTENDED_MS_MAX = 1_000;

export interface ClaimerParams {
  /** What is recorded in the runs that are taken up. */
  readonly takingUp: EventDraft;
  readonly clock: Clock;
  readonly random: Random;
  readonly store: Store;
  readonly storeTime: StoreTime;
  readonly log: Logger;
  readonly fallbackMs: number;
  readonly telemetry: Telemetry | undefined;
  readonly base: () => Pick<TakeUpParams, "workerId" | "namespace" | "queues" | "handlers">;
  readonly freeSlots: () => number;
  /** Whether the worker is empty, so that it may claim a suspect. */
  readonly mayTakeSuspect: () => boolean;
  readonly onSuspectDue: () => void;
  readonly onClaimed: (run: Run, messages: readonly Message[]) => void;
  /** A claim for a suspect is sent. */
  readonly onSoloAsked: () => void;
  /** It was answered; undefined: none was left, or it has failed. */
  readonly onSoloAnswered: (runId: string | undefined) => void;
  readonly onDead: () => void;
}

export class Claimer {
  readonly #params: ClaimerParams;
  #running = false;
  /** The claim in flight, if any. */
  #flight: { readonly since: number } | undefined;
  #wanted = false;
  #asking = 0;
  /** Whether other code may have parked runs that this worker can continue; they take a separate claim. */
  #parkedWanted = false;
  /** The last claim was for parked runs, so the next is for due ones. */
  #askedForParked = false;
  #onParkedAnswered: () => void = () => {};
  /** How many claims in a row found due runs but could claim none. */
  #contended = 0;
  #timer: Timer | undefined;
  #timerAt = Number.POSITIVE_INFINITY;
  /** The earliest due time noted since the claim in flight was sent. */
  #notedAt = Number.POSITIVE_INFINITY;

  constructor(params: ClaimerParams) {
    this.#params = params;
  }

  /** Since when a claim has been in flight; undefined if none is. */
  get askingSince(): number | undefined {
    return this.#flight?.since;
  }

  /** How many runs the claim in flight may return. */
  get asking(): number {
    return this.#asking;
  }

  /** Resolves once the store has been asked for parked runs, even if the call failed. */
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

  /** The claim in flight was made under an id that is no longer valid: its answer, if any, is ignored. */
  abandon(): void {
    this.#onParkedAnswered();
    this.#flight = undefined;
    this.#asking = 0;
  }

  /** Something may be due, or a slot is free. */
  poke(): void {
    this.#wanted = true;
    if (!this.#running || this.#flight) return;
    // A slot can become free without a notice: a worker that has kept itself empty for a suspect gives up after a while.
    if (!this.#hasRoom()) return this.#wakeIn(this.#params.fallbackMs, this.#params.clock);
    const flight = { since: this.#params.clock.monotonic() };
    this.#flight = flight;
    this.#params.clock.immediate(() => void this.#claim(flight));
  }

  /** A slot is free: claim again if more runs were due. */
  slotFreed(): void {
    if (this.#wanted) this.poke();
  }

  /**
   * Something becomes due at this store time that the last answer did not include: a run of ours, or one that another
   * process started.
   */
  noteDueAt(storeAt: number): void {
    const { clock, storeTime } = this.#params;
    const delayMs = storeAt - storeTime.now();
    this.#notedAt = Math.min(this.#notedAt, clock.monotonic() + delayMs);
    this.#wakeIn(delayMs, clock);
  }

  #hasRoom(): boolean {
    // A worker without an id is about to register again, and pokes once it has.
    if (this.#params.base().workerId === "") return false;
    return this.#params.freeSlots() > 0 || this.#params.mayTakeSuspect();
  }

  async #claim(flight: object): Promise<void> {
    if (this.#flight !== flight) return;
    const { clock, random, store, storeTime, log } = this.#params;
    const base = this.#params.base();
    // Declared dead or stopped in the meantime: an answer for the old id says nothing about the new one, and the runs
    // claimed under the old id have been reclaimed.
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
      if (solo) this.#params.onSoloAsked();
      this.#notedAt = Number.POSITIVE_INFINITY;
      try {
        const result = await untilAnswered(
          { clock, random },
          (again) => {
            sentAt = clock.monotonic();
            if (again) this.#wanted = true; // the answer may repeat an earlier claim, without what else is due
            return store.runs.claim({ ...base, claimId, again, limit, solo });
          },
          () => !this.#running || outdated(),
        );
        storeTime.observe(result.now, sentAt);
        const { telemetry } = this.#params;
        telemetry?.count("runs_claimed", result.runs.length, {});
        telemetry?.duration("claim", clock.monotonic() - sentAt, {});
        if (telemetry) reportWaits(telemetry, result);
        if (!outdated()) this.#take(result, limit, solo);
      } catch (error) {
        if (!isTransient(error)) log.error({ error: String(error) }, "claiming runs failed");
        if (solo && !outdated()) this.#params.onSoloAnswered(undefined);
        this.#wakeIn(this.#params.fallbackMs, clock);
      }
    }
    if (this.#flight !== flight) return;
    this.#flight = undefined;
    this.#asking = 0;
    if (this.#wanted) this.poke();
  }

  /** Takes up parked runs into half of the free slots, so that due runs do not have to wait for all of them. */
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
        return store.runs.holdIfParkedByOtherCode({ ...base, claimId, limit, event: this.#params.takingUp });
      };
      const { live, taken, more } = await untilAnswered({ clock, random }, hold, giveUp);
      // An earlier call may have claimed some although its answer was lost.
      if (live && (taken > 0 || repeated)) {
        const claim = () => store.runs.claim({ ...base, claimId, again: true, limit, solo: false });
        this.#activate(await untilAnswered({ clock, random }, claim, giveUp), outdated);
      }
      if (!live && !outdated()) this.#params.onDead();
      if (taken > 0)
        log.info({ runs: taken }, `took up ${taken} parked ${taken === 1 ? "run" : "runs"} that other code had parked`);
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
    // A call whose answer was lost may have taken effect after its repetition: what is too many goes back when it is noticed.
    for (const run of result.runs.slice(0, limit)) this.#params.onClaimed(run, messagesOf(run.runId));
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
    // What is locked is claimed again after a pause; anything due sooner does not wait for that pause.
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

/** Only the first claim of a run says how long it has waited: the store sets `startedAt` then. */
function reportWaits(telemetry: Telemetry, { runs, now }: ClaimRunsResult): void {
  for (const { startedAt, createdAt, queue } of runs) {
    if (startedAt !== null && startedAt >= now)
      telemetry.duration("queue_wait", startedAt - createdAt, { queue, what: "run" });
  }
}
