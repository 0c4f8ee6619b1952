import { type EffectPlan, noteSight, type OpKind, seenAt } from "./program.ts";

interface OnceNode {
  readonly kind: "once";
  readonly plan: EffectPlan;
  readonly attempts: number;
}

/** A step that must not be repeated after a crash: at most once. */
export const once: OpKind<OnceNode> = {
  kind: "once",
  draw({ dice, name }) {
    const attempts = dice.pick([1, 2]);
    const failures = dice.chance(0.2) ? 1 : 0;
    return { kind: "once", plan: { op: name("o"), ms: dice.pick([0, 100, 1_500]), failures, once: true }, attempts };
  },
  run({ plan, attempts }, site) {
    const seen = seenAt(site);
    const { runId } = site.ctx.info;
    const wanted = site.shielded ? { ...plan, shielded: true } : plan;
    const result = site.ctx.step(plan.op, (info) => site.stage.perform(runId, wanted, info, seen), {
      retry: { attempts, fixed: "100ms" },
      onCrash: "fail",
    });
    return noteSight(site, plan.op, result);
  },
};
