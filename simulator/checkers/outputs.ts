import { toErrorRecord } from "../../packages/holdfast/src/errors/error-record.ts";
import { isHoldfastError } from "../../packages/holdfast/src/errors/holdfast-error.ts";
import type { HistoryEvent } from "../../packages/holdfast/src/model/event.ts";
import type { Message } from "../../packages/holdfast/src/model/message.ts";
import { isClosed, type Run } from "../../packages/holdfast/src/model/run.ts";
import type { Checker, Evidence, Found } from "../evidence.ts";
import { type Conclusion, conclude } from "../reference.ts";
import { isCancellation } from "../workload/program.ts";

/** A run ends as a run without any faults would, given the same decisions. */
export const outputs: Checker = {
  name: "outputs",
  needs: ["programs"],
  async check({ runs, programs, inboxes }: Evidence) {
    const found: Found[] = [];
    for (const { run, history } of runs) {
      const program = programs?.get(`${run.workflow}@${run.version}`);
      if (!program || !isClosed(run.status) || run.status === "terminated" || run.startedAt === null) continue;
      const stopped = run.status === "canceled" || run.status === "timed_out";
      if (stopped && history.every(isMessage)) continue; // its code was never called
      const next = runs.find((one) => one.run.runId === run.continuedAs)?.run;
      const judge = (found: Conclusion): string | undefined =>
        compare(run, found, next) ??
        (found.type === "continued" && next ? notHandedOn(found.unread, inboxes?.get(next.runId) ?? []) : undefined);
      let conclusion = await conclude(program, run, history, true);
      let fault = judge(conclusion);
      // The run may have ended with code that still had the steps retired from the latest code.
      if (fault) {
        conclusion = await conclude(program, run, history, false);
        fault = judge(conclusion);
      }
      if (fault) found.push({ runId: run.runId, text: `${fault}; without faults: ${describe(conclusion)}` });
    }
    return found;
  },
};

/** The successor gets what was unread when the run continued, before anything else. */
function notHandedOn(unread: readonly string[], inbox: readonly Message[]): string | undefined {
  const first = new Set(inbox.slice(0, unread.length).map((message) => message.messageId));
  const lost = unread.filter((messageId) => !first.has(messageId));
  return lost.length === 0 ? undefined : `its successor did not get ${lost.join(", ")}`;
}

/** What comes from outside: a run can have these before its code is called. */
const MESSAGES: ReadonlySet<HistoryEvent["type"]> = new Set([
  "signal_received",
  "cancel_requested",
  "deadline_reached",
  "pause_requested",
  "run_parked",
  "run_resumed",
]);

function isMessage(event: HistoryEvent): boolean {
  return MESSAGES.has(event.type);
}

function compare(run: Run, conclusion: Conclusion, next: Run | undefined): string | undefined {
  const text = (payload: Run["output"]): string | undefined =>
    payload?.length ? Buffer.from(payload).toString() : undefined;
  switch (run.status) {
    case "completed":
      if (conclusion.type === "completed" && conclusion.output === text(run.output)) return undefined;
      return `it completed with ${text(run.output)}`;
    case "continued":
      if (conclusion.type === "continued" && conclusion.input === text(next?.input ?? null)) return undefined;
      return `it continued with ${text(next?.input ?? null)}`;
    case "canceled":
      return conclusion.type === "failed" && isStop(conclusion.error) ? undefined : "it was canceled";
    case "timed_out":
      // A run that passed its deadline has timed out, whatever its code does about it.
      return conclusion.type === "pending" ? "it timed out" : undefined;
    default: {
      const message = conclusion.type === "failed" ? toErrorRecord(conclusion.error).message : undefined;
      const raced =
        message === "every branch failed" && run.error?.message.startsWith("Every branch of ctx.race failed");
      return message === run.error?.message || raced ? undefined : `it failed with "${run.error?.message}"`;
    }
  }
}

/** That another run was canceled counts too, in a run that was canceled itself; also as the cause of what was thrown. */
function isStop(error: unknown): boolean {
  if (isCancellation(error) || isHoldfastError(error, "run_canceled")) return true;
  return error instanceof Error && error.cause !== undefined && isStop(error.cause);
}

function describe(conclusion: Conclusion): string {
  return conclusion.type === "failed"
    ? `failed with "${toErrorRecord(conclusion.error).message}"`
    : JSON.stringify(conclusion);
}
