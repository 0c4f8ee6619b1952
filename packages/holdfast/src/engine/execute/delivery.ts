import { type EventDraft, eventRole } from "../../model/event.ts";
import { isOperatorNote } from "../../model/operator-notes.ts";
import type { Machine } from "../../replay/machine.ts";
import { withAddress } from "../children/send-message.ts";
import type { StepBoard } from "../steps/step-board.ts";
import type { Written } from "../tasks/given-up-tasks.ts";
import { withWithdrawn } from "../tasks/run-tasks.ts";
import type { DeliveryQueue } from "./delivery-queue.ts";
import type { ExecutorHost } from "./executor-host.ts";
import { type QueuedDraft, withAttempt } from "./message-draft.ts";
import type { OutsideWork } from "./outside-work.ts";
import { endPause, takeOrder } from "./pausing.ts";
import { standsStill } from "./standstill.ts";
import { decideUpdate } from "./updates.ts";

/** One live run, as far as concerns what is delivered to its code, and what follows from that. */
export interface Delivery {
  readonly machine: Machine;
  readonly queue: DeliveryQueue;
  readonly steps: StepBoard;
  readonly outside: OutsideWork;
  readonly host: Pick<ExecutorHost, "record" | "stretches">;
}

/** Opens the turn of the next thing that has happened to the run and that its code sees; false if nothing is left, or on divergence. */
export function deliverNext(delivery: Delivery, now: number): boolean {
  const { machine, queue, steps, outside } = delivery;
  while (!machine.divergence && !machine.spoiled) {
    const { violation } = machine;
    const edited = standsStill(machine) ? undefined : machine.nextEdited();
    // An edit that its op cannot have parks the run: nothing else reaches the code.
    const next: QueuedDraft | undefined = edited ?? (machine.violation === violation ? queue.next(machine) : undefined);
    if (!next) return false;
    const draft = next.trace === undefined ? next : untraced(delivery, next);
    if (draft.type === "cancel_requested" || draft.type === "deadline_reached") steps.noteUnderWay();
    if (draft.type === "cancel_requested") endPause(machine, draft, now);
    if (draft.number !== undefined && isOperatorNote(draft)) takeOrder(machine, draft, now);
    else if (draft.type === "update_accepted") {
      const accepted = decideUpdate(delivery, draft, now);
      if (accepted && machine.deliverLive(accepted, now)) return true;
    } else if (eventRole(draft.type) === "note") machine.note(draft, now);
    else if (outside.refuses(draft)) continue;
    else if (draft.lockSeq !== undefined && machine.locks.get(draft.op)?.entered)
      machine.noteLock(lockNote(draft), now);
    else if (machine.deliverLive(withAttempt(withWithdrawn(withAddress(draft, machine), machine), machine), now))
      return true;
  }
  return false;
}

function untraced({ machine, host: { stretches } }: Delivery, { trace, ...draft }: QueuedDraft): QueuedDraft {
  stretches?.received(machine.run.runId, draft.op ?? "", trace ?? "");
  return draft;
}

/** A lock is regained: the code does not see that. */
function lockNote({ type, op, meta }: QueuedDraft): EventDraft {
  return meta ? { type, op, meta } : { type, op };
}

/** What the code has stopped waiting for is stopped. */
export function stopWithdrawn({ machine, steps, outside }: Delivery, written: Written): void {
  const withdrawn = machine.takeWithdrawn();
  const closing = machine.takeClosing();
  steps.stop(withdrawn, closing);
  outside.stop(withdrawn, closing, written);
}
