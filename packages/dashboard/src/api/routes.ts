/** Every call of the API: its path below `api/{ns}/`, what answers it, and the role that it needs. */
import * as batchActs from "../acts/batch-acts.ts";
import * as operatorActs from "../acts/operator-acts.ts";
import * as runActs from "../acts/run-acts.ts";
import * as scheduleActs from "../acts/schedule-acts.ts";
import { audit } from "../reads/audit.ts";
import { batch, batches } from "../reads/batches.ts";
import { comparison } from "../reads/comparison.ts";
import { compensation } from "../reads/compensation.ts";
import { events, payload, runAudit, runExport } from "../reads/events.ts";
import { grid } from "../reads/grid.ts";
import { facets, overview } from "../reads/overview.ts";
import { divergence, parked } from "../reads/parked.ts";
import { queues, queueWaiters } from "../reads/queues.ts";
import { relations } from "../reads/relations.ts";
import { run, runData } from "../reads/run.ts";
import { histogram, newerRuns, runCount, runRows, runs } from "../reads/runs.ts";
import { removeView, savedViews, saveView } from "../reads/saved-views.ts";
import { scheduleCalendar } from "../reads/schedule-calendar.ts";
import { schedule, schedules } from "../reads/schedules.ts";
import type { Read } from "../reads/scope.ts";
import { settings } from "../reads/settings.ts";
import { tasks } from "../reads/tasks.ts";
import { timeline } from "../reads/timeline.ts";
import { workerEvents, workers } from "../reads/workers.ts";
import { workflow, workflows } from "../reads/workflows.ts";
import type { Role } from "./list-messages.ts";

export interface Route {
  readonly method: "GET" | "POST";
  /** Parts that begin with a colon stand for any text. */
  readonly path: string;
  readonly role: Role;
  readonly answer: Read;
  /** What the audit log calls it; nothing for reads. */
  readonly action?: string;
  /** What the body may have; nothing for a GET. */
  readonly fields?: readonly string[];
}

function read(path: string, answer: Read, role: Role = "reader"): Route {
  return { method: "GET", path, role, answer };
}

/** A read whose question does not fit into an address. */
function ask(path: string, answer: Read, fields: readonly string[]): Route {
  return { method: "POST", path, role: "reader", answer, fields };
}

function act(path: string, action: string, answer: Read, fields: readonly string[], role: Role = "writer"): Route {
  return { method: "POST", path, role, answer, action, fields };
}

const REASON = ["reason"];
const MESSAGE = ["name", "payload", "id"];
const START = [
  ...["workflow", "input", "id", "version", "queue", "priority", "key", "timeout", "delay"],
  ...["attributes", "ifRunning", "ifClosed"],
];
const BATCH = ["action", "filter", "all", "runIds", "createdBefore", "id", "reason", "perSecond", "signal"];
const SCHEDULE = [
  ...["workflow", "version", "queue", "input", "cron", "every", "at", "timezone"],
  ...["jitter", "overlap", "paused", "note"],
];
const BACKFILL = ["from", "to", "overlap"];

