/** Where a worker stands. */
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
  readonly labels: Readonly<Record<string, string>>;
  readonly status: WorkerStatus;
  readonly leaseMs: number;
  /** Runs that it holds right now. */
  readonly activeRuns: number;
  readonly startedAt: number;
  readonly heartbeatAt: number;
  readonly leaseExpiresAt: number;
  /** When it went offline. */
  readonly stoppedAt: number | null;
  /** Whether it went offline because its lease ran out, and not of its own accord. */
  readonly died: boolean;
}
