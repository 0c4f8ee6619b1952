/** Schedules, queues, workers, tasks, workflows, parked runs, audit, settings. */
import type { AttributeValue, RunName, RunRow } from "./list-messages.ts";
import type { ErrorShown, ShownValue } from "./run-messages.ts";

/** `GET api/{ns}/schedules?limit=100&cursor=`. In the order of their ids. */
export interface SchedulesPage {
  readonly schedules: readonly ScheduleRow[];
  readonly cursor: string | null;
  readonly now: number;
}

export interface ScheduleRow {
  readonly id: string;
  readonly workflow: string;
  readonly version: string | null;
  readonly queue: string;
  readonly spec: ScheduleSpec;
  /** `0 3 * * *`, `every 10 min`, `2 dates`: for lists. */
  readonly when: string;
  readonly overlap: OverlapPolicy;
  readonly paused: boolean;
  readonly note: string | null;
  readonly by: string | null;
  readonly nextAt: number | null;
  readonly lastAt: number | null;
  readonly openId: string | null;
  readonly openStatus: string | null;
  readonly buffered: number;
  readonly failures: number;
  readonly lastError: string | null;
  readonly createdAt: number;
}

export type OverlapPolicy = "skip" | "buffer-one" | "buffer-all" | "cancel-other" | "terminate-other" | "allow";

export interface ScheduleSpec {
  readonly cron?: string | readonly string[];
  readonly every?: unknown;
  readonly at?: readonly number[];
  readonly timezone?: string;
  readonly jitter?: string | number;
  readonly from?: number;
  readonly until?: number;
}

/** `GET api/{ns}/schedules/{id}`. */
export interface SchedulePage {
  readonly schedule: ScheduleRow & {
    readonly input: ShownValue;
    readonly priority: number;
    readonly attributes: Readonly<Record<string, AttributeValue>>;
    readonly timeoutMs: number | null;
    readonly catchUp: { readonly max: number; readonly windowMs: number | null };
  };
  /** The newest first; at most 100. */
  readonly decisions: readonly ScheduleDecisionRow[];
  /** The next 20. */
  readonly upcoming: readonly number[];
  /** The newest 50. */
  readonly runs: readonly RunRow[];
  readonly now: number;
}

export interface ScheduleDecisionRow {
  readonly at: number;
  /** `fired`, `skipped`, `buffered`, `missed`, `failed`, … */
  readonly what: string;
  readonly reason: string | null;
  readonly runId: string | null;
  /** The status of that run; null if there is none, or it is gone. */
  readonly status: string | null;
}

/** `GET api/{ns}/schedules/{id}/calendar?from=&to=` (at most 62 days). Days are those of the schedule's time zone. */
export interface ScheduleCalendar {
  readonly timezone: string;
  /** Past times and what became of them, and coming ones, ascending; at most 2,000. */
  readonly times: readonly {
    readonly at: number;
    /** `coming`, or what was decided. */
    readonly what: string;
    /** The run's status, if there is one. */
    readonly status: string | null;
    readonly runId: string | null;
  }[];
  readonly capped: boolean;
  /** When the clock changes in this time, and by how many minutes. */
  readonly clockChanges: readonly { readonly at: number; readonly minutes: number }[];
}

/** `GET api/{ns}/schedules/{id}/backfills`: those begun by this process, newest first. Started with `POST …/backfill`. */
export interface Backfills {
  readonly backfills: readonly Backfill[];
}

export interface Backfill {
  readonly id: string;
  readonly schedule: string;
  readonly from: number;
  readonly to: number;
  readonly times: number;
  readonly started: number;
  readonly buffered: number;
  readonly skipped: number;
  readonly at: number | null;
  readonly done: boolean;
  readonly error: string | null;
}

/** `GET api/{ns}/queues`. */
export interface QueuesView {
  readonly queues: readonly QueueRow[];
  readonly now: number;
}

export interface QueueRow {
  readonly name: string;
  readonly limits: QueueLimits;
  readonly runs: QueueLoad;
  readonly tasks: QueueLoad;
}

export interface QueueLoad {
  readonly waiting: number;
  readonly running: number;
  readonly oldestDueAt: number | null;
  readonly perSecond: number;
  readonly holders: readonly {
    readonly id: string;
    readonly runId: string;
    readonly key: string | null;
    readonly op?: string;
    readonly since: number;
  }[];
}

/** Durations as text (`"1m"`) or milliseconds. */
export interface QueueLimits {
  readonly concurrency?: number;
  readonly rate?: QueueRate;
  readonly perKey?: { readonly concurrency?: number; readonly rate?: QueueRate };
  readonly fair?: boolean;
  readonly weights?: Readonly<Record<string, number>>;
  readonly backlog?: number;
  readonly aging?: string | number;
}

export interface QueueRate {
  readonly limit: number;
  readonly per: string | number;
  readonly burst?: number;
}

/** `GET api/{ns}/queues/{name}/waiting?limit=50`: runs that wait in it, the oldest due first, by key. */
export interface QueueWaiters {
  readonly runs: readonly RunRow[];
  readonly keys: readonly { readonly key: string | null; readonly holders: number; readonly waiting: number }[];
  /** Waiting runs looked at: at most 500. */
  readonly capped: boolean;
}

/** `GET api/{ns}/workers`: those of the last day, the living first. */
export interface WorkersView {
  readonly workers: readonly WorkerView[];
  readonly leader: string | null;
  readonly now: number;
}

