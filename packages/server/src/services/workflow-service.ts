/** Runs: started and looked at. What changes or asks them is in workflow-actions.ts. */
import {
  StartWorkflowRequest_IfClosed as IfClosed,
  StartWorkflowRequest_IfRunning as IfRunning,
  type StartWorkflowRequest,
  toWorkflow,
  type WorkflowService,
} from "@holdfast/protocol";
import type { StartOptions } from "holdfast";
import { isHoldfastError } from "holdfast/adapter";
import type { Handlers } from "./call.ts";
import { patience, pollMs } from "./long-poll.ts";
import { describeOf, handleOf, isOpen } from "./named-run.ts";
import { attributesOf, dateOf, millisecondsOf, pageInfo, pageOptions, refused, required } from "./pages.ts";
import { receivedPayload, type WorkflowServiceParams } from "./received-payload.ts";
import { filterOf } from "./run-filter.ts";
import { workflowActions } from "./workflow-actions.ts";
import { eventHandlers } from "./workflow-events.ts";

/** What waiting for a run ends with, if not with its result. */
const ENDS = ["run_failed", "run_canceled", "run_terminated", "run_timed_out", "run_parked", "result_timeout"];

const IF_RUNNING: ReadonlyMap<IfRunning, NonNullable<StartOptions["ifRunning"]>> = new Map([
  [IfRunning.UNSPECIFIED, "return"],
  [IfRunning.RETURN, "return"],
  [IfRunning.FAIL, "fail"],
  [IfRunning.REPLACE, "replace"],
]);
const IF_CLOSED: ReadonlyMap<IfClosed, NonNullable<StartOptions["ifClosed"]>> = new Map([
  [IfClosed.UNSPECIFIED, "start"],
  [IfClosed.RETURN, "return"],
  [IfClosed.START, "start"],
  [IfClosed.FAIL, "fail"],
]);
const TIMEOUT_MS_MAX = 10 * 365 * 24 * 60 * 60 * 1000;

export function workflowService(params: WorkflowServiceParams): Handlers<typeof WorkflowService> {
  const { clock } = params;
  return {
    ...workflowActions(params),
    ...eventHandlers(clock),

    async startWorkflow(message, call) {
      const handle = await call.client.start(
        required(message.workflowType, "workflow_type"),
        await receivedPayload(params, call, message.input, "input"),
        startOptions(message),
      );
      return { runId: handle.runId, alreadyExists: !handle.created, externalId: handle.id };
    },

    async getWorkflow({ runId }, call) {
      return { workflow: toWorkflow(await describeOf(call, { runId })) };
    },

    async getWorkflowByExternalId({ externalId }, call) {
      return { workflow: toWorkflow(await describeOf(call, { runId: "", externalId })) };
    },

    async listWorkflows(message, call) {
      const filter = filterOf(message);
      if (filter === undefined) return { workflows: [], page: pageInfo(null, 0) };
      const { runs, cursor } = await call.client.list({ ...filter, ...pageOptions(message.page) });
      const total = message.page?.includeTotalCount ? await call.client.count(filter) : undefined;
      return { workflows: runs.map(toWorkflow), page: pageInfo(cursor, total) };
    },

    async awaitWorkflow(message, call) {
      const handle = handleOf(call, message);
      const ms = pollMs(message.waitMs, "wait_ms");
      const wait = patience(clock, ms, call);
      try {
        // With a limit of its own: whoever waits for a run must not go on when its caller has gone.
        const ended = handle.result({ onParked: "wait", timeout: { milliseconds: Math.max(1, ms) } });
        await Promise.race([ended.catch(onlyItsEnd), wait.over]);
      } finally {
        wait.end();
      }
      const run = await handle.describe();
      return { finished: !isOpen(run.status), workflow: toWorkflow(run) };
    },
  };
}

/** How a run ended is in its description. What kept anybody from learning that is not. */
function onlyItsEnd(error: unknown): void {
  if (isHoldfastError(error) && ENDS.includes(error.code)) return;
  throw error;
}

function startOptions(message: StartWorkflowRequest) {
  const { taskQueue, version, priority, timeoutMs, startAt, attributes, key, retryPolicy } = message;
  if (retryPolicy !== undefined)
    throw refused("retry_policy", "belongs to the definition of the workflow: set it where the workflow is defined");
  const timeout = millisecondsOf(timeoutMs, "timeout_ms", TIMEOUT_MS_MAX);
  const at = dateOf(startAt, "start_at");
  return {
    ...idOptions(message),
    ...(taskQueue === "" ? {} : { queue: taskQueue }),
    ...(version === "" ? {} : { version }),
    ...(priority === 0 ? {} : { priority }),
    ...(timeout === 0 ? {} : { timeout: { milliseconds: timeout } }),
    ...(at === undefined ? {} : { startAt: at }),
    ...(Object.keys(attributes).length === 0 ? {} : { attributes: attributesOf(attributes) }),
    ...(key === "" ? {} : { key }),
  };
}

/** What a start does about earlier runs of its id. */
function idOptions({
  externalId,
  ifRunning,
  ifClosed,
}: StartWorkflowRequest): Pick<StartOptions, "id" | "ifRunning" | "ifClosed"> {
  const running = IF_RUNNING.get(ifRunning);
  if (running === undefined) throw refused("if_running", "is not one of its values");
  const closed = IF_CLOSED.get(ifClosed);
  if (closed === undefined) throw refused("if_closed", "is not one of its values");
  if (externalId !== "") return { id: externalId, ifRunning: running, ifClosed: closed };
  // Every start without an id is a new run: whoever expects anything else must learn that.
  if (ifRunning !== IfRunning.UNSPECIFIED) throw refused("if_running", "needs an external_id");
  if (ifClosed !== IfClosed.UNSPECIFIED) throw refused("if_closed", "needs an external_id");
  return {};
}
