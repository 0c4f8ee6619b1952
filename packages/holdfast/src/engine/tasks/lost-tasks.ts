/** Tasks that no longer exist, because their run was tried again: each is scheduled again when its time has come. */
import type { Machine } from "../../replay/machine.ts";
import type { DrivenOp } from "../../replay/op.ts";

/** Schedules those that are due, unless the code has given them up. Returns the ones that still have to wait. */
export function rescheduleDue(lost: readonly DrivenOp[], machine: Machine, now: number): readonly DrivenOp[] {
  const wanted = lost.filter(({ pending, task }) => pending && task?.lost && !task.closing);
  for (const { id, task } of wanted)
    if ((task?.retryAt ?? 0) <= now) machine.note({ type: "op_rescheduled", op: id }, now);
  return wanted.filter(({ task }) => task?.lost);
}
