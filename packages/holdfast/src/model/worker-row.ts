/** The status of a worker. */
export type WorkerStatus = "online" | "draining" | "offline";

/** What a worker says of itself when it registers. */
export interface WorkerAbout {
  /** The version of Holdfast. */
  readonly holdfast?: string;
  /** `node 20.11.0`. */
  readonly runtime?: string;
  /** `shop@1.4.2`, if the program was started by a package manager. */
  readonly program?: string;
  /** Options of `hf.worker()` with their defaults, durations in milliseconds. */
  readonly options?: Readonly<Record<string, string | number | boolean>>;
}

/** How busy a worker is. */
export interface WorkerLoad {
  readonly runs: number;
  readonly tasks: number;
  /** How much too late its last heartbeat was sent: the event loop was busy for so long. */
  readonly loopDelayMs: number;
  /** The part of the time since the heartbeat before in which the event loop was busy, from 0 to 1. */
  readonly loopBusy: number;
  /** Memory of its process (resident set). */
  readonly memoryBytes: number;
  /** Left out by workers of before it was there. */
  readonly pace?: WorkerPace;
}

/** The attempts of steps and tasks that ended on a worker in the last minute before its heartbeat. */
export interface WorkerPace {
  /** How long that was: less than a minute for a new worker, more where heartbeats are further apart. */
  readonly overMs: number;
  readonly attempts: number;
  /** Of these, those that failed. */
  readonly failed: number;
  /** How long an attempt took on average. */
  readonly attemptMsMean: number;
  /** How long the longest took. */
  readonly attemptMsMax: number;
}

/** A moment in the life of a worker. Of its heartbeats, one every ten minutes is kept. */
export interface WorkerLogRow {
  /** Grows from each to the next. */
  readonly entryNo: number;
  readonly namespace: string;
  readonly workerId: string;
  readonly name: string;
  readonly type: WorkerMoment;
  readonly at: number;
}

/** `stopping`: it drains. `stopped`: it left by itself. `died`: its lease expired, or its process was found to be gone. */
export type WorkerMoment = "started" | "heartbeat" | "stopping" | "stopped" | "died";

/** One of the heartbeats is kept in so much time. */
export const HEARTBEAT_KEPT_EVERY_MS = 10 * 60 * 1000;

/** A worker as the store knows it. Once offline it stays offline: a heartbeat never revives a dead row. */
export interface WorkerRow {
  readonly workerId: string;
  readonly namespace: string;
  readonly name: string;
  /** Where it runs, if it has said so. */
  readonly host?: string;
  readonly pid?: number;
  readonly queues: readonly string[];
  readonly workflows: readonly string[];
  /** The names of the tasks that it executes. */
  readonly tasks?: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  /** The program and its options; empty if it has not said. */
  readonly about: WorkerAbout;
  /** With its last heartbeat; null if it has not said. */
  readonly load: WorkerLoad | null;
  /** It was asked to drain (`hf.workers.drain`). */
  readonly drainAsked: boolean;
  readonly status: WorkerStatus;
  readonly leaseMs: number;
  /** Runs that it holds right now. */
  readonly activeRuns: number;
  /** Tasks that it holds right now. */
  readonly activeTasks: number;
  readonly startedAt: number;
  readonly heartbeatAt: number;
  readonly leaseExpiresAt: number;
  /** When it went offline. */
  readonly stoppedAt: number | null;
  /** Whether it went offline because its lease expired, and not of its own accord. */
  readonly died: boolean;
}

/** Three heartbeats are due in a lease: by then one is missing, and has had time to be late. */
const OVERDUE_SHARE = 0.5;

/** Whether its lease has not expired. A dead worker stays online in its row until another one sweeps. */
export function isAlive({ status, leaseExpiresAt }: WorkerRow, now: number): boolean {
  return status !== "offline" && leaseExpiresAt > now;
}

/** Whether a heartbeat is missing: it may be dead, but its lease has not expired yet. */
export function isOverdue({ heartbeatAt, leaseMs }: WorkerRow, now: number): boolean {
  return now - heartbeatAt > leaseMs * OVERDUE_SHARE;
}

/** Whether it offers the workflow version on the queue. */
export function offers(
  { workflows, queues }: WorkerRow,
  run: { readonly workflow: string; readonly version: string; readonly queue: string },
): boolean {
  return workflows.includes(`${run.workflow}@${run.version}`) && queues.includes(run.queue);
}
