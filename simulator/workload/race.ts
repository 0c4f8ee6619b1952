import type { Context } from "../../packages/holdfast/src/replay/context/context.ts";
import { runChain } from "./parallel.ts";
import { inBranch, type Node, type OpKind } from "./program.ts";
import { sleep } from "./sleep.ts";
import { step } from "./step.ts";
import { task } from "./task.ts";

interface RaceNode {
  readonly kind: "race";
  readonly branches: readonly (readonly Node[])[];
}

/**
 * The first branch wins, the others are canceled. Each begins with an op that takes a turn: if two branches ended in
 * one turn, the winner would be undefined.
 */
export const race: OpKind<RaceNode> = {
  kind: "race",
  draw(draft) {
    const { dice, nodes, settings } = draft;
    const withTasks = (settings.opWeights["task"] ?? 0) > 0;
    const branches = Array.from({ length: dice.int(2, 3) }, () => {
      const first = (withTasks && dice.chance(0.4) ? task : dice.chance(0.5) ? step : sleep).draw(draft);
      return first ? [first, ...nodes(0, 2)] : [];
    });
    draft.useRace();
    return { kind: "race", branches };
  },
  async run({ branches }, site) {
    const locks = inBranch(site.locks);
    const functions = branches.map((branch) => (ctx: Context) => runChain(branch, { ...site, ctx, locks }));
    const { winner, value } = await site.ctx.race(functions);
    return { winner, value };
  },
};
