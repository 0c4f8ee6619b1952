import { type EffectPlan, noteSight, type OpKind, seenAt } from "./program.ts";

interface SagaNode {
  readonly kind: "saga";
  readonly plan: EffectPlan;
  readonly undo: EffectPlan;
  readonly attempts: number;
  readonly timeoutMs: number | undefined;
}

/** A step with a compensation. */
export const saga: OpKind<SagaNode> = {
  kind: "saga",
  draw({ dice, name }) {
    const op = name("c");
    const failures = dice.chance(0.2) ? dice.int(1, 3) : 0;
    const undoOp = `compensate:${op}`;
    const undo = { op: undoOp, ms: dice.pick([0, 200]), failures: dice.pick([0, 0, 1]), shielded: true };
    return {
      kind: "saga",
      plan: { op, ms: dice.pick([0, 100, 1_500]), failures, heeds: dice.chance(0.5) },
      undo,
      attempts: dice.pick([1, 2]),
      timeoutMs: dice.chance(0.2) ? 800 : undefined,
    };
  },
  run({ plan, undo, attempts, timeoutMs }, site) {
    const seen = seenAt(site);
    const { runId } = site.ctx.info;
    const wanted = site.shielded ? { ...plan, shielded: true } : plan;
    const result = site.ctx.step(plan.op, (info) => site.stage.perform(runId, wanted, info, seen), {
      retry: { attempts, fixed: "150ms" },
      ...(timeoutMs === undefined ? {} : { timeout: { milliseconds: timeoutMs } }),
      compensate: (value, info) =>
        site.stage.perform(runId, { ...undo, told: `${info.outcome} ${value ?? "-"}` }, info, { seq: 0, sights: [] }),
    });
    return noteSight(site, plan.op, result);
  },
};
