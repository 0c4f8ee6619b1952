/** The history of a run: read, watched, explained. */
import { create } from "@bufbuild/protobuf";
import {
  inWireWords,
  toHistoryEvent,
  toWorkflow,
  WatchWorkflowResponseSchema,
  type WorkflowService,
} from "@holdfast/protocol";
import type { Clock } from "holdfast/adapter";
import type { Handlers } from "./call.ts";
import { patience } from "./long-poll.ts";
import { describeOf, handleOf, runName } from "./named-run.ts";
import { millisecondsOf, refused } from "./pages.ts";

const HISTORY_LIMIT_DEFAULT = 100;
const HISTORY_LIMIT_MAX = 1_000;
/** Streams that say nothing are closed by proxies. */
const KEEPALIVE_MS = 15_000;

type Events = Pick<Handlers<typeof WorkflowService>, "getWorkflowHistory" | "watchWorkflow" | "explainWorkflow">;

export function eventHandlers(clock: Clock): Events {
  return {
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
        reason: inWireWords(reason || status),
        waitingFor: [...waitingFor],
        ...(dueAt && wakeUpAt ? { dueAt: wakeUpAt } : {}),
        workerId: workerId ?? "",
        causes: causes.map((cause) => JSON.stringify(cause)),
      };
    },
  };
}
