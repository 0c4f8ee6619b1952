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
}

function read(path: string, answer: Read): Route {
  return { method: "GET", path, role: "reader", answer };
}

function act(path: string, action: string, answer: Read, role: Role = "writer"): Route {
  return { method: "POST", path, role, answer, action };
}

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
  read("audit", audit),
  read("settings", settings),
  read("batches", batches),
  read("batches/:id", batch),

  act("start", "StartWorkflow", runActs.start),
  act("runs/:run/signal", "SignalWorkflow", runActs.sendSignal),
  act("runs/:run/update", "UpdateWorkflow", runActs.sendUpdate),
  { method: "POST", path: "runs/:run/query", role: "reader", answer: runActs.ask },
  act("runs/:run/cancel", "CancelWorkflow", runActs.simpleAct("cancel")),
  act("runs/:run/terminate", "TerminateWorkflow", runActs.simpleAct("terminate")),
  act("runs/:run/pause", "PauseWorkflow", runActs.simpleAct("pause")),
  act("runs/:run/resume", "ResumeWorkflow", runActs.simpleAct("resume")),
  act("runs/:run/retry", "RetryWorkflow", runActs.simpleAct("retry")),
  act("runs/:run/fork", "ForkWorkflow", runActs.fork),
  { method: "POST", path: "batch/count", role: "reader", answer: batchActs.batchCount },
  act("batch", "Batch", batchActs.batch),
  act("batches/:id/pause", "PauseBatch", batchActs.batchAct("pause")),
  act("batches/:id/resume", "ResumeBatch", batchActs.batchAct("resume")),
  act("batches/:id/cancel", "CancelBatch", batchActs.batchAct("cancel")),
  act("schedules/create", "CreateWorkflowSchedule", scheduleActs.createSchedule),
  { method: "POST", path: "schedules/preview", role: "reader", answer: scheduleActs.previewSchedule },
  act("schedules/:id/update", "UpdateWorkflowSchedule", scheduleActs.updateSchedule),
  act("schedules/:id/pause", "PauseWorkflowSchedule", scheduleActs.pauseSchedule),
  act("schedules/:id/resume", "ResumeWorkflowSchedule", scheduleActs.resumeSchedule),
  act("schedules/:id/trigger", "TriggerWorkflowSchedule", scheduleActs.triggerSchedule),
  act("schedules/:id/delete", "DeleteWorkflowSchedule", scheduleActs.deleteSchedule),
  act("schedules/:id/backfill", "BackfillWorkflowSchedule", scheduleActs.backfill),
  { method: "POST", path: "schedules/:id/backfill/count", role: "reader", answer: scheduleActs.backfillCount },
  act("tasks/complete", "CompleteTask", operatorActs.completeTask),
  act("tasks/fail", "FailTask", operatorActs.failTask),
  act("tasks/retry", "RetryTask", operatorActs.retryTask),
  act("views/save", "SaveView", saveView),
  act("views/remove", "RemoveView", removeView),
  act("queues/:name/limits", "SetQueueLimits", operatorActs.setLimits, "admin"),
  act("workers/:workerId/drain", "DrainWorker", operatorActs.drainWorker, "admin"),
  act("workflows/:name/default", "SetDefaultVersion", operatorActs.versionAct("default"), "admin"),
  act("workflows/:name/canary", "SetCanary", operatorActs.versionAct("canary"), "admin"),
  act("workflows/:name/deprecate", "DeprecateVersion", operatorActs.versionAct("deprecate"), "admin"),
  act("settings/retention", "SetRetention", operatorActs.setRetention, "admin"),
  act("settings/tokens/create", "CreateToken", operatorActs.createKey, "admin"),
  act("settings/tokens/:id/revoke", "RevokeToken", operatorActs.revokeKey, "admin"),
  act("settings/sessions/:id/revoke", "RevokeSession", operatorActs.revokeKey, "admin"),
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
