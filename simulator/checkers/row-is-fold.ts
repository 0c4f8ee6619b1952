import type { HistoryEvent } from "../../packages/holdfast/src/model/event.ts";
import { isClosed, type Run } from "../../packages/holdfast/src/model/run.ts";
import type { Checker } from "../evidence.ts";

/** The run row agrees with its history. */
export const rowIsFold: Checker = {
  name: "row-is-fold",
  needs: [],
  check: ({ runs }) =>
    runs.flatMap(({ run, history }) => faults(run, history).map((text) => ({ runId: run.runId, text }))),
};

function faults(run: Run, history: readonly HistoryEvent[]): string[] {
  const found: string[] = [];
  const expect = (what: string, actual: unknown, expected: unknown): void => {
    const [a, b] = [JSON.stringify(actual), JSON.stringify(expected)];
    if (a !== b) found.push(`${what} is ${a}, but history says ${b}`);
  };
  expect("eventCount", run.eventCount, history.length);
  // The id of a retry is that of the call.
  const messages = history.filter(({ type, meta }) => type !== "run_retried" && meta?.messageId !== undefined).length;
  // Result messages of transactions that the code no longer waits for leave no event.
  if (run.consumed < messages) found.push(`${messages} messages are in history, but only ${run.consumed} are consumed`);
  if (run.consumed > run.delivered) found.push(`${run.consumed} messages consumed of ${run.delivered}`);
  const set = Object.assign({}, ...history.map((event) => event.meta?.attributes ?? {})) as Record<string, unknown>;
  // A continuation begins with attributes that its own history does not have.
  for (const [key, value] of Object.entries(set)) expect(`attribute ${key}`, run.attributes[key], value);
  if (isClosed(run.status)) {
    expect("heldBy", run.heldBy, null);
    expect("availableAt", run.availableAt, null);
    if (run.endedAt === null) found.push(`it is ${run.status}, but has not ended`);
    if (run.endedAt !== null && run.startedAt !== null && run.endedAt < run.startedAt)
      found.push("it ended before it began");
  }
  const undone = history.filter((event) => event.op?.startsWith("compensate:"));
  const failed = lastFailed(undone);
  const ended = run.status === "failed" || run.status === "canceled" || run.status === "timed_out";
  const compensation = undone.length === 0 ? null : failed ? "compensation_failed" : "compensated";
  if (ended) expect("compensation", run.compensation, compensation);
  if (run.status === "canceled" && !history.some((event) => event.type === "cancel_requested"))
    found.push("it is canceled, but history has no cancel request");
  if (
    run.status === "timed_out" &&
    run.startedAt !== null &&
    !history.some((event) => event.type === "deadline_reached")
  )
    found.push("it timed out, but its deadline is not in history");
  return found;
}

/** Whether a compensation ended in failure, whatever its earlier attempts did. */
function lastFailed(events: readonly HistoryEvent[]): boolean {
  const last = new Map<string, string>();
  for (const { op, type } of events)
    if (type === "step_failed" || type === "step_completed") last.set(op as string, type);
  return [...last.values()].includes("step_failed");
}
