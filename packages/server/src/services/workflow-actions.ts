/** What is done to runs: conversations, operations, batches. */

import { ConnectError } from "@connectrpc/connect";
import {
  BatchWorkflowsRequest_Action as Action,
  type BatchWorkflowsRequest,
  RetryWorkflowRequest_Mode as Mode,
  RpcCode,
  toPayload,
  toWorkflowStatus,
  type WorkflowService,
} from "@holdfast/protocol";
import { type Batch, type BatchResult, type ListFilter, query, type RunDescription, signal, update } from "holdfast";
import { isHoldfastError } from "holdfast/adapter";
import { patiently } from "../patience.ts";
import type { Call, Handlers } from "./call.ts";
import { pollMs } from "./long-poll.ts";
import { handleOf, isOpen } from "./named-run.ts";
import { refused, required } from "./pages.ts";
import { receivedPayload, type WorkflowServiceParams } from "./received-payload.ts";
import { filterOf } from "./run-filter.ts";

type Actions = Pick<
  Handlers<typeof WorkflowService>,
  | "cancelWorkflow"
  | "retryWorkflow"
  | "terminateWorkflow"
  | "signalWorkflow"
  | "queryWorkflow"
  | "updateWorkflow"
  | "forkWorkflow"
  | "pauseWorkflow"
  | "resumeWorkflow"
  | "batchWorkflows"
>;

export function workflowActions(params: WorkflowServiceParams): Actions {
  const received = (call: Call, payload: Parameters<typeof receivedPayload>[2], what: string) =>
    receivedPayload(params, call, payload, what);
  return {
    ...conversations(received),

    async cancelWorkflow(message, call) {
      const handle = handleOf(call, message);
      const open = isOpen(await handle.status());
      await handle.cancel(who(call, message.reason));
      return { cancelled: open, status: toWorkflowStatus(await handle.status()) };
    },

    async terminateWorkflow(message, call) {
      const handle = handleOf(call, message);
      const open = isOpen(await handle.status());
      await handle.terminate(who(call, message.reason));
      return { terminated: open, status: toWorkflowStatus(await handle.status()) };
    },

    async retryWorkflow(message, call) {
      const handle = handleOf(call, message);
      const run = await handle.describe();
      if (message.mode === Mode.RESTART) return startAgain(params, call, run);
      if (isOpen(run.status)) return { newRunId: run.runId, alreadyRunning: true };
      await handle.retry(who(call, message.reason));
      return { newRunId: run.runId, alreadyRunning: false };
    },

    async forkWorkflow(message, call) {
      const before = /^\d+$/.test(message.before) ? Number(message.before) : required(message.before, "before");
      const input = await received(call, message.input, "input");
      const fork = await handleOf(call, { runId: message.runId }).fork({
        before,
        ...(message.externalId === "" ? {} : { id: message.externalId }),
        ...(input === undefined ? {} : { input }),
        ...who(call, message.reason),
      });
      return { runId: fork.runId, externalId: fork.id };
    },

    async pauseWorkflow(message, call) {
      await handleOf(call, message).pause(who(call, message.reason));
      return {};
    },

    async resumeWorkflow(message, call) {
      await handleOf(call, message).resume(who(call, message.reason));
      return {};
    },

    async batchWorkflows(message, call) {
      const filter = batchFilterOf(message);
      const options = {
        ...who(call, message.reason),
        ...(message.dryRun ? { dryRun: true } : {}),
        ...(message.batchId === "" ? {} : { id: message.batchId }),
      };
      const { id, matched, done, skippedCount } = await act(call.plain.batch(filter), message.action, options);
      return { batchId: id, matched: BigInt(matched), done: BigInt(done), skipped: BigInt(skippedCount) };
    },
  };
}

/** A start like any other, from the beginning of a run. */
async function startAgain({ limits, namespaces, clock }: WorkflowServiceParams, call: Call, run: RunDescription) {
  limits.take("starts", [`key "${call.principal.id}"`, `namespace "${call.namespace}"`]);
  await patiently(clock, () => namespaces.requireEnabled(call.namespace));
  const { workflow, input, version, queue, priority, id, runId } = run;
  const own = id === runId ? {} : { id, ifClosed: "start" as const };
  const { created, runId: newRunId } = await call.client.start(workflow, input, { version, queue, priority, ...own });
  return { newRunId, alreadyRunning: !created };
}

type Received = (
  call: Call,
  payload: Parameters<typeof receivedPayload>[2],
  what: string,
) => ReturnType<typeof receivedPayload>;

function conversations(received: Received): Pick<Actions, "signalWorkflow" | "queryWorkflow" | "updateWorkflow"> {
  return {
    async signalWorkflow(message, call) {
      const payload = await received(call, message.payload, "payload");
      const definition = signal<unknown>(required(message.name, "name"));
      const id = message.signalId === "" ? undefined : { id: message.signalId };
      await handleOf(call, message).signal(definition, payload, id);
      return {};
    },

    async queryWorkflow(message, call) {
      const argument = await received(call, message.argument, "argument");
      const definition = query<unknown, unknown>(required(message.name, "name"));
      const answer = toPayload(await handleOf(call, message).query(definition, argument));
      return answer ? { answer } : {};
    },

    async updateWorkflow(message, call) {
      const argument = await received(call, message.argument, "argument");
      const definition = update<unknown, unknown>(required(message.name, "name"));
      const timeout = { milliseconds: Math.max(1, pollMs(message.waitMs, "wait_ms")) };
      const id = message.updateId === "" ? {} : { id: message.updateId };
      try {
        const answer = toPayload(await handleOf(call, message).update(definition, argument, { timeout, ...id }));
        return answer ? { answer } : {};
      } catch (error) {
        // Nobody could ask for its answer without an id.
        if (isHoldfastError(error, "update_timeout") && message.updateId === "")
          throw new ConnectError(
            `${error.message} Send an update_id to ask again.`,
            RpcCode.DeadlineExceeded as number,
          );
        throw error;
      }
    },
  };
}

/** A batch on every run must say so, unless nothing is changed. */
function batchFilterOf(message: BatchWorkflowsRequest): ListFilter {
  const filter = filterOf(message);
  if (filter === undefined) throw refused("status_filter", "is a status that no run has");
  const isEveryRun = Object.keys(filter).length === 0;
  if (isEveryRun && !message.all && !message.dryRun)
    throw refused("all", "is not set, and neither is a filter. Set it if every run of the namespace is meant");
  if (!isEveryRun && message.all) throw refused("all", "is set beside a filter: choose one of them");
  return filter;
}

function who({ principal }: Call, reason: string): { by: string; reason?: string } {
  return { by: principal.id, ...(reason === "" ? {} : { reason }) };
}

function act(batch: Batch, action: Action, options: Parameters<Batch["cancel"]>[0]): Promise<BatchResult> {
  switch (action) {
    case Action.CANCEL:
      return batch.cancel(options);
    case Action.TERMINATE:
      return batch.terminate(options);
    case Action.PAUSE:
      return batch.pause(options);
    case Action.RESUME:
      return batch.resume(options);
    case Action.RETRY:
      return batch.retry(options);
    default:
      throw refused("action", "is not set");
  }
}
