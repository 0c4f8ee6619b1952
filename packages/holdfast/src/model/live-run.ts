/** What a worker of this process knows of a run that it holds, beyond what is in the store. Nothing in it depends on what is not durable. */
export interface LiveRun {
  /** Attempts that are under way. */
  readonly running: readonly LiveStep[];
  /** The most executions that a step may have, for those that the code waits for. */
  readonly attemptsMax: ReadonlyMap<string, number>;
  /** Ids of the ops that the code waits for; null while there is something that is not in the store yet. */
  readonly pending: ReadonlySet<string> | null;
  /** The last event that is in the store. */
  readonly durableSeq: number;
}

/** One attempt that is under way. */
export interface LiveStep {
  readonly op: string;
  readonly attempt: number;
  /** By the store's clock. */
  readonly startedAt: number;
}
