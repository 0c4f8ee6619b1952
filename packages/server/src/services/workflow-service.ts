/** Runs: started and looked at. What changes or asks them is in workflow-actions.ts. */
import { create } from "@bufbuild/protobuf";
import {
  fromPayload,
  fromWorkflowStatus,
  isEncrypted,
  type ListWorkflowsRequest,
  type Payload,
  type StartWorkflowRequest,
  toHistoryEvent,
  toWorkflow,
  WatchWorkflowResponseSchema,
  type WorkflowService,
} from "@holdfast/protocol";
import type { ListFilter } from "holdfast";
import { type Clock, HoldfastError, isHoldfastError } from "holdfast/adapter";
import type { NamespaceRules } from "../access/namespace-rules.ts";
import type { RateLimits } from "../access/rate-limits.ts";
import type { Call, Handlers } from "./call.ts";
import { patience, pollMs } from "./long-poll.ts";
import { describeOf, handleOf, isOpen, runName } from "./named-run.ts";
import { attributesOf, dateOf, millisecondsOf, pageInfo, pageOptions, refused, required } from "./pages.ts";
import { workflowActions } from "./workflow-actions.ts";

const HISTORY_LIMIT_DEFAULT = 100;
const HISTORY_LIMIT_MAX = 1_000;
const TIMEOUT_MS_MAX = 10 * 365 * 24 * 60 * 60 * 1000;
/** Streams that say nothing are closed by proxies. */
const KEEPALIVE_MS = 15_000;

export interface WorkflowServiceParams {
  readonly clock: Clock;
  readonly namespaces: NamespaceRules;
  readonly limits: RateLimits;
}

export function workflowService(params: WorkflowServiceParams): Handlers<typeof WorkflowService> {
  const { clock } = params;
  return {
    ...workflowActions(params),

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
      const wait = patience(clock, pollMs(message.waitMs, "wait_ms"), call);
      try {
        // A run that has failed or is parked rejects: its description says why.
        await Promise.race([handle.result({ onParked: "wait" }).catch(onlyItsEnd), wait.over]);
      } finally {
        wait.end();
      }
      const run = await handle.describe();
      return { finished: !isOpen(run.status), workflow: toWorkflow(run) };
    },

    async getWorkflowHistory(message, call) {
      const { limit = HISTORY_LIMIT_DEFAULT } = message.limit === 0 ? {} : message;
      if (limit < 0 || limit > HISTORY_LIMIT_MAX) throw refused("limit", `is ${limit}; at most ${HISTORY_LIMIT_MAX}`);
      const from = millisecondsOf(message.fromSeq, "from_seq", Number.MAX_SAFE_INTEGER);
      const handle = handleOf(call, message);
      const { runId } = await handle.describe();
      const events = await handle.history({ from, limit });
      return { events: events.map((event) => toHistoryEvent(event, runId)), nextSeq: BigInt(events.next ?? 0) };
    },

    async *watchWorkflow(message, call) {
      const from = millisecondsOf(message.fromSeq, "from_seq", Number.MAX_SAFE_INTEGER);
      const events = call.client.watch(runName(message, call.namespace), { from })[Symbol.asyncIterator]();
      let next = events.next();
      try {
        while (!call.signal.aborted && !call.draining.aborted) {
          const wait = patience(clock, KEEPALIVE_MS, call);
          const step = await Promise.race([next, wait.over.then(() => undefined)]).finally(() => wait.end());
          if (step === undefined) yield create(WatchWorkflowResponseSchema);
          else if (step.done) return;
          else {
            yield create(WatchWorkflowResponseSchema, { event: toHistoryEvent(step.value, step.value.runId) });
            next = events.next();
          }
        }
      } finally {
        // Not awaited: it would wait for the event that is being waited for.
        next.catch(() => {});
        events.return(undefined).catch(() => {});
      }
    },

    async explainWorkflow(message, call) {
      const { status, reason, waitingFor, dueAt, workerId, causes } = await call.client.why(
        runName(message, call.namespace),
      );
      const { status: shown, wakeUpAt } = toWorkflow(await describeOf(call, message));
      return {
        status: shown,
        reason: reason || status,
        waitingFor: [...waitingFor],
        ...(dueAt && wakeUpAt ? { dueAt: wakeUpAt } : {}),
        workerId: workerId ?? "",
        causes: causes.map((cause) => JSON.stringify(cause)),
      };
    },
  };
}

/** How a run ended is in its description. What kept anybody from learning that is not. */
function onlyItsEnd(error: unknown): void {
  const ends = ["run_failed", "run_canceled", "run_terminated", "run_timed_out", "run_parked", "codec_key_missing"];
  if (isHoldfastError(error) && ends.includes(error.code)) return;
  throw error;
}

/** The bytes of a payload, unless the namespace takes only others. */
export async function receivedPayload(
  { namespaces, limits }: Pick<WorkflowServiceParams, "namespaces" | "limits">,
  { namespace, principal }: Pick<Call, "namespace" | "principal">,
  payload: Payload | undefined,
  what: string,
) {
  const raw = fromPayload(payload, what);
  if (raw === undefined) return undefined;
  limits.take("bytes", [`key "${principal.id}"`, `namespace "${namespace}"`], raw.bytes.length);
  if (!isEncrypted(payload) && (await namespaces.read(namespace))?.settings.requiresEncryption) {
    const message = `The ${what} is not encrypted, as namespace "${namespace}" requires.`;
    throw new HoldfastError("invalid_argument", message, { data: { namespace } });
  }
  return raw;
}

function startOptions(message: StartWorkflowRequest) {
  const { externalId, taskQueue, version, priority, timeoutMs, startAt, attributes, key, retryPolicy } = message;
  if (retryPolicy !== undefined)
    throw refused("retry_policy", "belongs to the definition of the workflow: set it where the workflow is defined");
  const timeout = millisecondsOf(timeoutMs, "timeout_ms", TIMEOUT_MS_MAX);
  const at = dateOf(startAt, "start_at");
  return {
    ...(externalId === "" ? {} : { id: externalId, ifClosed: "start" as const }),
    ...(taskQueue === "" ? {} : { queue: taskQueue }),
    ...(version === "" ? {} : { version }),
    ...(priority === 0 ? {} : { priority }),
    ...(timeout === 0 ? {} : { timeout: { milliseconds: timeout } }),
    ...(at === undefined ? {} : { startAt: at }),
    ...(Object.keys(attributes).length === 0 ? {} : { attributes: attributesOf(attributes) }),
    ...(key === "" ? {} : { key }),
  };
}

type Filtering = Pick<ListWorkflowsRequest, "statusFilter" | "workflowType" | "taskQueue" | "attributes"> &
  Partial<Pick<ListWorkflowsRequest, "createdAfter" | "createdBefore">>;

/** Undefined if no run can match. */
export function filterOf(message: Filtering): ListFilter | undefined {
  const status = fromWorkflowStatus(message.statusFilter);
  if (status === null) return undefined;
  const after = dateOf(message.createdAfter, "created_after");
  const before = dateOf(message.createdBefore, "created_before");
  return {
    ...(status === undefined ? {} : { status }),
    ...(message.workflowType === "" ? {} : { workflow: message.workflowType }),
    ...(message.taskQueue === "" ? {} : { queue: message.taskQueue }),
    ...(after ? { createdAfter: after } : {}),
    ...(before ? { createdBefore: before } : {}),
    ...(Object.keys(message.attributes).length === 0 ? {} : { attributes: attributesOf(message.attributes) }),
  };
}
