/** What was undone, and what would be. */
import type { EventWindow, StepView } from "holdfast";
import { COMPENSATE_PREFIX } from "holdfast/adapter";
import type { CompensationRow, CompensationView } from "../api/run-messages.ts";
import { type NamedRun, namedRun } from "./named-run.ts";
import type { Ask, Scope } from "./scope.ts";

const CLOSED = new Set(["completed", "failed", "canceled", "terminated", "timed_out", "continued", "moved"]);
/** Runs with more events are not searched for what a cancel would undo. */
const SEARCHED_EVENTS_MAX = 10_000;

export async function compensation(ask: Ask): Promise<CompensationView> {
  const named = await namedRun(ask);
  const [steps, seqs] = await Promise.all([named.handle.steps(), lastSeqs(named)]);
  const done = steps
    .filter(({ op }) => op.startsWith(COMPENSATE_PREFIX))
    .map((step) => rowOf(ask.scope, step, seqs.get(step.op) ?? null));
  const remaining = (await remainingCompensations(named)).map((op) => ({
    op,
    status: "registered" as const,
    attempts: 0,
    startedAt: null,
    endedAt: null,
    error: null,
    seq: null,
  }));
  return { outcome: named.run.compensation, done, remaining };
}

function rowOf(scope: Scope, step: StepView, seq: number | null): CompensationRow {
  const { op, attempts, startedAt, endedAt, error } = step;
  const status = step.status === "waiting" || step.status === "canceled" ? "registered" : step.status;
  return {
    op: op.slice(COMPENSATE_PREFIX.length),
    status,
    attempts,
    startedAt: startedAt?.getTime() ?? null,
    endedAt: endedAt?.getTime() ?? null,
    error: error ? scope.values.error(error) : null,
    seq,
  };
}

async function lastSeqs({ handle }: NamedRun): Promise<ReadonlyMap<string, number>> {
  const seqs = new Map<string, number>();
  for (let from: number | null = 0; from !== null; ) {
    const window: EventWindow = await handle.history({ from, limit: 5_000 });
    for (const { op, seq } of window) if (op?.startsWith(COMPENSATE_PREFIX)) seqs.set(op, seq);
    from = window.next;
  }
  return seqs;
}

/**
 * Steps that a cancel would undo, the next one first. The history tells them by their start, which is recorded before the attempt
 * begins: that is so of steps with a compensation, and of those that must not run twice.
 */
export async function remainingCompensations({ handle, run }: NamedRun): Promise<readonly string[]> {
  if (CLOSED.has(run.status) || run.historyLength > SEARCHED_EVENTS_MAX) return [];
  const started = new Set<string>();
  const settled: string[] = [];
  const undone = new Set<string>();
  for (let from: number | null = 0; from !== null; ) {
    const window: EventWindow = await handle.history({ from, limit: 5_000 });
    for (const { type, op, ms } of window) {
      if (op === null) continue;
      if (op.startsWith(COMPENSATE_PREFIX)) undone.add(op.slice(COMPENSATE_PREFIX.length));
      else if (type === "step_started" && ms === undefined) started.add(op);
      else if (type === "step_completed" && started.has(op)) settled.push(op);
    }
    from = window.next;
  }
  return settled.filter((op) => !undone.has(op)).reverse();
}
