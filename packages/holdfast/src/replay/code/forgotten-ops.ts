import { HoldfastError } from "../../errors/holdfast-error.ts";
import type { Run } from "../../model/run.ts";
import { NONE } from "../../model/short-list.ts";
import type { DrivenOp, Op } from "../op.ts";

/** How many of them are named. */
const NAMED_MAX = 20;

/** Ops that were still pending when the workflow function returned, except those of branches that lost. */
export function forgottenOps(pending: readonly Op[]): readonly Op[] {
  return pending.length === 0
    ? NONE
    : pending.filter((op) => op.module.wakes && !op.step?.closing && !op.child?.detached);
}

export function forgottenIds(ops: readonly DrivenOp[]): string[] {
  return ops.slice(0, NAMED_MAX).map((op) => op.id);
}

/** The message for people. */
export function describeForgotten({ workflow }: Pick<Run, "workflow">, ops: readonly DrivenOp[]): string {
  const named = ops.slice(0, NAMED_MAX).map(describeOp).join(", ");
  const more = ops.length > NAMED_MAX ? ` and ${ops.length - NAMED_MAX} more` : "";
  return (
    `Workflow "${workflow}" returned while ops were pending, which are dropped: ${named}${more}. ` +
    "Await each of them; if only the first is needed, use ctx.race instead of Promise.race."
  );
}

export function forgottenError(run: Pick<Run, "workflow">, ops: readonly DrivenOp[], cause?: unknown): HoldfastError {
  return new HoldfastError("forgotten_await", describeForgotten(run, ops), { data: { ops: forgottenIds(ops) }, cause });
}

function describeOp({ id, kind, location, signalName }: DrivenOp): string {
  const place = location === undefined ? "" : ` (${location})`;
  return `${kind} ${JSON.stringify(signalName ?? id)}${place}`;
}
