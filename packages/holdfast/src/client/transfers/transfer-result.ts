/** A run that an export, an import or a move has left out. */
export interface SkippedTransfer {
  readonly runId: string;
  readonly id: string;
  /**
   * Why: `run_exists` and `id_taken` (the target has that run id, or another run of the id), `run_too_large`, `tied_children`,
   * `tied_parent`, `tied_watched`, `tied_watches`, `tied_asked`, `tied_asks`, `tied_locks` (it has to do with another run or a
   * lock that stays), `moving_elsewhere` (an earlier move to another store has not finished).
   */
  readonly code: string;
}

/** What an export, an import or a move has done. */
export interface TransferResult {
  /** How many runs this call has written. Of two moves to the same store at once, both may count a run that one of them has begun to move and the other one has finished. */
  readonly runs: number;
  /** Those that were left out: the first 1,000. */
  readonly skipped: readonly SkippedTransfer[];
  /** How many were left out. */
  readonly skippedCount: number;
  /** How many of them for which reason, by `code`. */
  readonly skippedCodes: Readonly<Record<string, number>>;
}

/** How many of them are named. */
export const SKIPPED_MAX = 1_000;

export class TransferCount {
  runs = 0;
  #skippedCount = 0;
  readonly #codes = new Map<string, number>();
  readonly #skipped: SkippedTransfer[] = [];
  /** Of those that are named. */
  readonly #runIds = new Set<string>();

  skip({ runId, id }: { readonly runId: string; readonly id: string }, code: string): void {
    if (this.#runIds.has(runId)) return;
    this.#skippedCount += 1;
    this.#codes.set(code, (this.#codes.get(code) ?? 0) + 1);
    if (this.#skipped.length >= SKIPPED_MAX) return;
    this.#runIds.add(runId);
    this.#skipped.push({ runId, id, code });
  }

  get result(): TransferResult {
    const skippedCodes = Object.fromEntries(this.#codes);
    return { runs: this.runs, skipped: this.#skipped, skippedCount: this.#skippedCount, skippedCodes };
  }
}
