import type { EffectPlan, OpKind } from "./program.ts";

interface UndoNode {
  readonly kind: "undo";
  readonly name: string;
  readonly plan: EffectPlan;
}

/** A compensation added by hand. */
export const undo: OpKind<UndoNode> = {
  kind: "undo",
  draw({ name }) {
    const own = name("u");
    return { kind: "undo", name: own, plan: { op: `compensate:${own}`, ms: 50, failures: 0, shielded: true } };
  },
  async run({ name, plan }, site) {
    const { runId } = site.ctx.info;
    site.ctx.compensate(name, (_, info) =>
      site.stage.perform(runId, { ...plan, told: info.outcome }, info, { seq: 0, sights: [] }),
    );
    return null;
  },
};
