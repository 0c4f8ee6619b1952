/** Memory stores that are broken in one way each: the suites must notice every one of them. */
import { APPENDED_RUNS } from "./appended-runs.ts";
import { CHILDREN_OF_RUNS } from "./children-of-runs.ts";
import { CLOSED_RUNS } from "./closed-runs.ts";
import { DEBTS_OF_RUNS } from "./debts-of-runs.ts";
import { DUE_RUNS } from "./due-runs.ts";
import { FOREIGN_RUNS } from "./foreign-runs.ts";
import { FORKED_RUNS } from "./forked-runs.ts";
import { HELD_RUNS } from "./held-runs.ts";
import { LIVES_OF_WORKERS } from "./lives-of-workers.ts";
import { LOCKS_OF_RUNS } from "./locks-of-runs.ts";
import { MESSAGES_BETWEEN_RUNS } from "./messages-between-runs.ts";
import { MOVED_RUNS } from "./moved-runs.ts";
import { OLD_RUNS } from "./old-runs.ts";
import { PACKED_RUNS } from "./packed-runs.ts";
import { PARKED_RUNS } from "./parked-runs.ts";
import { PAUSED_RUNS } from "./paused-runs.ts";
import { PLACES_IN_QUEUES } from "./places-in-queues.ts";
import type { Sabotage } from "./saboteur.ts";
import { SCHEDULES } from "./schedules.ts";
import { STORED_VALUES } from "./stored-values.ts";
import { TAKEN_RUNS } from "./taken-runs.ts";
import { TASK_ATTEMPTS } from "./task-attempts.ts";
import { TASK_TIMES } from "./task-times.ts";
import { TASKS_OF_RUNS } from "./tasks-of-runs.ts";
import { TIMES_OF_RUNS } from "./times-of-runs.ts";
import { TRANSACTION_STEPS } from "./transaction-steps.ts";
import { WATCHED_RUNS } from "./watched-runs.ts";
import { WORKERS_AND_VIEWS } from "./workers-and-views.ts";

export const SABOTAGES: readonly Sabotage[] = [
  ...HELD_RUNS,
  ...APPENDED_RUNS,
  ...CLOSED_RUNS,
  ...DUE_RUNS,
  ...WORKERS_AND_VIEWS,
  ...OLD_RUNS,
  ...PACKED_RUNS,
  ...PARKED_RUNS,
  ...PAUSED_RUNS,
  ...FORKED_RUNS,
  ...TIMES_OF_RUNS,
  ...TRANSACTION_STEPS,
  ...FOREIGN_RUNS,
  ...TAKEN_RUNS,
  ...TASKS_OF_RUNS,
  ...TASK_ATTEMPTS,
  ...TASK_TIMES,
  ...CHILDREN_OF_RUNS,
  ...DEBTS_OF_RUNS,
  ...MESSAGES_BETWEEN_RUNS,
  ...LOCKS_OF_RUNS,
  ...PLACES_IN_QUEUES,
  ...STORED_VALUES,
  ...SCHEDULES,
  ...LIVES_OF_WORKERS,
  ...WATCHED_RUNS,
  ...MOVED_RUNS,
];