export interface WorkerView {
  readonly workerId: string;
  readonly name: string;
  readonly health: "healthy" | "degraded" | "unhealthy" | "gone";
  readonly status: "online" | "draining" | "offline";
  readonly host: string | null;
  readonly pid: number | null;
  readonly queues: readonly string[];
  /** `order@2`. */
  readonly workflows: readonly string[];
  readonly tasks: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly about: {
    readonly holdfast?: string;
    readonly runtime?: string;
    readonly program?: string;
    readonly options?: Readonly<Record<string, string | number | boolean>>;
  };
  readonly load: {
    readonly runs: number;
    readonly tasks: number;
    readonly loopDelayMs: number;
    readonly loopBusy: number;
    readonly memoryBytes: number;
    readonly pace?: {
      readonly overMs: number;
      readonly attempts: number;
      readonly failed: number;
      readonly attemptMsMean: number;
      readonly attemptMsMax: number;
    };
  } | null;
  readonly drainAsked: boolean;
  readonly leaseMs: number;
  readonly activeRuns: number;
  readonly activeTasks: number;
  readonly startedAt: number;
  readonly heartbeatAt: number;
  readonly leaseExpiresAt: number;
  readonly stoppedAt: number | null;
  readonly died: boolean;
}

/** `GET api/{ns}/workers/events?workerId=&limit=100&cursor=`: their lifecycle, newest first. */
export interface WorkerEvents {
  readonly events: readonly {
    readonly workerId: string;
    readonly name: string;
    readonly type: "started" | "heartbeat" | "stopping" | "stopped" | "died";
    readonly at: number;
  }[];
  readonly cursor: string | null;
}

/** `GET api/{ns}/tasks?status=&name=&queue=&run={runId}&limit=100&cursor=`; dead letters are those with `status=dead`. */
export interface TasksPage {
  readonly tasks: readonly TaskRow[];
  readonly cursor: string | null;
  readonly now: number;
}

export interface TaskRow {
  /** Stands for its token in actions; the token itself is a secret and stays on the server. Null: no attempt is open. */
  readonly ref: string | null;
  readonly name: string;
  readonly queue: string;
  readonly status: "due" | "held" | "external" | "dead";
  readonly runId: string;
  /** The id of its run; null if that is gone. */
  readonly id: string | null;
  readonly op: string;
  readonly attempt: number;
  readonly availableAt: number | null;
  readonly workerId: string | null;
  readonly requires: readonly string[];
  readonly input: ShownValue;
  /** What its last heartbeat reported. */
  readonly details: ShownValue;
  readonly failures: readonly {
    readonly attempt: number;
    readonly at: number;
    readonly name: string;
    readonly message: string;
    readonly code?: string;
  }[];
  readonly createdAt: number;
}

/** `GET api/{ns}/workflows`. */
export interface WorkflowsView {
  readonly workflows: readonly WorkflowRow[];
  readonly now: number;
}

export interface WorkflowRow {
  readonly name: string;
  readonly versions: readonly VersionRow[];
  /** Of the last hour. */
  readonly started: number;
  readonly ended: number;
  readonly failed: number;
}

export interface VersionRow {
  readonly version: string;
  readonly hash: string;
  readonly isDefault: boolean;
  /** Share of the starts that name no version, 0 to 1. */
  readonly share: number;
  readonly deprecated: boolean;
  readonly registeredAt: number;
  /** Capped at 1,000. None: safe to remove, unless it is the default. */
  readonly openRuns: number;
  readonly openCapped: boolean;
  /** How many living workers offer it. */
  readonly workers: number;
  readonly safeToRemove: boolean;
}

/** `GET api/{ns}/workflows/{name}`. */
export interface WorkflowPage {
  readonly workflow: WorkflowRow;
  /** JSON Schema of the input, if a worker of this process knows it. */
  readonly inputSchema: unknown;
  /** The input of the newest run, to begin a start with; null if there is none, or it may not be seen. */
  readonly sampleInput: string | null;
  /** Names of signals, updates and queries, as far as a worker of this process knows them, or recent runs show. */
  readonly signals: readonly string[];
  readonly updates: readonly string[];
  readonly queries: readonly string[];
  /** Durations of ops over the newest 50 runs that ended, oldest first. */
  readonly durations: readonly {
    readonly op: string;
    readonly kind: string;
    /** Milliseconds, one per run that had it, with when it ended. */
    readonly ms: readonly number[];
    readonly at: readonly number[];
    readonly p50: number;
    readonly p95: number;
    readonly failures: number;
  }[];
  /** By the minute, the last hour. */
  readonly rates: {
    readonly from: readonly number[];
    readonly started: readonly number[];
    readonly ended: readonly number[];
    readonly failed: readonly number[];
    readonly retried: readonly number[];
  };
  readonly runs: readonly RunRow[];
  readonly now: number;
}

/** `GET api/{ns}/parked?limit=200`: parked runs, and those whose compensation failed, by cause. */
export interface ParkedView {
  readonly groups: readonly ParkedGroup[];
  readonly seen: number;
  readonly capped: boolean;
  readonly now: number;
}

export interface ParkedGroup {
  /** `replay_divergence`, `paused`, `compensation_failed`, `workflow_bug`, … */
  readonly cause: string;
  readonly workflow: string;
  readonly count: number;
  readonly message: string | null;
  /** The newest 20. */
  readonly runs: readonly RunRow[];
  /** The filter that matches the group, for a batch: resume all. Null if a filter cannot. */
  readonly filter: import("./list-messages.ts").RunFilter | null;
}

/** `GET api/{ns}/runs/{run}/divergence`: what the history says, and what the code did. 404 if it is not parked for one. */
export interface Divergence {
  readonly run: RunName;
  readonly error: ErrorShown;
  /** The event at which they part. */
  readonly seq: number | null;
  readonly recorded: string;
  readonly asked: string;
  /** Events around it. */
  readonly events: readonly { readonly seq: number; readonly type: string; readonly op: string | null }[];
}
