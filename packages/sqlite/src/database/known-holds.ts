/**
 * What a connection knows of runs that workers hold: enough to commit to them without reading their rows, which would cost more
 * than the events.
 *
 * Invariants
 *  K1. An entry says what the row of the run and its events say. Commits change or forget it; a call that is rolled back forgets
 *      all of them.
 *  K2. Anybody else may change the row, on any connection: deliver a message, take the run away, or give it its first tie (codes.ts).
 *      Whoever does so raises a counter of the worker that holds it (`taken`), in the same transaction. An entry that was made at
 *      another count is not believed.
 */

export interface KnownHold {
  readonly runKey: number;
  readonly namespace: string;
  readonly workerId: string;
  /** The count of the worker when this was known. */
  readonly taken: number;
  readonly epoch: number;
  readonly commit: number;
  readonly delivered: number;
  /** How many events it has. */
  eventCount: number;
  readonly status: number;
  readonly laneId: number;
  readonly deadlineAt: number | null;
  /** Whether that is all that a commit must know: it has no ties, and no deaths or parks that progress would clear. */
  readonly plain: boolean;
}

/** More than a worker holds. Of runs that were taken away entries may be left: then all are forgotten, and read again. */
const HOLDS_MAX = 10_000;

export class KnownHolds {
  /** By run id. */
  readonly #holds = new Map<string, KnownHold>();

  find(runId: string): KnownHold | undefined {
    return this.#holds.get(runId);
  }

  note(runId: string, hold: KnownHold): void {
    if (this.#holds.size >= HOLDS_MAX) this.#holds.clear();
    this.#holds.set(runId, hold);
  }

  forget(runId: string): void {
    this.#holds.delete(runId);
  }

  forgetAll(): void {
    this.#holds.clear();
  }
}
