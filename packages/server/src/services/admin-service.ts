/** Workers, steps and queues as operators see them, and the server itself. Keys and audit are in access-service.ts. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  type AdminService,
  readStepId,
  ServingStatus,
  toStep,
  toWorker,
  WORKER_STATUSES,
  WORKFLOW_STATUSES,
  WorkerStatus,
  WorkflowStatus,
} from "@holdfast/protocol";
import { type Clock, HoldfastError, RUN_STATUSES, type RunStatus } from "holdfast/adapter";
import { oldestClient } from "../store-service/client-version.ts";
import { type AccessServiceParams, accessHandlers } from "./access-service.ts";
import type { Call, Handlers } from "./call.ts";
import { handleOf, isOpen } from "./named-run.ts";
import { pageOf, required } from "./pages.ts";

/** The names of the protocol; it only grows. */
export const API_VERSION = "holdfast.v1";
const FEATURES = ["payload-passthrough", "tasks", "long-poll", "webhooks", "json", "grpc-web", "reflection", "health"];
/** Counting further than this would hold up others: the answer says so much, and not more. */
const COUNT_MAX = 1_000_000;

export interface AdminServiceParams extends AccessServiceParams {
  readonly clock: Clock;
  readonly version: string;
  /** Empty if the server can do its work; else why not. */
  readonly unready: () => Promise<string>;
  /** Features of services that are mounted. */
  readonly features: readonly string[];
}

export function adminService(params: AdminServiceParams): Handlers<typeof AdminService> {
  return {
    ...accessHandlers(params),
    ...workerHandlers(),
    ...countingHandlers(),

    async getStep({ stepId }, call) {
      const named = readStepId(stepId);
      if (!named) throw stepNotFound(stepId);
      const { runId, op } = named;
      const steps = await handleOf(call, { runId }).steps();
      const step = steps.find((one) => one.op === op);
      if (!step) throw stepNotFound(stepId);
      return { step: toStep({ namespace: call.namespace, runId }, step) };
    },

    async listSteps({ runId, stepName, page }, call) {
      const steps = await handleOf(call, { runId }).steps();
      const all = steps.map((step) => toStep({ namespace: call.namespace, runId }, step));
      const { items, info } = pageOf(stepName === "" ? all : all.filter(({ name }) => name === stepName), page);
      return { steps: [...items], page: info };
    },

    async healthCheck() {
      const why = await params.unready();
      return {
        status: why === "" ? ServingStatus.SERVING : ServingStatus.NOT_SERVING,
        message: why,
        timestamp: timestampFromDate(new Date(params.clock.now())),
      };
    },

    async getServerInfo() {
      const { version, features } = params;
      const supportedFeatures = [...FEATURES, ...features];
      return { version, apiVersion: API_VERSION, supportedFeatures, minSdkVersion: oldestClient(version) };
    },
  };
}

type Workers = Pick<Handlers<typeof AdminService>, "listWorkers" | "getWorker" | "drainWorker">;

function workerHandlers(): Workers {
  return {
    async listWorkers({ taskQueue, statusFilter, page }, call) {
      const rows = await call.client.workers.list();
      const wanted = rows.filter(
        (row) =>
          (taskQueue === "" || row.queues.includes(taskQueue)) &&
          (statusFilter === WorkerStatus.UNSPECIFIED || WORKER_STATUSES[row.status] === statusFilter),
      );
      const { items, info } = pageOf(wanted, page);
      return { workers: items.map(toWorker), page: info };
    },

    async getWorker({ workerId }, call) {
      const row = await call.client.workers.get(required(workerId, "worker_id"));
      if (row) return { worker: toWorker(row) };
      const message = `There is no worker "${workerId.slice(0, 100)}" in namespace "${call.namespace}".`;
      throw new HoldfastError("worker_not_found", message, { data: { workerId: workerId.slice(0, 100) } });
    },

    async drainWorker({ workerId }, call) {
      await call.client.workers.drain(required(workerId, "worker_id"));
      return { success: true, message: `Worker ${workerId} drains with its next heartbeat.` };
    },
  };
}

