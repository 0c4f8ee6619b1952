import type { Clock } from "../../ports/clock.ts";
import type { PooledProcess } from "./pooled-process.ts";

/** Why a process was replaced: it had executed enough, it had grown, it died, or it had to be killed. */
export type RestartReason = "recycled" | "memory" | "crashed" | "killed";

/** The state of a worker's task pool: what it did since it was started, and how it is doing now. */
export interface TaskPoolStatus {
  readonly processes: readonly PoolProcessStatus[];
  /** Tasks that its processes have executed, whatever came of them. */
  readonly executed: number;
  /** Tasks per second, over the last minute. */
  readonly perSecond: number;
  /** How long tasks were with a process, of the last 1,000. Null before the first. */
  readonly latency: { readonly p50Ms: number; readonly p99Ms: number } | null;
  /** Processes that were replaced, by reason. */
  readonly restarts: Readonly<Record<RestartReason, number>>;
}

/** One process of a pool. */
export interface PoolProcessStatus {
  readonly pid: number | undefined;
  /** `retiring`: it ends when it has finished what it executes. */
  readonly state: "starting" | "ready" | "retiring" | "ended";
  /** Tasks that it executes now. */
  readonly running: number;
  /** Tasks that it has begun. */
  readonly executed: number;
  /** The memory that it uses, as it last reported it. */
  readonly residentBytes: number | undefined;
  readonly startedAt: Date;
}

const RATE_SECONDS = 60;
const LATENCIES_KEPT = 1_000;

export class PoolStats {
  readonly #clock: Clock;
  readonly #sinceMs: number;
  readonly #restarts = { recycled: 0, memory: 0, crashed: 0, killed: 0 };
  readonly #latencies: number[] = [];
  /** Executions per second of time, the last ones. */
  readonly #perSecond = new Map<number, number>();
  #executed = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sinceMs = clock.monotonic();
  }

  executed(ms: number): void {
    this.#latencies[this.#executed % LATENCIES_KEPT] = ms;
    this.#executed += 1;
    const second = this.#second();
    this.#perSecond.set(second, (this.#perSecond.get(second) ?? 0) + 1);
    for (const old of this.#perSecond.keys()) {
      if (old > second - RATE_SECONDS) break;
      this.#perSecond.delete(old);
    }
  }

  restarted(reason: RestartReason): void {
    this.#restarts[reason] += 1;
  }

  status(processes: readonly PooledProcess[]): TaskPoolStatus {
    return {
      processes: processes.map(({ pid, state, running, executed, residentBytes, startedAt }) => ({
        ...{ pid, state, running, executed, residentBytes },
        startedAt: new Date(startedAt),
      })),
      executed: this.#executed,
      perSecond: this.#rate(),
      latency: this.#latency(),
      restarts: { ...this.#restarts },
    };
  }

  #rate(): number {
    const from = this.#second() - RATE_SECONDS;
    let executed = 0;
    for (const [second, count] of this.#perSecond) if (second > from) executed += count;
    const seconds = Math.min(RATE_SECONDS, Math.max(1, (this.#clock.monotonic() - this.#sinceMs) / 1_000));
    return executed / seconds;
  }

  #latency(): TaskPoolStatus["latency"] {
    if (this.#latencies.length === 0) return null;
    const sorted = this.#latencies.toSorted((a, b) => a - b);
    const at = (share: number): number =>
      sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] as number;
    return { p50Ms: at(0.5), p99Ms: at(0.99) };
  }

  #second(): number {
    return Math.floor(this.#clock.monotonic() / 1_000);
  }
}
