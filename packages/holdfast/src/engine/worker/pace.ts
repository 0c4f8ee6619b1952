import type { WorkerPace } from "../../model/worker-row.ts";

/** A heartbeat tells of about so much time; of more if heartbeats are further apart. */
const WINDOW_MS = 60_000;

interface Stretch {
  readonly since: number;
  attempts: number;
  failed: number;
  ms: number;
  msMax: number;
}

/**
 * How many attempts of steps and tasks end on one worker, and how long they take: over the last minute, stretch by stretch from
 * one heartbeat to the next, so that nothing is kept per attempt.
 */
export class Pace {
  readonly #now: () => number;
  readonly #stretches: Stretch[];

  /** `now`: a clock that never goes back. */
  constructor(now: () => number) {
    this.#now = now;
    this.#stretches = [stretchFrom(now())];
  }

  ended(ms: number, ok: boolean): void {
    const last = this.#stretches[this.#stretches.length - 1] as Stretch;
    last.attempts += 1;
    if (!ok) last.failed += 1;
    last.ms += ms;
    if (ms > last.msMax) last.msMax = ms;
  }

  /** What the next heartbeat says. */
  take(): WorkerPace {
    const now = this.#now();
    const within = this.#stretches.findIndex(({ since }) => now - since <= WINDOW_MS);
    // The stretch before the window reaches into it; if heartbeats are further apart, the last one is all there is.
    const first = within === -1 ? this.#stretches.length - 1 : within - 1;
    if (first > 0) this.#stretches.splice(0, first);
    const all = { attempts: 0, failed: 0, ms: 0, msMax: 0 };
    for (const { attempts, failed, ms, msMax } of this.#stretches) {
      all.attempts += attempts;
      all.failed += failed;
      all.ms += ms;
      all.msMax = Math.max(all.msMax, msMax);
    }
    const overMs = Math.round(now - (this.#stretches[0] as Stretch).since);
    this.#stretches.push(stretchFrom(now));
    return {
      overMs,
      attempts: all.attempts,
      failed: all.failed,
      attemptMsMean: all.attempts === 0 ? 0 : Math.round((all.ms / all.attempts) * 10) / 10,
      attemptMsMax: all.msMax,
    };
  }
}

function stretchFrom(since: number): Stretch {
  return { since, attempts: 0, failed: 0, ms: 0, msMax: 0 };
}
