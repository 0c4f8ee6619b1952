/**
 * The leader: the one worker of a store that fires schedules, deletes runs that are not kept any longer, and keeps watch where nobody else does. Who leads is decided by the store, with registrations and heartbeats;
 * being replaced, or leading beside another one for a while, changes nothing but who does the work (S1).
 *
 * It makes a pass when the first schedule is due, when one has changed (hint), when a run has ended that a buffered time waits for
 * (hint, or every five seconds), and looks at what its heartbeats say. Where there are no schedules and no retention it makes no calls.
 */
import { EarliestTimer } from "../../calls/earliest-timer.ts";
import { isTransient, lockedMs } from "../../calls/store-retry.ts";
import type { Hint } from "../../ports/notifier.ts";
import type { LeaderOutlook, ScheduleOutlook } from "../../ports/store.ts";
import type { Watchdog } from "../watchdog/watchdog.ts";
import { RetentionDuty } from "./retention-duty.ts";
import { passSchedules, type SchedulePassParams } from "./schedule-pass.ts";

/** How often to look whether runs have ended that buffered times wait for, in case no hint announced it. */
const WAITING_MS = 5_000;
/** Where a time has come by our estimate of the store's clock: how soon to look again. */
const EARLY_MS = 20;
/** After a failure. */
const OUTAGE_MS = 1_000;

export interface LeaderParams extends SchedulePassParams {
  /** Sends a heartbeat at once: there may be no leader. */
  readonly beat: () => void;
  /** Whether this worker may lead. */
  readonly coordinates: boolean;
  /** Told who leads; undefined if this worker has none. */
  readonly watchdog?: Watchdog | undefined;
}

export class Leader {
  readonly #params: LeaderParams;
  readonly #timer: EarliestTimer;
  readonly #retention: RetentionDuty;
  #running = false;
  #leading = false;
  #passing = false;
  #again = false;
  #awaited: ReadonlySet<string> = new Set();
  /** How many passes in a row have left something undone. */
  #leaving = 0;
  /** Runs that have ended during a pass: it may turn out that they are awaited. */
  readonly #ended = new Set<string>();

  constructor(params: LeaderParams) {
    this.#params = params;
    this.#timer = new EarliestTimer(params.clock, () => void this.#look(), "passive");
    this.#retention = new RetentionDuty(params);
  }

  /** From now on it acts on what it is told; what it was told before counts. */
  start(): void {
    this.#running = true;
    this.#retention.start();
    this.#params.watchdog?.start();
    if (this.#leading) void this.#look();
  }

  /** Resolves when the watchdog has sent its last alerts, or has given them up. */
  async stop(): Promise<void> {
    this.#running = false;
    this.#timer.cancel();
    this.#retention.stop();
    await this.#params.watchdog?.stop();
  }

  /** What the store has said: undefined if another worker leads, or none. */
  told(outlook: LeaderOutlook | undefined): void {
    this.#retention.told(outlook?.retains ?? false);
    this.#params.watchdog?.told(outlook !== undefined);
    const began = outlook !== undefined && !this.#leading;
    this.#leading = outlook !== undefined;
    if (outlook === undefined) {
      this.#timer.cancel();
      this.#awaited = new Set();
    } else if (began) void this.#look();
    else this.#expect(outlook);
  }

  onHint(hint: Hint): void {
    if (!this.#running) return;
    if (hint.type === "leaderless") {
      if (this.#params.coordinates && !this.#leading) this.#params.beat();
    } else if (!this.#leading) return;
    else if (hint.type === "schedule") void this.#look();
    else if (hint.type === "retention") this.#retention.look();
    else if (hint.type === "ended") {
      if (this.#passing) this.#ended.add(hint.runId);
      if (this.#awaited.has(hint.runId)) void this.#look();
    }
  }

  #expect({ nextAt, waiting }: ScheduleOutlook): void {
    const aheadMs = nextAt === null ? null : nextAt - this.#params.storeTime.now();
    if (aheadMs !== null) this.#ringIn(aheadMs > 0 ? aheadMs : EARLY_MS);
    if (waiting) this.#ringIn(WAITING_MS);
  }

  #ringIn(delayMs: number): void {
    if (this.#running && this.#leading) this.#timer.ringIn(delayMs);
  }

  /** Passes until nothing is left to do now; one at a time. */
  async #look(): Promise<void> {
    if (!this.#running || !this.#leading) return;
    this.#again = true;
    if (this.#passing) return;
    this.#passing = true;
    this.#timer.cancel();
    try {
      while (this.#again && this.#running && this.#leading) {
        this.#again = false;
        await this.#pass();
      }
    } finally {
      this.#passing = false;
      this.#ended.clear();
    }
  }

  async #pass(): Promise<void> {
    const { log } = this.#params;
    try {
      const result = await passSchedules(this.#params, () => this.#running && this.#leading);
      this.#awaited = new Set(result.awaited);
      this.#again ||= result.awaited.some((runId) => this.#ended.has(runId));
      this.#expect(result);
      this.#leaving = result.left ? this.#leaving + 1 : 0;
      if (result.left) this.#ringIn(lockedMs(this.#params.random, this.#leaving));
    } catch (error) {
      if (!isTransient(error)) log.error({ error: String(error) }, "firing schedules failed; trying again");
      this.#ringIn(OUTAGE_MS);
    }
  }
}
