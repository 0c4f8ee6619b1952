/** What happened to the runs of one workflow in a stretch of time, on the workers of a namespace. */
export interface RateRow {
  /** When the stretch begins. */
  readonly from: number;
  readonly workflow: string;
  /** Runs that were executed for the first time; not those that another one continued as. */
  readonly started: number;
  /** Runs that ended, in whatever way; not those that continued as new. */
  readonly ended: number;
  /** Of these, runs that failed or timed out. */
  readonly failed: number;
  /** Attempts of steps that failed and are made again. */
  readonly retried: number;
}

/** What is counted goes into stretches of this length. */
export const RATE_GRAIN_MS = 60_000;
