import type { MemoryTransaction } from "../../packages/holdfast/src/memory/transactions/transact.ts";
import type { StepInfo } from "../../packages/holdfast/src/replay/ops/step-options.ts";
import { type EffectPlan, noteSight, type OpKind, seenAt } from "./program.ts";

interface TransactionNode {
  readonly kind: "transaction";
  readonly plan: EffectPlan;
  readonly attempts: number;
  readonly timeoutMs: number | undefined;
}

/** A step whose effect commits together with its record: exactly once. */
export const transaction: OpKind<TransactionNode> = {
  kind: "transaction",
  draw({ dice, name }) {
    const attempts = dice.pick([1, 2, 3]);
    const failures = dice.chance(0.2) ? 1 : 0;
    return {
      kind: "transaction",
      plan: { op: name("q"), ms: dice.pick([0, 20, 800]), failures, transaction: true },
      attempts,
      timeoutMs: dice.chance(0.1) ? 400 : undefined,
    };
  },
  run({ plan, attempts, timeoutMs }, site) {
    const seen = seenAt(site);
    const { runId } = site.ctx.info;
    const fn = (tx: MemoryTransaction, info: StepInfo): Promise<string> | string => {
      tx.onCommit(() => site.stage.commit(runId, plan.op, seen));
      return site.stage.perform(runId, plan, info, seen);
    };
    const options = {
      retry: { attempts, fixed: "100ms" },
      ...(timeoutMs === undefined ? {} : { timeout: { milliseconds: timeoutMs } }),
    } as const;
    const result = site.stage.ask(site.ctx, plan.op, { kind: "memory", fn: fn as never }, options);
    return noteSight(site, plan.op, result as Promise<string>);
  },
};
