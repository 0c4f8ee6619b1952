/** Runs in lists, the overview, and what filters offer. */

export type Role = "reader" | "writer" | "admin";

export type RunStatus =
  | "pending"
  | "running"
  | "sleeping"
  | "waiting"
  | "compensating"
  | "parked"
  | "completed"
  | "failed"
  | "canceled"
  | "terminated"
  | "timed_out"
  | "continued"
  | "moved";

/** What a run is waiting for, as far as its row says. */
export interface ShortWhy {
  readonly kind: CauseKind;
  /** A few words. */
  readonly text: string;
  readonly op?: string;
  readonly at?: number;
  readonly since?: number;
  readonly error?: { readonly kind: string; readonly code?: string };
}

export type CauseKind =
  | "step"
  | "backoff"
  | "task"
  | "timer"
  | "signal"
  | "update"
  | "condition"
  | "lease"
  | "no_worker"
  | "limit"
  | "start_delay"
  | "parked"
  | "paused"
  | "ended"
  | "child"
  | "lock";

export interface RunName {
  readonly runId: string;
  readonly id: string;
}

/** A run in a list. */
export interface RunRow extends RunName {
  readonly workflow: string;
  readonly version: string;
  readonly queue: string;
  readonly priority: number;
  readonly key: string | null;
  readonly status: RunStatus;
  /** What to show as its state: the status, or `retrying` for one that is between two attempts. */
  readonly state: RunStatus | "retrying";
  readonly paused: boolean;
  readonly compensation: string | null;
  readonly attributes: Readonly<Record<string, AttributeValue>>;
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly updatedAt: number;
  readonly availableAt: number | null;
  readonly deadlineAt: number | null;
  readonly workerId: string | null;
  /** How many events it has: a place in its history is a number below it. */
  readonly historyLength: number;
  readonly waitingFor: readonly string[];
  readonly why: ShortWhy;
}

/** Dates are strings (ISO). */
export type AttributeValue = string | number | boolean | readonly string[] | readonly number[] | readonly boolean[];

/**
 * Which runs: query parameters of `runs`, `runs/count` and `runs/histogram`, and the `filter` of batches. All that are given must
 * match. As query parameters, `attr.{name}={value}` for each attribute, and several statuses separated by commas.
 */
export interface RunFilter {
  readonly workflow?: string;
  readonly version?: string;
  readonly id?: string;
  readonly status?: RunStatus | readonly RunStatus[];
  readonly queue?: string;
  readonly createdAfter?: number;
  readonly createdBefore?: number;
  readonly endedAfter?: number;
  readonly endedBefore?: number;
  readonly waitingFor?: string;
  readonly retrying?: boolean;
  readonly waitingSince?: number;
  readonly error?: string;
  readonly parent?: string;
  readonly forkedFrom?: string;
  readonly attributes?: Readonly<Record<string, string | number | boolean>>;
  /**
   * Text with AND, OR, parentheses and quoted phrases, for example `status:failed AND (workflow:order OR error:ECONNRESET)`.
   * Fields: workflow, version, id, status, queue, waiting (an op or a signal), error (a code or a kind), message (what the error says), parent, fork, attr.{name}; `created>2026-01-01`, `ended<-1h`, `waiting>10m`
   * (for longer than); `is:retrying`, `is:paused`, `is:open`, `is:closed`. A word alone matches an id, a workflow, an op or a signal that is waited for,
   * an error, or what an error says. `parseFilter` of src/filter/filter-text.ts reads it, in the browser as well.
   */
  readonly q?: string;
}

/** `GET api/{ns}/runs?{filter}&limit=100&cursor=`. Newest first. */
export interface RunsPage {
  readonly runs: readonly RunRow[];
  /** For the next page; null on the last one. */
  readonly cursor: string | null;
  readonly now: number;
}

/** `GET api/{ns}/runs/newer?{filter}&than={runId of the newest row}&at={when it was created}`: how many runs the list lacks ("Show 17 new runs"). */
export interface NewerRuns {
  /** At most 1,000. */
  readonly count: number;
  readonly capped: boolean;
}

/** `GET api/{ns}/runs/rows?runIds=a,b,…` (at most 200): rows as they are now; those that are gone are missing. */
export interface RunRows {
  readonly runs: readonly RunRow[];
  readonly now: number;
}

