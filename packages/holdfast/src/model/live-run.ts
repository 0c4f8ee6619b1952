/**
 * What a worker of this process knows of a run that it holds, beyond what is in the store. None of it depends on events that
 * are not durable.
 */
export interface LiveRun {
  /** Attempts in progress. */
  readonly running: readonly LiveStep[];
  /** The maximum number of attempts of each step that the code waits for. */
  readonly attemptsMax: ReadonlyMap<string, number>;
  /** Ids of the ops that the code waits for; null while something is not in the store yet. */
  readonly pending: ReadonlySet<string> | null;
  /** The last event that is in the store. */
  readonly durableSeq: number;
}

/** One attempt in progress. */
export interface LiveStep {
  readonly op: string;
  readonly attempt: number;
  /** By the store's clock. */
  readonly startedAt: number;
}
