/** Workflows that are started at certain times. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  type CreateWorkflowScheduleRequest,
  toPayload,
  toWorkflow,
  type UpdateWorkflowScheduleRequest,
  type WorkflowSchedule,
  WorkflowScheduleSchema,
  type WorkflowScheduleService,
  WorkflowStatus,
} from "@holdfast/protocol";
import type { ScheduleDescription, ScheduleSummary, ScheduleUpdate } from "holdfast";
import type { Random } from "holdfast/adapter";
import { OVERLAP_POLICIES, type OverlapPolicy, uuidV7 } from "holdfast/adapter";
import type { Call, Handlers } from "./call.ts";
import { dateOf, pageInfo, pageOptions, refused, required } from "./pages.ts";
import { receivedPayload, type WorkflowServiceParams } from "./received-payload.ts";

const CATCH_UP_DEFAULT = 100;
const SCHEDULE_ATTRIBUTE = "holdfast.schedule";

export interface ScheduleServiceParams extends WorkflowServiceParams {
  readonly random: Random;
}

export function scheduleService(params: ScheduleServiceParams): Handlers<typeof WorkflowScheduleService> {
  const { clock, random } = params;
  return {
    async createWorkflowSchedule(message, call) {
      const id = message.scheduleId === "" ? uuidV7(clock.now(), random.bytes(16)) : message.scheduleId;
      const input = await receivedPayload(params, call, message.input, "input");
      const handle = await call.client.schedules.create({
        id,
        workflow: required(message.workflowType, "workflow_type"),
        cron: cronOf(required(message.cronExpr, "cron_expr")),
        ...(input === undefined ? {} : { input }),
        ...rulesOf(message),
      });
      return { schedule: await read(call, handle.id) };
    },

    async getWorkflowSchedule({ scheduleId }, call) {
      return { schedule: await read(call, scheduleId) };
    },

    async listWorkflowSchedules({ taskQueue, page }, call) {
      const { schedules, cursor } = await call.client.schedules.list(pageOptions(page));
      const wanted = schedules.filter(({ queue }) => taskQueue === "" || queue === taskQueue);
      return { schedules: wanted.map((one) => summary(call, one)), page: pageInfo(cursor) };
    },

    async updateWorkflowSchedule(message, call) {
      const input = await receivedPayload(params, call, message.input, "input");
      const id = required(message.scheduleId, "schedule_id");
      const handle = call.client.schedules.get(id);
      const { catchUp } = await handle.describe();
      await handle.update({ ...updateOf(message, catchUp), ...(input === undefined ? {} : { input }) });
      return { schedule: await read(call, id) };
    },

    async deleteWorkflowSchedule({ scheduleId }, call) {
      await call.client.schedules.delete(required(scheduleId, "schedule_id"));
      return { deleted: true, message: `Schedule "${scheduleId}" is deleted; the runs that it has started stay.` };
    },

    async triggerWorkflowSchedule({ scheduleId }, call) {
      const { runId } = await call.client.schedules.trigger(required(scheduleId, "schedule_id"));
      return { runId };
    },

    async pauseWorkflowSchedule({ scheduleId, note }, call) {
      const by = call.principal.id;
      await call.client.schedules.pause(required(scheduleId, "schedule_id"), note === "" ? { by } : { by, note });
      return { schedule: await read(call, scheduleId) };
    },

    async resumeWorkflowSchedule({ scheduleId }, call) {
      await call.client.schedules.resume(required(scheduleId, "schedule_id"), { by: call.principal.id });
      return { schedule: await read(call, scheduleId) };
    },

    async listScheduleRuns({ scheduleId, page }, call) {
      const id = required(scheduleId, "schedule_id");
      const { runs, cursor } = await call.client.schedules.runs(id, pageOptions(page));
      const total = page?.includeTotalCount ? await call.client.count(runsOf(id)) : undefined;
      return { runs: runs.map(toWorkflow), page: pageInfo(cursor, total) };
    },
  };
}

async function read(call: Call, id: string): Promise<WorkflowSchedule> {
  const described = await call.client.schedules.get(required(id, "schedule_id")).describe();
  const count = async (status?: "completed" | "failed"): Promise<bigint> =>
    BigInt(await call.client.count(status ? { ...runsOf(id), status } : runsOf(id)));
  const [totalRuns, successfulRuns, failedRuns] = await Promise.all([count(), count("completed"), count("failed")]);
  const input = toPayload(described.input);
  const counts = { totalRuns, successfulRuns, failedRuns };
  return Object.assign(summary(call, described), counts, input ? { input } : {});
}

function runsOf(id: string) {
  return { attributes: { [SCHEDULE_ATTRIBUTE]: id } };
}

const STATUS: Readonly<Record<ScheduleSummary["status"], WorkflowStatus>> = {
  scheduled: WorkflowStatus.SCHEDULED,
  paused: WorkflowStatus.PAUSED,
  ended: WorkflowStatus.COMPLETED,
};

/** Without its input and the numbers of its runs: they are read and counted for one schedule, not for a list. */
function summary({ namespace }: Call, schedule: ScheduleSummary | ScheduleDescription): WorkflowSchedule {
  const { spec, catchUp, createdAt, updatedAt, nextAt, lastAt, paused } = schedule;
  const cron = spec.cron === undefined ? [] : [spec.cron].flat();
  return create(WorkflowScheduleSchema, {
    namespace,
    scheduleId: schedule.id,
    taskQueue: schedule.queue,
    workflowType: schedule.workflow,
    cronExpr: cron.join("; "),
    version: schedule.version ?? "",
    enabled: !paused,
    status: STATUS[schedule.status],
    timezone: spec.timezone ?? "UTC",
    overlap: schedule.overlap,
    createdAt: timestampFromDate(createdAt),
    updatedAt: timestampFromDate(updatedAt),
    maxCatchup: catchUp.max,
    ...(nextAt ? { nextFireAt: timestampFromDate(nextAt) } : {}),
    ...(lastAt ? { lastFiredAt: timestampFromDate(lastAt) } : {}),
  });
}

