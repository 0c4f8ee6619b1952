import type { ErrorRecord } from "../model/error-record.ts";

export interface RegisterWorkerParams {
  readonly workerId: string;
  readonly namespace: string;
  readonly name: string;
  /** The machine and the process, for those who come after it. */
  readonly host?: string;
  readonly pid?: number;
  readonly queues: readonly string[];
  readonly workflows: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly leaseMs: number;
}

export interface RegisterWorkerResult {
  readonly live: boolean;
  readonly now: number;
  /** Other live workers of the same namespace, host and name; left out for a worker that does not say its host. */
  readonly namesakes?: readonly { readonly workerId: string; readonly pid: number }[];
}

export interface HeartbeatParams {
  readonly workerId: string;
  readonly leaseMs: number;
  readonly draining: boolean;
}

export interface HeartbeatResult {
  readonly live: boolean;
  readonly now: number;
  readonly heldCount: number;
  /** Held runs with messages that are not consumed: the safety net for lost `inbox` hints. */
  readonly behind: readonly string[];
}

export interface HeldRun {
  readonly runId: string;
  readonly epoch: number;
}

export interface ReleaseRunsParams {
  readonly workerId: string;
  readonly runs: readonly HeldRun[];
}

export interface SweepParams {
  readonly suspectAfter: number;
  readonly parkAfter: number;
  readonly parkError: ErrorRecord;
  readonly timeoutGraceMs: number;
  readonly timeoutError: ErrorRecord;
  readonly limit: number;
  /** Workers whose process is known to be gone: they, and no others, are declared dead, whatever is left of their lease. */
  readonly gone?: readonly string[];
}

export interface SweepResult {
  readonly now: number;
  readonly dead: number;
  readonly returned: number;
  readonly parked: number;
  readonly timedOut: number;
  /** The limit was reached: sweep again at once. */
  readonly more: boolean;
  /** When the next lease ends, if nobody renews it. */
  readonly nextExpiryAt: number | null;
}
