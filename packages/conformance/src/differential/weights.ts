/** How often each kind is chosen, relative to the others. */
const WEIGHTS = {
  start: 14,
  claim: 16,
  commit: 28,
  deliver: 12,
  repeat: 10,
  register: 5,
  sweep: 3,
  crash: 7,
  heartbeat: 4,
  release: 4,
  restart: 3,
  stop: 1,
  terminate: 2,
  resume: 4,
  pause: 4,
  takeUp: 3,
  reopen: 3,
  fork: 4,
  purge: 3,
  version: 3,
  list: 4,
  read: 3,
} as const;

/** The same for sequences in which most calls are about tasks; in the others none is. */
const TASK_WEIGHTS = {
  ...WEIGHTS,
  start: 10,
  claim: 5,
  commit: 10,
  deliver: 3,
  register: 3,
  crash: 2,
  release: 1,
  resume: 2,
  pause: 1,
  takeUp: 1,
  reopen: 2,
  purge: 1,
  list: 1,
  version: 1,
  commitTasks: 16,
  claimTasks: 22,
  finishTasks: 26,
  expireTask: 10,
  beatTasks: 6,
  cancelTasks: 5,
  lookAtTasks: 6,
};

/** The same for sequences about children, watchers, updates and questions. */
const TALK_WEIGHTS = {
  ...WEIGHTS,
  start: 2,
  claim: 12,
  commit: 0,
  deliver: 2,
  register: 2,
  heartbeat: 1,
  crash: 2,
  sweep: 4,
  release: 1,
  resume: 2,
  pause: 1,
  takeUp: 1,
  terminate: 6,
  reopen: 8,
  purge: 4,
  list: 0,
  read: 1,
  version: 0,
  commitTalks: 36,
  startTalks: 30,
  deliverTalks: 9,
  tell: 6,
  pay: 10,
  watch: 8,
  permit: 3,
  ask: 6,
  lookAtTalks: 5,
  pass: 14,
};

/** The same for sequences about schedules, their runs and the leader. */
const SCHEDULE_WEIGHTS = {
  ...WEIGHTS,
  start: 4,
  deliver: 2,
  takeUp: 1,
  pause: 1,
  fork: 1,
  list: 1,
  putSchedules: 50,
  lookAtSchedules: 14,
  removeSchedule: 3,
  lead: 8,
};

/** The same for sequences about queues with limits, for runs and for tasks. */
const LIMIT_WEIGHTS = {
  ...WEIGHTS,
  start: 26,
  claim: 30,
  commit: 26,
  deliver: 6,
  register: 3,
  crash: 3,
  terminate: 4,
  version: 0,
  list: 1,
  read: 0,
  setQueue: 9,
  lookAtQueues: 4,
  commitTasks: 14,
  claimTasks: 18,
  finishTasks: 14,
  expireTask: 3,
  cancelTasks: 3,
};

/** What a sequence is to test. */
export type Subject = "runs" | "tasks" | "conversations" | "schedules" | "limits";

export const WEIGHTS_OF: Readonly<Record<Subject, Readonly<Record<string, number>>>> = {
  runs: WEIGHTS,
  tasks: TASK_WEIGHTS,
  conversations: TALK_WEIGHTS,
  schedules: SCHEDULE_WEIGHTS,
  limits: LIMIT_WEIGHTS,
};

export type OperationKind =
  | keyof typeof TASK_WEIGHTS
  | keyof typeof TALK_WEIGHTS
  | keyof typeof SCHEDULE_WEIGHTS
  | keyof typeof LIMIT_WEIGHTS;
