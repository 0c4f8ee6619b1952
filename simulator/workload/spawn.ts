import { inputOf } from "./child.ts";
import { definitionOfProgram } from "./definitions.ts";
import { type EffectPlan, noteSight, type OpKind, seenAt } from "./program.ts";

interface SpawnNode {
  readonly kind: "spawn";
  readonly plan: EffectPlan;
  readonly workflow: string;
  readonly starts: number;
}

/** A step that starts runs, which nobody waits for. */
export const spawn: OpKind<SpawnNode> = {
  kind: "spawn",
  draw(draft) {
    const { dice } = draft;
    const workflow = draft.child("h");
    if (workflow === undefined) return undefined;
    const plan = { op: draft.name("s"), ms: dice.pick([0, 100]), failures: dice.pick([0, 0, 1]) };
    return { kind: "spawn", plan, workflow, starts: dice.int(1, 2) };
  },
  run({ plan, workflow, starts }, site) {
    const seen = seenAt(site);
    const { runId } = site.ctx.info;
    const wanted = site.shielded ? { ...plan, shielded: true } : plan;
    const input = inputOf(plan.op, site);
    const result = site.ctx.step(
      plan.op,
      async (info) => {
        const value = await site.stage.perform(runId, wanted, info, seen);
        for (let i = 0; i < starts; i++) await info.start(definitionOfProgram(workflow), { ...input, number: i + 1 });
        return value;
      },
      { retry: { attempts: 2, fixed: "100ms" } },
    );
    return noteSight(site, plan.op, result);
  },
};
