import { type EffectPlan, noteSight, type OpKind, type Site, seenAt } from "./program.ts";

export interface StepNode {
  readonly kind: "step";
  readonly plan: EffectPlan;
  readonly attempts: number;
  readonly backoffMs: number;
  readonly timeoutMs: number | undefined;
}

/** A step with retries, failures and timeouts; now and then one that kills its worker. */
export const step: OpKind<StepNode> = {
  kind: "step",
  draw({ dice, name, settings }) {
    const attempts = dice.pick([1, 2, 3]);
    const ms = dice.pick([0, 0, 20, 300, 2_500]);
    return {
      kind: "step",
      plan: {
        op: name("s"),
        ms,
        failures: dice.chance(0.3) ? dice.int(1, attempts - (dice.chance(0.8) ? 1 : 0)) : 0,
        fatal: dice.chance(0.03),
        heeds: dice.chance(0.5),
        untilMended: dice.chance(0.02),
        kills: dice.chance(settings.killers) ? dice.int(1, 2) : 0,
      },
      attempts,
      backoffMs: dice.pick([0, 50, 1_500]),
      timeoutMs: dice.chance(0.1) ? dice.pick([100, 1_000]) : undefined,
    };
  },
  run: (node, site) => runStep(node, site),
};

export function runStep({ plan, attempts, backoffMs, timeoutMs }: StepNode, site: Site): Promise<string> {
  const seen = seenAt(site);
  const { runId } = site.ctx.info;
  const wanted = site.shielded ? { ...plan, shielded: true } : plan;
  const result = site.ctx.step(plan.op, (info) => site.stage.perform(runId, wanted, info, seen), {
    retry: { attempts, fixed: { milliseconds: backoffMs } },
    ...(timeoutMs === undefined ? {} : { timeout: { milliseconds: timeoutMs } }),
  });
  return noteSight(site, plan.op, result);
}
