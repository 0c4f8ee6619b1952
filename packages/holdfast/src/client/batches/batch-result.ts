/** A run that a batch has left as it was. */
export interface SkippedRun {
  readonly runId: string;
  /** The code of the error that the action gets for this run: `run_closed`, `run_not_failed`, … */
  readonly code: string;
}

/** What a batch has done, or how far it is. `done` and `skippedCount` add up to `matched`. */
export interface BatchResult {
  /** The id of the batch. */
  readonly id: string;
  /** How many runs it has met: they matched the filter when it came to them. */
  readonly matched: number;
  /** For how many of them the action was done. */
  readonly done: number;
  /** The runs that were left as they were, the first 1,000 of them. */
  readonly skipped: readonly SkippedRun[];
  /** How many runs were left as they were. */
  readonly skippedCount: number;
}
