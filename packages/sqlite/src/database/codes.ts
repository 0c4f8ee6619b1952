import {
  type ClosePolicy,
  type DebtKind,
  EVENT_TYPES,
  type EventType,
  HoldfastError,
  type RunStatus,
  type TaskExpiry,
  type TaskStatus,
  type WorkerStatus,
} from "holdfast/adapter";

/** Status numbers as stored in the file. A number never changes its meaning; closed ones are above CLOSED_FROM. */
const STATUS_CODES: Readonly<Record<RunStatus, number>> = {
  pending: 1,
  running: 2,
  sleeping: 3,
  waiting: 4,
  compensating: 5,
  parked: 6,
  completed: 21,
  failed: 22,
  canceled: 23,
  terminated: 24,
  timed_out: 25,
  continued: 26,
  moved: 27,
};

export const CLOSED_FROM = 20;

const STATUS_NAMES = new Map(Object.entries(STATUS_CODES).map(([name, code]) => [code, name as RunStatus]));

export function statusCode(status: RunStatus): number {
  return STATUS_CODES[status];
}

export function statusName(code: number): RunStatus {
  return known(STATUS_NAMES.get(code), "status", code);
}

export function isClosedCode(code: number): boolean {
  return code > CLOSED_FROM;
}

const WORKER_STATUS_CODES: Readonly<Record<WorkerStatus, number>> = { online: 1, draining: 2, offline: 3 };
const WORKER_STATUS_NAMES = new Map(
  Object.entries(WORKER_STATUS_CODES).map(([name, code]) => [code, name as WorkerStatus]),
);

export const OFFLINE = WORKER_STATUS_CODES.offline;

export function workerStatusCode(status: WorkerStatus): number {
  return WORKER_STATUS_CODES[status];
}

export function workerStatusName(code: number): WorkerStatus {
  return known(WORKER_STATUS_NAMES.get(code), "worker status", code);
}

/** From 3 on, nobody but a person looks for them: see the index holdfast_tasks_kept. */
const TASK_STATUS_CODES: Readonly<Record<TaskStatus, number>> = { due: 1, held: 2, external: 3, dead: 4 };
const TASK_STATUS_NAMES = new Map(Object.entries(TASK_STATUS_CODES).map(([name, code]) => [code, name as TaskStatus]));

export function taskStatusCode(status: TaskStatus): number {
  return TASK_STATUS_CODES[status];
}

export function taskStatusName(code: number): TaskStatus {
  return known(TASK_STATUS_NAMES.get(code), "task status", code);
}

const EXPIRY_CODES: Readonly<Record<TaskExpiry, number>> = {
  timeout: 1,
  start_timeout: 2,
  total_timeout: 3,
  heartbeat: 4,
  cancel: 5,
  crash: 6,
};
const EXPIRY_NAMES = new Map(Object.entries(EXPIRY_CODES).map(([name, code]) => [code, name as TaskExpiry]));

export function expiryCode(expires: TaskExpiry | null): number | null {
  return expires === null ? null : EXPIRY_CODES[expires];
}

export function expiryName(code: number | null): TaskExpiry | null {
  return code === null ? null : known(EXPIRY_NAMES.get(code), "task expiry", code);
}

/** What a run has to do with other runs, as bits of holdfast_runs.ties. A bit that was set may stay when the reason is gone. */
export const TIES = {
  /** Another run has started it: holdfast_lineages. */
  lineage: 1,
  /** Others wait for its end: holdfast_watches. */
  watched: 2,
  /** It has children, or has given some up before their start: holdfast_children. */
  children: 4,
  /** Exactly while it owes something: holdfast_debts. */
  owes: 8,
  /** Ops of other runs have sent it updates: holdfast_updates. */
  asked: 16,
  /** It is a fork of another run: holdfast_forks. */
  forked: 32,
  /** It has requested locks: holdfast_locks. */
  locks: 64,
  /** It waits for a place in its queue, or has one: holdfast_lines, holdfast_places. */
  place: 128,
  /** It has a key: holdfast_run_keys. */
  key: 256,
} as const;

export function hasTie(ties: number | null, tie: number): boolean {
  return ties !== null && (ties & tie) !== 0;
}

const POLICY_CODES: Readonly<Record<ClosePolicy, number>> = { cancel: 1, terminate: 2, abandon: 3 };
const POLICY_NAMES = new Map(Object.entries(POLICY_CODES).map(([name, code]) => [code, name as ClosePolicy]));

export function policyCode(policy: ClosePolicy): number {
  return POLICY_CODES[policy];
}

export function policyName(code: number): ClosePolicy {
  return known(POLICY_NAMES.get(code), "close policy", code);
}

/** Of a child that its parent's policy may reach: when that is. */
export const TO_CLOSE = { withParent: 1, now: 2 } as const;

const DEBT_KIND_CODES: Readonly<Record<DebtKind, number>> = { result: 1, close: 2, reply: 3, lock: 4 };
const DEBT_KIND_NAMES = new Map(Object.entries(DEBT_KIND_CODES).map(([name, code]) => [code, name as DebtKind]));

export function debtKindCode(kind: DebtKind): number {
  return DEBT_KIND_CODES[kind];
}

export function debtKindName(code: number): DebtKind {
  return known(DEBT_KIND_NAMES.get(code), "kind of debt", code);
}

const TYPE_CODES = new Map(EVENT_TYPES.map((type, code) => [type, code]));

export function eventTypeCode(type: EventType): number {
  return known(TYPE_CODES.get(type), "event type", type);
}

export function eventTypeName(code: number): EventType {
  return known(EVENT_TYPES[code], "event type", code);
}

function known<T>(value: T | undefined, what: string, given: unknown): T {
  if (value !== undefined) return value;
  throw new HoldfastError("invariant_broken", `SQLite store: this version does not know the ${what} ${given}`);
}
