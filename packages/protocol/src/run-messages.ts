/** Runs, events, steps and workers, as the public services show them. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { EventView, RunDescription, RunSummary, StepView, WorkerRow } from "holdfast";
import { type Step, StepSchema, type Worker, WorkerSchema } from "../gen/holdfast/v1/worker_pb.js";
import {
  type HistoryEvent,
  HistoryEventSchema,
  type Workflow,
  WorkflowSchema,
} from "../gen/holdfast/v1/workflow_pb.js";
import { toPayload } from "./payloads.ts";
import { toErrorDetail } from "./refusals.ts";
import { STEP_KINDS, STEP_STATUSES, toWorkflowStatus, WORKER_STATUSES } from "./statuses.ts";

const SCHEDULE_ATTRIBUTE = "holdfast.schedule";

/** A run with its payloads, or one of a list without them. */
export function toWorkflow(run: RunSummary | RunDescription): Workflow {
  const described = "input" in run ? run : undefined;
  const { why, parent, attributes, deadlineAt, createdAt } = run;
  const schedule = attributes[SCHEDULE_ATTRIBUTE];
  const error = described ? described.error : why.error;
  return create(WorkflowSchema, {
    namespace: run.namespace,
    runId: run.runId,
    externalId: run.id,
    taskQueue: run.queue,
    workflowType: run.workflow,
    status: toWorkflowStatus(run.status, why.kind === "backoff"),
    version: run.version,
    ...present("input", toPayload(described?.input)),
    ...present("output", toPayload(described?.output)),
    ...present("error", error ? toErrorDetail(error) : undefined),
    attempts: run.startedAt === null ? 0 : 1,
    priority: run.priority,
    timeoutMs: deadlineAt === null ? 0n : BigInt(deadlineAt.getTime() - createdAt.getTime()),
    createdAt: timestampFromDate(createdAt),
    ...dated("startedAt", run.startedAt),
    ...dated("finishedAt", run.endedAt),
    ...dated("wakeUpAt", run.availableAt),
    workerId: run.workerId ?? "",
    parentRunId: parent?.runId ?? "",
    parentStepId: parent?.op ? stepId(parent.runId, parent.op) : "",
    scheduleId: typeof schedule === "string" ? schedule : "",
    paused: why.kind === "paused",
    attributes: Object.fromEntries(Object.entries(attributes).map(([key, value]) => [key, JSON.stringify(value)])),
    waitingFor: [...run.waitingFor],
    continuedAs: run.continuedAs ?? "",
  });
}

export function toHistoryEvent(event: EventView, runId: string): HistoryEvent {
  return create(HistoryEventSchema, {
    seq: BigInt(event.seq),
    type: event.type,
    category: event.category,
    op: event.op ?? "",
    at: timestampFromDate(event.at),
    ...present("value", toPayload(event.value)),
    ...present("error", event.error ? toErrorDetail(event.error) : undefined),
    runId,
  });
}

/** The id of a step: that of its run, a colon, and the id of its op. */
export function stepId(runId: string, op: string): string {
  return `${runId}:${op}`;
}

/** Undefined if it is not the id of a step. */
export function readStepId(id: string): { readonly runId: string; readonly op: string } | undefined {
  const colon = id.indexOf(":");
  return colon <= 0 ? undefined : { runId: id.slice(0, colon), op: id.slice(colon + 1) };
}

export function toStep(run: { readonly namespace: string; readonly runId: string }, step: StepView): Step {
  return create(StepSchema, {
    namespace: run.namespace,
    stepId: stepId(run.runId, step.op),
    runId: run.runId,
    name: step.op.replace(/#\d+$/, ""),
    kind: STEP_KINDS[step.kind],
    status: STEP_STATUSES[step.status],
    attemptNumber: step.attempts,
    ...present("output", toPayload(step.output)),
    ...present("error", step.error ? toErrorDetail(step.error) : undefined),
    ...dated("createdAt", step.startedAt),
    ...dated("startedAt", step.startedAt),
    ...dated("finishedAt", step.endedAt),
    childRunId: step.run?.runId ?? "",
  });
}

export function toWorker(row: WorkerRow): Worker {
  const limit = row.about.options?.["concurrency"];
  return create(WorkerSchema, {
    workerId: row.workerId,
    namespace: row.namespace,
    name: row.name,
    taskQueue: row.queues[0] ?? "",
    taskQueues: [...row.queues],
    status: WORKER_STATUSES[row.status],
    version: row.about.holdfast ?? "",
    workflowTypes: [...new Set(row.workflows.map((named) => named.replace(/@[^@]*$/, "")))],
    taskTypes: [...(row.tasks ?? [])],
    hostname: row.host ?? "",
    pid: row.pid ?? 0,
    queueConcurrencyLimit: typeof limit === "number" ? limit : 0,
    activeWorkflowCount: row.activeRuns,
    activeTaskCount: row.activeTasks,
    registeredAt: timestampFromDate(new Date(row.startedAt)),
    lastHeartbeatAt: timestampFromDate(new Date(row.heartbeatAt)),
    labels: { ...row.labels },
    capabilities: [...row.workflows, ...(row.tasks ?? [])],
  });
}

function dated<K extends string>(field: K, at: Date | null | undefined) {
  return present(field, at ? timestampFromDate(at) : undefined);
}

/** For fields that must be absent, and not undefined. */
function present<K extends string, V>(field: K, value: V | undefined): { [P in K]?: V } {
  return (value === undefined ? {} : { [field]: value }) as { [P in K]?: V };
}
