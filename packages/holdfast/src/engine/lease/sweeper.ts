/**
 * The sweeper: finds workers whose lease has expired and reclaims their runs. It sleeps until the earliest known lease end,
 * so that an idle system is quiet and recovery is prompt. After a store outage it waits one full lease before it declares
 * any worker dead: none could renew while the store was away. It sweeps only right after a heartbeat of its own that was
 * answered without delay.
 */

import { isTransient } from "../../calls/store-retry.ts";
import { toErrorRecord } from "../../errors/error-record.ts";
import { HoldfastError } from "../../errors/holdfast-error.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import type { Logger } from "../../ports/logger.ts";
import type { Store, SweepParams, SweepResult } from "../../ports/store.ts";
import type { Telemetry } from "../../ports/telemetry.ts";

const RETURNED_PER_SWEEP_MAX = 1_000;
/** Not more often than this, however many leases are about to expire. */
export const SWEEP_MS_MIN = 250;

export interface SweeperParams {
  readonly clock: Clock;
  readonly store: Store;
  readonly log: Logger;
  readonly telemetry: Telemetry | undefined;
  readonly leaseMs: number;
  readonly suspectAfter: number;
  readonly parkAfter: number;
  /** Whether the store is answering, and this worker may judge others. */
  readonly probe: () => Promise<boolean>;
  /** Nothing is left to sweep now. */
  readonly onSwept: (result: SweepResult) => void;
}

export class Sweeper {
  readonly #params: SweeperParams;
  #timer: Timer | undefined;
  #running = false;
  #quietUntil = 0;

  constructor(params: SweeperParams) {
    this.#params = params;
  }

  start(): void {
    this.#running = true;
    const { clock, leaseMs } = this.#params;
    // The store may have just come back: live workers get time to renew, which they attempt every tenth of a lease.
    this.#quietUntil = Math.max(this.#quietUntil, clock.monotonic() + leaseMs / 5);
    void this.#sweep();
  }

  stop(): void {
    this.#running = false;
    this.#timer?.cancel();
  }

  /**
   * Reclaims the runs of workers whose process is gone, without waiting for their leases. Never rejects: if it fails, the
   * leases expire by themselves.
   */
  async bury(workerIds: readonly string[]): Promise<void> {
    const { store, log } = this.#params;
    try {
      for (let more = true; more; ) {
        const result = await store.workers.sweep({ ...this.#sweepParams(), gone: workerIds });
        const { returned, parked } = result;
        this.#count(result);
        if (returned > 0)
          log.info(
            { workerIds, returned, parked },
            `reclaimed ${counted(returned, "run")} from a dead worker of this host and name`,
          );
        more = result.more;
      }
    } catch (error) {
      if (!isTransient(error)) log.error({ error: String(error) }, "reclaiming the runs of a dead worker failed");
    }
  }

  /** The store could not be reached. */
  noteOutage(): void {
    this.#quietUntil = this.#params.clock.monotonic() + this.#params.leaseMs;
  }

  #schedule(delayMs: number): void {
    if (!this.#running) return;
    this.#timer?.cancel();
    this.#timer = this.#params.clock.setTimer(Math.max(SWEEP_MS_MIN, delayMs), () => void this.#sweep());
  }

  async #sweep(): Promise<void> {
    const { clock, store, log, leaseMs } = this.#params;
    const quietMs = this.#quietUntil - clock.monotonic();
    if (quietMs > 0) return this.#schedule(quietMs);
    // Do not sweep a store that hangs: the sweep would take effect when it comes back, before any worker could renew.
    if (!(await this.#params.probe())) return this.#schedule(leaseMs / 10);
    // In case no answer ever comes, try again then.
    this.#schedule(2 * leaseMs);
    try {
      const result = await store.workers.sweep(this.#sweepParams());
      const { dead, returned, parked, timedOut } = result;
      this.#count(result);
      if (dead + returned + parked + timedOut > 0) {
        log.warn({ dead, returned, parked, timedOut }, sweptText(result));
      }
      if (result.more) return this.#schedule(0);
      this.#params.onSwept(result);
      this.#schedule(Math.min(leaseMs, result.nextExpiryAt === null ? leaseMs : result.nextExpiryAt - result.now));
    } catch (error) {
      if (isTransient(error)) this.noteOutage();
      else log.error({ error: String(error) }, "sweeping workers failed");
      this.#schedule(leaseMs);
    }
  }

  #count({ dead, returned, parked, timedOut }: SweepResult): void {
    const { telemetry } = this.#params;
    if (!telemetry) return;
    telemetry.count("sweeps", 1, {});
    for (const [what, times] of Object.entries({ dead, returned, parked, timed_out: timedOut }))
      if (times > 0) telemetry.count("swept", times, { what });
  }

  #sweepParams(): SweepParams {
    const { suspectAfter, parkAfter, leaseMs } = this.#params;
    const crashLoop = `The worker died ${parkAfter} times while it ran only this run. Find out what kills it, then resume the run.`;
    return {
      suspectAfter,
      parkAfter,
      parkError: toErrorRecord(new HoldfastError("crash_loop", crashLoop)),
      timeoutGraceMs: leaseMs,
      timeoutError: toErrorRecord(
        new HoldfastError("run_timed_out", "The timeout passed before any worker could claim the run."),
      ),
      limit: RETURNED_PER_SWEEP_MAX,
    };
  }
}

/** What a sweep has done, for the log. */
function sweptText({ dead, returned, parked, timedOut }: SweepResult): string {
  const did: string[] = [];
  if (dead + returned > 0)
    did.push(`reclaimed ${counted(returned, "run")} from ${dead > 0 ? counted(dead, "dead worker") : "dead workers"}`);
  if (parked > 0) did.push(`parked ${counted(parked, "run")} that kept killing workers`);
  if (timedOut > 0) did.push(`ended ${counted(timedOut, "run")} whose timeout passed while no worker held it`);
  return did.join("; ");
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
