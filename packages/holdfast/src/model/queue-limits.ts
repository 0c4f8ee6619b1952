/** How often something may begin: a bucket of `burst` tokens, into which `limit` tokens fall in each `perMs`. */
export interface RateLimit {
  readonly limit: number;
  readonly perMs: number;
  readonly burst: number;
}

/** What may be in progress, and how often it may begin. */
export interface PlaceLimits {
  readonly concurrency?: number;
  readonly rate?: RateLimit;
}

/** The limits of a queue. They hold for its runs and, counted apart, for its tasks. */
export interface QueueLimits extends PlaceLimits {
  /** Of each key by itself. What has no key is not limited by these. */
  readonly perKey?: PlaceLimits;
  /** Keys take turns even if nothing is limited. */
  readonly fair?: boolean;
  /** How large the share of a key is, compared with the others; 1 if it is not named. */
  readonly weights?: Readonly<Record<string, number>>;
  /** More runs than this may not wait. */
  readonly backlog?: number;
  /** For each time of this length that something has waited, it counts as one priority higher. */
  readonly agingMs?: number;
}

/** What the limits of a queue count. */
export type QueueKind = "runs" | "tasks";

export const QUEUE_KINDS: readonly QueueKind[] = ["runs", "tasks"];

/** The key of what has none: for fairness, all of it is one key. */
export const NO_KEY = "";

/** The largest number of places, of tokens and of waiting runs that a limit may name. */
export const QUEUE_LIMIT_MAX = 1_000_000;

/**
 * How many runs or tasks of a lane that have come to a queue with limits a claim sorts in: so many of the oldest, and as many of the
 * newest. So a key that comes now waits for its turn, and not until the backlog of another one is sorted in; nor does a run that
 * has a place and is due again. As many as there are free places, but no more than the first number and no fewer than the second.
 */
export const SORTED_MAX = 25;
export const SORTED_MIN = 10;

/**
 * How many places a claim gives in a queue with limits; then it asks again, after the claims of others. Else the first one would take all
 * that are free, and a key that is next would wait until one process has executed what came with it.
 */
export const ADMITTED_MAX = 16;

/** A run or a task that has a place in a queue. */
export interface PlaceHolder {
  readonly id: string;
  readonly runId: string;
  /** Null: it has no key. */
  readonly key: string | null;
  /** The op of a task. */
  readonly op?: string;
  readonly since: number;
}

/** What there is in a queue: of runs, or of tasks. */
export interface QueueLoad {
  /** Due, and not in progress. */
  readonly waiting: number;
  /** With limits: what has a place. Without: what a worker holds. */
  readonly running: number;
  readonly oldestDueAt: number | null;
  /** How many have got a place per second, about the last minute; 0 without limits. */
  readonly perSecond: number;
  /** When the next token of its rate comes; null: there is one, or no rate. If a key was asked for: of the rate of that key. */
  readonly tokenAt: number | null;
  /** Those that have had a place for the longest time. None without limits. */
  readonly holders: readonly PlaceHolder[];
}

/** A queue. */
export interface QueueState {
  readonly name: string;
  /** Null: it has none. */
  readonly limits: QueueLimits | null;
  readonly runs: QueueLoad;
  readonly tasks: QueueLoad;
}
