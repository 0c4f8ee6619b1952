/**
 * The lease: one heartbeat renews everything that a worker holds.
 *
 * Invariants
 *  L1. The deadline counts from when the heartbeat was sent, not from when it was answered.
 *  L2. Time is the later of the monotonic and the wall clock: a machine that slept has lost its lease.
 *  L3. Past the deadline no effect may start; held runs are kept, because only the fence may discard them.
 *  L4. A worker that the store has declared dead never returns under its old id.
 */

import { isTransient } from "../../calls/store-retry.ts";
import type { StoreTime } from "../../calls/store-time.ts";
import { isHoldfastError } from "../../errors/holdfast-error.ts";
import type { WorkerLoad } from "../../model/worker-row.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import type { Logger } from "../../ports/logger.ts";
import type { HeartbeatResult, Store } from "../../ports/store.ts";
import type { Telemetry } from "../../ports/telemetry.ts";

export interface LeaseParams {
  readonly clock: Clock;
  readonly store: Store;
  readonly storeTime: StoreTime;
  readonly log: Logger;
  readonly telemetry: Telemetry | undefined;
  readonly namespace: string;
  readonly leaseMs: number;
  /** Whether the worker may lead. */
  readonly coordinates: boolean;
  readonly draining: () => boolean;
  /** How busy the worker is; `loopDelayMs`: how much too late the heartbeat is. */
  readonly load: (loopDelayMs: number) => WorkerLoad | undefined;
  readonly onHeartbeat: (result: HeartbeatResult) => void;
  /** The store did not answer, or took very long. */
  readonly onOutage: () => void;
  /** The deadline had passed and was extended: effects may start again. */
  readonly onRegained: () => void;
  readonly onDead: () => void;
}

export class Lease {
  readonly #params: LeaseParams;
  #workerId = "";
  #monotonicDeadline = 0;
  #wallDeadline = 0;
  #timer: Timer | undefined;
  #blocked = false;
  /** When the next heartbeat is due. */
  #dueAt = 0;
  /** Whether the latest heartbeat is still unanswered. */
  #waiting = false;

  constructor(params: LeaseParams) {
    this.#params = params;
  }

  get workerId(): string {
    return this.#workerId;
  }

  /** Whether an effect may start now. */
  active(): boolean {
    const { clock } = this.#params;
    const active = clock.monotonic() < this.#monotonicDeadline && clock.now() < this.#wallDeadline;
    if (!active && !this.#blocked) {
      this.#blocked = true;
      if (this.#workerId !== "") this.#params.telemetry?.count("leases_lost", 1, { reason: "expired" });
    }
    return active;
  }

  /** The worker was registered by a call first sent at these times. */
  begin(workerId: string, sentMonotonic: number, sentWall: number): void {
    this.#workerId = workerId;
    this.#monotonicDeadline = 0;
    this.#renew(sentMonotonic, sentWall);
    this.#schedule(this.#params.leaseMs / 3 - (this.#params.clock.monotonic() - sentMonotonic));
  }

  end(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#workerId = "";
    this.#monotonicDeadline = 0;
  }

  /** Sends an extra heartbeat; true if the store answered without delay and says that this worker is live. */
  probe(): Promise<boolean> {
    if (this.#workerId === "") return Promise.resolve(false);
    return new Promise((resolve) => {
      const timer = this.#params.clock.setTimer(this.#params.leaseMs / 3, () => resolve(false));
      void this.#beat().then((prompt) => {
        timer.cancel();
        resolve(prompt);
      });
    });
  }

  /** Tells the store at once that this worker drains, instead of with the next heartbeat. */
  report(): void {
    if (this.#workerId !== "") void this.#beat();
  }

  #renew(sentMonotonic: number, sentWall: number): void {
    // The answer to an older heartbeat must not shorten the lease.
    if (sentMonotonic + this.#params.leaseMs < this.#monotonicDeadline) return;
    this.#monotonicDeadline = sentMonotonic + this.#params.leaseMs;
    this.#wallDeadline = sentWall + this.#params.leaseMs;
    if (!this.#blocked) return;
    this.#blocked = false;
    this.#params.onRegained();
  }

  #schedule(delayMs: number): void {
    this.#timer?.cancel();
    this.#dueAt = this.#params.clock.monotonic() + delayMs;
    this.#timer = this.#params.clock.setTimer(delayMs, () => void this.#beat());
  }

  async #beat(): Promise<boolean> {
    const { clock, store, storeTime, namespace, leaseMs, coordinates } = this.#params;
    const workerId = this.#workerId;
    const sentMonotonic = clock.monotonic();
    const sentWall = clock.now();
    const load = this.#params.load(Math.max(0, Math.round(sentMonotonic - this.#dueAt)));
    // An unanswered heartbeat must not be the last one.
    this.#schedule(leaseMs / 3);
    if (this.#waiting) this.#params.onOutage();
    this.#waiting = true;
    try {
      const draining = this.#params.draining();
      const result = await store.workers.heartbeat({
        namespace,
        workerId,
        leaseMs,
        draining,
        coordinates,
        ...(load && { load }),
      });
      if (this.#workerId !== workerId) return false;
      storeTime.observe(result.now, sentMonotonic);
      if (!result.live) {
        this.#params.onDead();
        return false;
      }
      // Other workers may have waited just as long, unable to renew.
      const prompt = clock.monotonic() - sentMonotonic < leaseMs / 3;
      if (!prompt) this.#params.onOutage();
      this.#renew(sentMonotonic, sentWall);
      this.#params.onHeartbeat(result);
      this.#schedule(leaseMs / 3);
      return prompt;
    } catch (error) {
      if (this.#workerId !== workerId) return false;
      if (isTransient(error)) this.#params.onOutage();
      else
        this.#params.log.error(
          { workerId, code: isHoldfastError(error) ? error.code : undefined, error: String(error) },
          "heartbeat failed",
        );
      this.#schedule(leaseMs / 10);
      return false;
    } finally {
      this.#waiting = false;
    }
  }
}