/** `GET api/{ns}/runs/count?{filter}[&exact=1]`. */
export interface RunCount {
  /** Counting stops at 10,000 unless `exact` was asked for. */
  readonly count: number;
  /** Shown as "10,000+". */
  readonly capped: boolean;
  /** More than 10,000 runs are open, and to find those in this state all of them would be read: only `exact` does that. */
  readonly uncounted?: true;
}

/** `GET api/{ns}/runs/histogram?{filter}&from=&to=`: runs by the time of their creation. Without `from`: the last day, or less of it if nothing older is in it. */
export interface Histogram {
  readonly from: number;
  readonly to: number;
  readonly bucketMs: number;
  /** One for each bucket. Counting stops at `atMost`. */
  readonly counts: readonly number[];
  /** Of these, those that failed or timed out. */
  readonly failed: readonly number[];
  readonly atMost: number;
}

/** `GET api/{ns}/facets`: what filters can offer. Attributes and errors are those of the newest 500 runs. */
export interface Facets {
  readonly workflows: readonly string[];
  /** Versions by workflow. */
  readonly versions: Readonly<Record<string, readonly string[]>>;
  readonly queues: readonly string[];
  readonly statuses: readonly RunStatus[];
  readonly attributes: Readonly<Record<string, readonly AttributeValue[]>>;
  readonly errors: readonly string[];
  readonly waitingFor: readonly string[];
}

/** `GET api/{ns}/overview?minutes=60` (at most 1,440). */
export interface Overview {
  readonly now: number;
  /** By the minute, all workflows together; one entry for each minute. */
  readonly rates: RateColumns;
  /** Sums over the same time, the busiest first; at most 20. */
  readonly workflows: readonly WorkflowRates[];
  /** Pending, running, sleeping, waiting and retrying are counted among so many of the newest open runs; null: among all. */
  readonly countedOf: number | null;
  /** Capped at `atMost`. */
  readonly counts: Readonly<Record<CountedState, number>>;
  readonly atMost: number;
  readonly queues: readonly QueueBacklog[];
  readonly workers: { readonly healthy: number; readonly degraded: number; readonly unhealthy: number };
  readonly health: { readonly status: "healthy" | "degraded" | "unhealthy"; readonly reasons: readonly string[] };
  /** Of the runs that failed in this time, by (workflow, op, error), the most frequent first; at most 20. */
  readonly failures: readonly FailureGroup[];
  /** The failed runs looked at; if there are more, `failuresCapped`. */
  readonly failuresSeen: number;
  readonly failuresCapped: boolean;
  /** The next five. */
  readonly schedules: readonly { readonly id: string; readonly workflow: string; readonly at: number }[];
}

export type CountedState =
  | "pending"
  | "running"
  | "sleeping"
  | "waiting"
  | "retrying"
  | "compensating"
  | "parked"
  | "failed";

export interface RateColumns {
  readonly from: readonly number[];
  readonly started: readonly number[];
  readonly ended: readonly number[];
  readonly failed: readonly number[];
  readonly retried: readonly number[];
}

export interface WorkflowRates {
  readonly workflow: string;
  readonly started: number;
  readonly ended: number;
  readonly failed: number;
  readonly retried: number;
}

export interface QueueBacklog {
  readonly name: string;
  readonly waiting: number;
  readonly oldestDueAt: number | null;
  readonly health: "healthy" | "degraded";
}

export interface FailureGroup {
  readonly workflow: string;
  readonly status: RunStatus;
  readonly op: string | null;
  /** Its code, else its name. */
  readonly error: string;
  /** What a list finds it by; null if these runs have no error. */
  readonly filter: string | null;
  readonly message: string | null;
  readonly count: number;
  readonly lastAt: number;
  readonly example: RunName;
}

/** `GET api/{ns}/views`: saved views of the runs page, shared by everybody. Saved and removed with `POST api/{ns}/views/save` and `…/remove`. */
export interface SavedViews {
  readonly views: readonly SavedView[];
}

export interface SavedView {
  readonly name: string;
  /** The search part of the URL of the runs page, without `?`. */
  readonly search: string;
  readonly by: string | null;
  readonly at: number;
}
