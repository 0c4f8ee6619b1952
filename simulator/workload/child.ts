import type { ClosePolicy } from "../../packages/holdfast/src/model/child.ts";
import type { ChildOptions } from "../../packages/holdfast/src/replay/ops/child-options.ts";
import type { Dice } from "../dice.ts";
import { definitionOfProgram } from "./definitions.ts";
import type { Draft, EffectPlan, OpKind, ProgramInput, Site } from "./program.ts";

/** A child, and how it is started. */
export interface ChildPlan {
  /** Its workflow, which no other op starts. It is also the name of the op. */
  readonly workflow: string;
  readonly policy: ClosePolicy;
  readonly undo: EffectPlan | undefined;
  /** All runs of the parent's workflow give their child the same id. */
  readonly sharesId: boolean;
  readonly timeoutMs: number | undefined;
}

export interface ChildNode {
  readonly kind: "child";
  readonly child: ChildPlan;
}

/** Another run, whose output is awaited. */
export const child: OpKind<ChildNode> = {
  kind: "child",
  draw(draft) {
    const plan = drawChild(draft);
    return plan && { kind: "child", child: plan };
  },
  run({ child: plan }, site) {
    return site.ctx.child(definitionOfProgram(plan.workflow), inputOf(plan.workflow, site), optionsOf(plan, site));
  },
};

/** Undefined where no further children are wanted. */
export function drawChild(draft: Draft): ChildPlan | undefined {
  const { dice } = draft;
  const undone = dice.chance(0.3);
  const workflow = draft.child(undone ? "hc" : "h");
  if (workflow === undefined) return undefined;
  return {
    workflow,
    policy: dice.pick(["cancel", "cancel", "terminate", "abandon"] as const),
    undo: undone ? undoOf(workflow, dice) : undefined,
    sharesId: dice.chance(0.12),
    timeoutMs: dice.chance(0.1) ? dice.pick([500, 4_000]) : undefined,
  };
}

function undoOf(workflow: string, dice: Dice): EffectPlan {
  return { op: `compensate:${workflow}`, ms: dice.pick([0, 200]), failures: dice.pick([0, 0, 1]), shielded: true };
}

/** Whether the op is a child with a compensation. */
export function isUndoableChild(op: string): boolean {
  return /\.hc\d+$/.test(op);
}

export function isChildOp(op: string): boolean {
  return /\.hc?\d+$/.test(op);
}

/** What a run that another one starts is told: who asks, and what that had seen. */
export function inputOf(by: string, { ctx, rank }: Site): ProgramInput {
  return { hop: 0, rank, by, seen: ctx.info.historyLength };
}

export function optionsOf({ workflow, policy, undo, sharesId, timeoutMs }: ChildPlan, site: Site): ChildOptions {
  const { runId } = site.ctx.info;
  return {
    onParentClose: policy,
    ...(sharesId ? { id: `kid-${workflow}` } : {}),
    ...(timeoutMs === undefined ? {} : { timeout: { milliseconds: timeoutMs } }),
    ...(undo
      ? {
          compensate: (value: unknown, info) =>
            site.stage.perform(runId, { ...undo, told: `${info.outcome} ${value ?? "-"}` }, info, {
              seq: 0,
              sights: [],
            }),
        }
      : {}),
  };
}