function rulesOf(message: CreateWorkflowScheduleRequest) {
  const { enabled = true, maxCatchup = CATCH_UP_DEFAULT, version, timezone, overlap, taskQueue } = message;
  return {
    paused: !enabled,
    catchUp: { max: maxCatchup },
    ...(version === "" ? {} : { version }),
    ...(timezone === "" ? {} : { timezone }),
    ...(overlap === "" ? {} : { overlap: overlapOf(overlap) }),
    ...(taskQueue === "" ? {} : { options: { queue: taskQueue } }),
  };
}

/** `window`: what the schedule has, and the request does not mention. */
function updateOf(
  message: UpdateWorkflowScheduleRequest,
  { windowMs }: { readonly windowMs: number | null },
): ScheduleUpdate {
  const { taskQueue, workflowType, cronExpr, enabled, maxCatchup, version, timezone, overlap } = message;
  const from = dateOf(message.nextFireAt, "next_fire_at");
  const window = windowMs === null ? {} : { window: { milliseconds: windowMs } };
  return {
    ...(workflowType === undefined ? {} : { workflow: workflowType }),
    ...(cronExpr === undefined ? {} : { cron: cronOf(cronExpr) }),
    ...(enabled === undefined ? {} : { paused: !enabled }),
    ...(maxCatchup === undefined ? {} : { catchUp: { max: maxCatchup, ...window } }),
    ...(version === undefined ? {} : { version: version === "" ? undefined : version }),
    ...(timezone === undefined ? {} : { timezone }),
    ...(overlap === undefined ? {} : { overlap: overlapOf(overlap) }),
    ...(taskQueue === undefined ? {} : { options: { queue: taskQueue } }),
    ...(from === undefined ? {} : { from }),
  };
}

function cronOf(text: string): string[] {
  return text
    .split(";")
    .map((one) => one.trim())
    .filter((one) => one !== "");
}

function overlapOf(text: string): OverlapPolicy {
  const policy = OVERLAP_POLICIES.find((one) => one === text);
  if (policy) return policy;
  throw refused("overlap", `is "${text.slice(0, 40)}"; it must be one of ${OVERLAP_POLICIES.join(", ")}`);
}
