import type { EventDraft } from "../../model/event.ts";
import type { Run } from "../../model/run.ts";
import { NONE } from "../../model/short-list.ts";
import type { Timer } from "../../ports/clock.ts";
import type { Machine } from "../../replay/machine.ts";
import type { DrivenOp } from "../../replay/op.ts";
import type { ExecutorHost } from "./executor-host.ts";
import type { HeldRun } from "./held-run.ts";
import { standsStill } from "./standstill.ts";

/** The ops that wait for their time here: steps, and what must be asked of others again. */
interface Delayed {
  readonly steps: { readonly idle: Iterable<DrivenOp> };
  readonly outside: { readonly lost: Iterable<DrivenOp> };
}

const NOTHING: readonly EventDraft[] = [];

/**
 * The due timers and the deadline, as events. They wait for a run that is pausing to be resumed; timers also for one that stands
 * still.
 */
export function dueEvents(
  machine: Machine,
  run: Run,
  { storeTime, telemetry }: Pick<ExecutorHost, "storeTime" | "telemetry">,
): readonly EventDraft[] {
  if (machine.pausing) return NOTHING;
  const deadlineAt = openDeadline(machine, run);
  if (deadlineAt === null && machine.timers.size === 0) return NOTHING;
  const now = storeTime.now();
  const timers = standsStill(machine) ? NONE : machine.timers;
  const due = [...timers].filter(({ fireAt, lock }) => (fireAt as number) <= now && (!lock || lock.inLine));
  due.sort((a, b) => (a.fireAt as number) - (b.fireAt as number));
  if (telemetry)
    for (const { fireAt } of due)
      telemetry.duration("timer_lateness", now - (fireAt as number), { workflow: run.workflow });
  const fired = due.map((op): EventDraft => ({ type: "timer_fired", op: op.id }));
  return deadlineAt !== null && now >= deadlineAt ? [{ type: "deadline_reached", op: null }, ...fired] : fired;
}

/**
 * Whether the deadline had passed when the run was first claimed, either before its start time or because no worker was
 * available. The store decides, so that a later claim comes to the same answer.
 */
export function missedDeadline({ startedAt, deadlineAt }: Run): boolean {
  return startedAt !== null && deadlineAt !== null && startedAt >= deadlineAt;
}

/** The earliest time after `after` at which something becomes due. */
export function nextDueAt(machine: Machine, run: Run, { steps, outside }: Delayed, after: number): number | null {
  let dueAt = earlier(null, openDeadline(machine, run), after);
  if (standsStill(machine)) return dueAt;
  // Asked for with every commit, and most runs have no timer: to go through an empty set takes two objects.
  if (machine.timers.size > 0) for (const op of machine.timers) dueAt = earlier(dueAt, op.fireAt, after);
  for (const op of steps.idle) if (op.pending) dueAt = earlier(dueAt, op.step?.retryAt, after);
  for (const op of outside.lost)
    if (op.pending) dueAt = earlier(dueAt, (op.task ?? op.child ?? op.message)?.retryAt, after);
  return dueAt;
}

/** This worker watches the timers of a run while it holds it; the store watches them once the run is suspended. */
export function wakeTimer(
  { clock, storeTime }: Pick<ExecutorHost, "clock" | "storeTime">,
  held: Pick<HeldRun, "machine" | "run" | "poke">,
  delayed: Delayed,
): Timer | undefined {
  const { machine, run } = held;
  if (nextDueAt(machine, run, delayed, 0) === null) return undefined;
  const now = storeTime.now();
  const dueAt = nextDueAt(machine, run, delayed, now);
  return dueAt === null ? undefined : clock.setTimer(dueAt - now, () => held.poke());
}

function earlier(dueAt: number | null, at: number | null | undefined, after: number): number | null {
  if (at == null || at <= after) return dueAt;
  return dueAt === null ? at : Math.min(dueAt, at);
}

/** When the run times out; null once it is being wound up, because that decides how it ends. */
function openDeadline(machine: Machine, run: Run): number | null {
  return machine.cancelCause === undefined && !machine.compensating ? run.deadlineAt : null;
}
