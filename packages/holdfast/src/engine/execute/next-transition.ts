import type { Run } from "../../model/run.ts";
import { NONE } from "../../model/short-list.ts";
import type { Transition } from "../../ports/store.ts";
import type { Machine, Outcome } from "../../replay/machine.ts";
import type { StepBoard } from "../steps/step-board.ts";
import type { DeliveryQueue } from "./delivery-queue.ts";
import { nextDueAt } from "./due-times.ts";
import type { OutsideWork } from "./outside-work.ts";
import type { Parking } from "./parking.ts";
import { pauseTransition } from "./pausing.ts";
import { holding, suspension, wasNeverCalled } from "./run-end.ts";
import type { RunPhase } from "./run-phase.ts";

/** One live run, as far as what becomes of it next depends on it. */
export interface Standing {
  readonly machine: Machine;
  readonly run: Run;
  /** No new attempt may start here. */
  yielding(): boolean;
  /** What the end of the code means for the run. */
  ending(outcome: Outcome): Transition;
}

/** What a commit of the run does with it now: the run stays with its worker, is let go of, or ends. */
export function nextTransition(
  self: Standing,
  queue: DeliveryQueue,
  steps: StepBoard,
  outside: OutsideWork,
  phase: RunPhase,
  parking: Parking,
): Transition {
  const { machine, run } = self;
  const { outcome } = machine;
  const error = phase.parkedWith;
  if (error) return parking.transition(error);
  const hold = holding(machine);
  const undelivered = queue.length > 0 && !wasNeverCalled(outcome);
  if (machine.inTurn || machine.replaying || !machine.started || phase.inTrouble || undelivered) return hold;
  if (outcome?.type === "retried" && (steps.busy || outside.learning)) return hold;
  if (outcome) return self.ending(outcome);
  if (machine.pausing)
    return steps.busy || steps.hasClosing() || outside.calling ? hold : pauseTransition(machine.pausing);
  if (machine.regaining) return regaining(self, queue, steps, outside);
  if (steps.running > 0 || steps.hasClosing() || outside.holding()) return hold;
  // Released so that other runs get their turn, but not between the record of an attempt's start and the attempt.
  if (steps.hasStartable()) return self.yielding() && !steps.hasPrepared() ? { type: "release" } : hold;
  if (machine.attended) return hold;
  // Nobody works on it, and nothing of it is due at a later time: whoever comes next may have it at once.
  const idle = machine.attended === false && nextDueAt(machine, withoutDeadline(run), { steps, outside }, 0) === null;
  return idle ? { type: "release" } : suspension(machine, nextDueAt(machine, run, { steps, outside }, 0));
}

function withoutDeadline(run: Run): Run {
  return { ...run, deadlineAt: null };
}

const NOTHING_DELAYED = { steps: { idle: NONE }, outside: { lost: NONE } };

/** The run waits for locks that it must regain before anything starts: what is due meanwhile is no reason to wake it. */
function regaining(
  { machine, run }: Standing,
  queue: DeliveryQueue,
  steps: StepBoard,
  outside: OutsideWork,
): Transition {
  if (steps.running > 0 || steps.hasClosing() || outside.holdingToRegain()) return holding(machine);
  // The store does not suspend a run with unread messages. Nor may it keep a slot from whoever holds the lock.
  if (queue.withholds) return outside.staysToRegain() ? holding(machine) : { type: "release" };
  return suspension(machine, nextDueAt(machine, run, NOTHING_DELAYED, 0));
}
