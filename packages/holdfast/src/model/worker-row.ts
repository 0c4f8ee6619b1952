/** The status of a worker. */
export type WorkerStatus = "online" | "draining" | "offline";

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
