import { jsonCodec } from "../../packages/holdfast/src/codec/json-codec.ts";
import { type HistoryEvent, isOutcome } from "../../packages/holdfast/src/model/event.ts";
import type { Checker, Effect, Found, RunEvidence } from "../evidence.ts";
import { withoutForgotten } from "../void-events.ts";
import { isUndoableChild } from "../workload/child.ts";
import type { TaskInput } from "../workload/task-definitions.ts";

const UNDO = "compensate:";

/**
 * Steps that began are undone in reverse order, once with effect, and each compensation gets what is known about its
 * step. Steps that never began are not undone, and nothing is undone in a run that completed.
 */
export const compensation: Checker = {
  name: "compensation",
  needs: ["effects"],
  check({ runs, effects = [] }) {
    const undoing = effects.filter(({ op }) => op.startsWith(UNDO));
    return runs.flatMap((one) =>
      checkRun(
        one,
        undoing.filter(({ runId }) => runId === one.run.runId),
      ),
    );
  },
};

function checkRun({ run, history }: RunEvidence, effects: readonly Effect[]): Found[] {
  const { runId, status } = run;
  const found: Found[] = [];
  const fault = (text: string): void => void found.push({ runId, text });
  if (effects.length > 0 && (status === "completed" || status === "continued"))
    fault(`it ${status}, but "${effects[0]?.op}" was executed`);
  const idle = new Set(history.filter((event) => event.meta?.neverBegan).map((event) => event.op));
  const begun = history
    .filter((event) => isBeginning(event) && !event.op?.startsWith(UNDO) && !idle.has(event.op))
    .map((event) => event.op as string);
  const undone = history
    .filter((event) => event.op?.startsWith(UNDO) && event.type === "step_completed")
    .map((event) => (event.op as string).slice(UNDO.length));
  if (new Set(undone).size !== undone.length) fault(`something was undone twice: ${undone.join(", ")}`);
  // Compensations added by hand have no step.
  const steps = undone.filter((op) => !op.startsWith("u"));
  for (const op of steps)
    if (!begun.includes(op) && !isSettled(history, op)) fault(`"${op}" was undone but never began`);
  const order = [...new Set(begun)].filter((op) => steps.includes(op));
  if (!isReversed(order, steps, history)) fault(`begun as ${order.join(", ")}, undone as ${steps.join(", ")}`);
  if (run.compensation === "compensated") {
    const undoable = undoableTasks(history);
    const hasUndo = (op: string): boolean => op.startsWith("c") || undoable.has(op) || isUndoableChild(op);
    const forgotten = [...new Set(begun)].filter((op) => hasUndo(op) && !undone.includes(op));
    if (forgotten.length > 0) fault(`${forgotten.join(", ")} began and was not undone`);
  }
  for (const { op, told } of effects) {
    const expected = outcomeOf(history, op.slice(UNDO.length));
    if (told !== undefined && !op.startsWith(`${UNDO}u`) && told !== expected)
      fault(`"${op}" was told "${told}", not "${expected}"`);
  }
  return found;
}

function isBeginning({ type }: HistoryEvent): boolean {
  return type === "step_started" || type === "task_scheduled" || type === "child_started";
}

/** The tasks with a compensation. */
export function undoableTasks(history: readonly HistoryEvent[]): ReadonlySet<string> {
  const undoable = history.filter(
    ({ type, payload }) =>
      type === "task_scheduled" && payload !== undefined && (jsonCodec.decode(payload) as TaskInput).plan.undone,
  );
  return new Set(undoable.map(({ op }) => op as string));
}

function isSettled(history: readonly HistoryEvent[], op: string): boolean {
  return history.some((event) => event.op === op && isOutcome(event));
}

/**
 * Steps that ran one after the other are undone in reverse; for parallel steps the order is not defined. A child can fail before its
 * start was recorded: if the run is retried, this is not the end of the one that is started in its place.
 */
function isReversed(begun: readonly string[], undone: readonly string[], history: readonly HistoryEvent[]): boolean {
  const startOf = (op: string): number => history.findIndex((event) => event.op === op && isBeginning(event));
  const kept = new Set(withoutForgotten(history));
  const endOf = (op: string): number =>
    history.findIndex((event, i) => event.op === op && isOutcome(event) && (i > startOf(op) || kept.has(event)));
  return begun.every((first) =>
    begun.every((second) => {
      const after = endOf(first) >= 0 && endOf(first) < startOf(second);
      return !after || undone.indexOf(first) > undone.indexOf(second);
    }),
  );
}

/** What history recorded about a step before its compensation began. */
function outcomeOf(history: readonly HistoryEvent[], op: string): string {
  const undoneAt = history.findIndex((event) => event.op === UNDO + op);
  const known = undoneAt < 0 ? history : history.slice(0, undoneAt);
  const last = known.findLast((event) => event.op === op && isOutcome(event));
  if (last?.type === "step_completed" || last?.type === "task_completed" || last?.type === "child_completed")
    return `completed ${last.payload === undefined ? "-" : jsonCodec.decode(last.payload)}`;
  return last && !last.meta?.unknown ? "failed -" : "unknown -";
}