/** The first that fits answers: names that are fixed stand before those that are not. */
export const ROUTES: readonly Route[] = [
  read("overview", overview),
  read("facets", facets),
  read("views", savedViews),
  read("runs", runs),
  read("runs/count", runCount),
  read("runs/histogram", histogram),
  read("runs/newer", newerRuns),
  read("runs/rows", runRows),
  read("runs/:run", run),
  read("runs/:run/timeline", timeline),
  read("runs/:run/events", events),
  read("runs/:run/payload/:seq", payload),
  read("runs/:run/data", runData),
  read("runs/:run/relations", relations),
  read("runs/:run/compensation", compensation),
  read("runs/:run/audit", runAudit),
  read("runs/:run/export", runExport),
  read("runs/:run/divergence", divergence),
  read("compare", comparison),
  read("grid", grid),
  read("schedules", schedules),
  read("schedules/:id", schedule),
  read("schedules/:id/calendar", scheduleCalendar),
  read("schedules/:id/backfills", scheduleActs.backfills),
  read("queues", queues),
  read("queues/:name/waiting", queueWaiters),
  read("workers", workers),
  read("workers/events", workerEvents),
  read("tasks", tasks),
  read("workflows", workflows),
  read("workflows/:name", workflow),
  read("parked", parked),
  read("audit", audit, "admin"),
  read("settings", settings),
  read("batches", batches),
  read("batches/:id", batch),

  act("start", "StartWorkflow", runActs.start, START),
  act("runs/:run/signal", "SignalWorkflow", runActs.sendSignal, MESSAGE),
  act("runs/:run/update", "UpdateWorkflow", runActs.sendUpdate, MESSAGE),
  ask("runs/:run/query", runActs.ask, MESSAGE),
  act("runs/:run/cancel", "CancelWorkflow", runActs.simpleAct("cancel"), REASON),
  act("runs/:run/terminate", "TerminateWorkflow", runActs.simpleAct("terminate"), REASON),
  act("runs/:run/pause", "PauseWorkflow", runActs.simpleAct("pause"), REASON),
  act("runs/:run/resume", "ResumeWorkflow", runActs.simpleAct("resume"), REASON),
  act("runs/:run/retry", "RetryWorkflow", runActs.simpleAct("retry"), REASON),
  act("runs/:run/fork", "ForkWorkflow", runActs.fork, ["before", "id", "input", "edit", "reason"]),
  ask("batch/count", batchActs.batchCount, ["filter"]),
  act("batch", "Batch", batchActs.batch, BATCH),
  act("batches/:id/pause", "PauseBatch", batchActs.batchAct("pause"), REASON),
  act("batches/:id/resume", "ResumeBatch", batchActs.batchAct("resume"), REASON),
  act("batches/:id/cancel", "CancelBatch", batchActs.batchAct("cancel"), REASON),
  act("schedules/create", "CreateWorkflowSchedule", scheduleActs.createSchedule, ["id", ...SCHEDULE]),
  ask("schedules/preview", scheduleActs.previewSchedule, ["cron", "every", "timezone", "n"]),
  act("schedules/:id/update", "UpdateWorkflowSchedule", scheduleActs.updateSchedule, SCHEDULE),
  act("schedules/:id/pause", "PauseWorkflowSchedule", scheduleActs.pauseSchedule, ["note"]),
  act("schedules/:id/resume", "ResumeWorkflowSchedule", scheduleActs.resumeSchedule, ["note"]),
  act("schedules/:id/trigger", "TriggerWorkflowSchedule", scheduleActs.triggerSchedule, []),
  act("schedules/:id/delete", "DeleteWorkflowSchedule", scheduleActs.deleteSchedule, []),
  act("schedules/:id/backfill", "BackfillWorkflowSchedule", scheduleActs.backfill, BACKFILL),
  ask("schedules/:id/backfill/count", scheduleActs.backfillCount, BACKFILL),
  act("tasks/complete", "CompleteTask", operatorActs.completeTask, ["ref", "result"]),
  act("tasks/fail", "FailTask", operatorActs.failTask, ["ref", "message"]),
  act("tasks/retry", "RetryTask", operatorActs.retryTask, ["ref"]),
  act("views/save", "SaveView", saveView, ["name", "search"]),
  act("views/remove", "RemoveView", removeView, ["name"]),
  act("queues/:name/limits", "SetQueueLimits", operatorActs.setLimits, ["limits", "expected"], "admin"),
  act("workers/:workerId/drain", "DrainWorker", operatorActs.drainWorker, [], "admin"),
  act("workflows/:name/default", "SetDefaultVersion", operatorActs.versionAct("default"), ["version"], "admin"),
  act("workflows/:name/canary", "SetCanary", operatorActs.versionAct("canary"), ["version", "share"], "admin"),
  act(
    "workflows/:name/deprecate",
    "DeprecateVersion",
    operatorActs.versionAct("deprecate"),
    ["version", "deprecated"],
    "admin",
  ),
  act("settings/retention", "SetRetention", operatorActs.setRetention, ["retention"], "admin"),
  act(
    "settings/tokens/create",
    "CreateToken",
    operatorActs.createKey,
    ["name", "role", "namespace", "expiresAt"],
    "admin",
  ),
  act("settings/tokens/:id/revoke", "RevokeToken", operatorActs.revokeKey, [], "admin"),
  act("settings/sessions/:id/revoke", "RevokeSession", operatorActs.revokeKey, [], "admin"),
];

export interface Found {
  readonly route: Route;
  readonly parts: Readonly<Record<string, string>>;
}

export function findRoute(method: string, path: readonly string[]): Found | undefined {
  for (const route of ROUTES) {
    if (route.method !== method) continue;
    const parts = partsOf(route.path.split("/"), path);
    if (parts) return { route, parts };
  }
  return undefined;
}

function partsOf(pattern: readonly string[], path: readonly string[]): Record<string, string> | undefined {
  if (pattern.length !== path.length) return undefined;
  const parts: Record<string, string> = {};
  for (const [index, part] of pattern.entries()) {
    const given = path[index] as string;
    if (part.startsWith(":")) parts[part.slice(1)] = given;
    else if (part !== given) return undefined;
  }
  return parts;
}
