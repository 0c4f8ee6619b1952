/** The first schema, one file per subject, in the order in which they build on each other. */
import { TABLES } from "./0001-initial/10-tables.ts";
import { CONVERSATIONS } from "./0001-initial/15-conversations.ts";
import { LIMIT_TABLES } from "./0001-initial/16-limits.ts";
import { HINTS } from "./0001-initial/20-hints.ts";
import { LANES } from "./0001-initial/30-lanes.ts";
import { APPEND } from "./0001-initial/35-append.ts";
import { COMMIT } from "./0001-initial/40-commit.ts";
import { TASKS_COMMIT } from "./0001-initial/45-tasks-commit.ts";
import { DEBTS } from "./0001-initial/47-debts.ts";
import { LOCKS } from "./0001-initial/48-locks.ts";
import { LIMITS } from "./0001-initial/49-limits.ts";
import { CLAIM } from "./0001-initial/50-claim.ts";
import { TASKS_CLAIM } from "./0001-initial/55-tasks-claim.ts";
import { START } from "./0001-initial/60-start.ts";
import { START_WITH_OTHERS } from "./0001-initial/65-start-with-others.ts";
import { DEBOUNCE } from "./0001-initial/66-debounce.ts";
import { INBOX } from "./0001-initial/70-inbox.ts";
import { REPLIES } from "./0001-initial/71-replies.ts";
import { TASKS_FINISH } from "./0001-initial/72-tasks-finish.ts";
import { SEGMENTS } from "./0001-initial/73-segments.ts";
import { TRANSACT } from "./0001-initial/75-transact.ts";
import { ASKS } from "./0001-initial/78-asks.ts";
import { SCHEDULES } from "./0001-initial/79-schedules.ts";
import { OPERATIONS } from "./0001-initial/80-operations.ts";
import { PARKING } from "./0001-initial/81-parking.ts";
import { RETENTION } from "./0001-initial/82-retention.ts";
import { PAYLOADS } from "./0001-initial/83-payloads.ts";
import { FORKS } from "./0001-initial/84-forks.ts";
import { WORKERS } from "./0001-initial/85-workers.ts";
import { TASKS_REPORTS } from "./0001-initial/86-tasks-reports.ts";
import { QUEUES } from "./0001-initial/87-queues.ts";
import { LISTS } from "./0001-initial/88-lists.ts";
import { ACCESS } from "./0001-initial/89-access.ts";
import { TRANSFERS } from "./0001-initial/89-transfers.ts";
import { VIEWS } from "./0001-initial/90-views.ts";
import { PRIVILEGES } from "./0001-initial/99-privileges.ts";

export const INITIAL = [
  TABLES,
  CONVERSATIONS,
  LIMIT_TABLES,
  HINTS,
  LANES,
  APPEND,
  COMMIT,
  TASKS_COMMIT,
  DEBTS,
  LOCKS,
  LIMITS,
  CLAIM,
  TASKS_CLAIM,
  START,
  START_WITH_OTHERS,
  DEBOUNCE,
  INBOX,
  REPLIES,
  TASKS_FINISH,
  SEGMENTS,
  TRANSACT,
  ASKS,
  SCHEDULES,
  OPERATIONS,
  PARKING,
  RETENTION,
  PAYLOADS,
  FORKS,
  WORKERS,
  TASKS_REPORTS,
  QUEUES,
  LISTS,
  TRANSFERS,
  ACCESS,
  VIEWS,
  PRIVILEGES,
].join("");
