/** The statuses of runs, workers and steps at the public services: one table each. */
import type { RunStatus, WorkerStatus as WorkerState } from "holdfast/adapter";
import { StepKind, StepStatus, WorkerStatus } from "../gen/holdfast/v1/worker_pb.js";
import { WorkflowStatus } from "../gen/holdfast/v1/workflow_pb.js";

export const WORKFLOW_STATUSES: Readonly<Record<RunStatus, WorkflowStatus>> = {
  pending: WorkflowStatus.PENDING,
  running: WorkflowStatus.RUNNING,
  sleeping: WorkflowStatus.SLEEPING,
  waiting: WorkflowStatus.WAITING,
  compensating: WorkflowStatus.COMPENSATING,
  parked: WorkflowStatus.PARKED,
  completed: WorkflowStatus.COMPLETED,
  failed: WorkflowStatus.FAILED,
  canceled: WorkflowStatus.CANCELLED,
  terminated: WorkflowStatus.TERMINATED,
  timed_out: WorkflowStatus.TIMED_OUT,
  continued: WorkflowStatus.CONTINUED,
  moved: WorkflowStatus.MOVED,
};

const RUN_STATUS = new Map(Object.entries(WORKFLOW_STATUSES).map(([ours, theirs]) => [theirs, ours as RunStatus]));

/** A run that waits for its next attempt is pending here, and sleeping inside. */
export function toWorkflowStatus(status: RunStatus, retrying = false): WorkflowStatus {
  return retrying && status === "sleeping" ? WorkflowStatus.PENDING : WORKFLOW_STATUSES[status];
}

/** The status to filter runs by; null if no run has it. */
export function fromWorkflowStatus(status: WorkflowStatus): RunStatus | null | undefined {
  return status === WorkflowStatus.UNSPECIFIED ? undefined : (RUN_STATUS.get(status) ?? null);
}

export const WORKER_STATUSES: Readonly<Record<WorkerState, WorkerStatus>> = {
  online: WorkerStatus.ONLINE,
  draining: WorkerStatus.DRAINING,
  offline: WorkerStatus.OFFLINE,
};

export const STEP_STATUSES = {
  running: StepStatus.RUNNING,
  retrying: StepStatus.PENDING,
  waiting: StepStatus.PENDING,
  completed: StepStatus.COMPLETED,
  failed: StepStatus.FAILED,
  canceled: StepStatus.CANCELLED,
} as const;

export const STEP_KINDS = {
  step: StepKind.FUNCTION,
  timer: StepKind.SLEEP,
  child: StepKind.CHILD_WORKFLOW,
  task: StepKind.TASK,
  signal: StepKind.SIGNAL,
  side_effect: StepKind.OTHER,
  message: StepKind.OTHER,
  update: StepKind.OTHER,
  condition: StepKind.OTHER,
  lock: StepKind.OTHER,
} as const;