type Counting = Pick<Handlers<typeof AdminService>, "getStats" | "getQueueDepth" | "listWorkflowTypes">;

function countingHandlers(): Counting {
  return {
    async getStats(_message, call) {
      const { client } = call;
      const counts = await Promise.all(RUN_STATUSES.map((status) => count(call, { status })));
      const of = (status: RunStatus): bigint => counts[RUN_STATUSES.indexOf(status)] as bigint;
      const [workers, schedules, types] = await Promise.all([client.workers.list(), allSchedules(call), typesOf(call)]);
      return {
        totalWorkflows: counts.reduce((sum, one) => sum + one, 0n),
        pendingWorkflows: of("pending"),
        runningWorkflows: of("running"),
        completedWorkflows: of("completed"),
        failedWorkflows: of("failed"),
        totalWorkers: BigInt(workers.length),
        onlineWorkers: BigInt(workers.filter(({ status }) => status === "online").length),
        totalSchedules: BigInt(schedules.length),
        enabledSchedules: BigInt(schedules.filter(({ paused }) => !paused).length),
        workflowsByStatus: Object.fromEntries(
          RUN_STATUSES.map((status) => [WorkflowStatus[WORKFLOW_STATUSES[status]], of(status)]),
        ),
        workflowsByType: Object.fromEntries(
          await Promise.all(types.map(async (workflow) => [workflow, await count(call, { workflow })] as const)),
        ),
      };
    },

    async getQueueDepth({ taskQueue }, call) {
      const own = taskQueue === "" ? {} : { queue: taskQueue };
      const [pendingCount, runningCount, sleepingCount] = await Promise.all([
        count(call, { status: "pending", ...own }),
        count(call, { status: "running", ...own }),
        count(call, { status: "sleeping", ...own }),
      ]);
      const queues = (await call.client.queues.list()).filter(({ name }) => taskQueue === "" || name === taskQueue);
      const depths = await Promise.all(
        queues.map(async ({ name }) => [name, await count(call, { status: "pending", queue: name })] as const),
      );
      return { pendingCount, runningCount, sleepingCount, depthByQueue: Object.fromEntries(depths) };
    },

    async listWorkflowTypes({ page }, call) {
      const { items, info } = pageOf(await typesOf(call), page);
      const workers = await call.client.workers.list();
      const open = RUN_STATUSES.filter(isOpen);
      const workflowTypes = await Promise.all(
        items.map(async (workflowType) => ({
          workflowType,
          totalRuns: await count(call, { workflow: workflowType }),
          activeRuns: await count(call, { workflow: workflowType, status: open }),
          taskQueues: [
            ...new Set(
              workers
                .filter(({ workflows }) => workflows.some((named) => named.startsWith(`${workflowType}@`)))
                .flatMap(({ queues }) => queues),
            ),
          ],
        })),
      );
      return { workflowTypes, page: info };
    },
  };
}

async function count({ client }: Call, filter: Parameters<Call["client"]["count"]>[0]): Promise<bigint> {
  return BigInt(await client.count({ ...filter, atMost: COUNT_MAX }));
}

/** The workflows that workers have registered. */
async function typesOf({ client }: Call): Promise<string[]> {
  const versions = await client.versions.list();
  return [...new Set(versions.map(({ workflow }) => workflow))].sort();
}

async function allSchedules({ client }: Call) {
  const first = await client.schedules.list({ limit: 1_000 });
  const all = [...first.schedules];
  for (let cursor = first.cursor; cursor !== null; ) {
    const next = await client.schedules.list({ limit: 1_000, cursor });
    all.push(...next.schedules);
    cursor = next.cursor;
  }
  return all;
}

function stepNotFound(stepId: string): HoldfastError {
  const message = `There is no step "${stepId.slice(0, 200)}". Its id is that of its run, a colon, and that of its op.`;
  return new HoldfastError("run_not_found", message, { data: { stepId: stepId.slice(0, 200) } });
}
