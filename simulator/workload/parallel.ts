import type { Context } from "../../packages/holdfast/src/replay/context/context.ts";
import { errorText, inBranch, isCancellation, loosened, type Node, type OpKind, type Site } from "./program.ts";

interface ParallelNode {
  readonly kind: "parallel";
  readonly branches: readonly (readonly Node[])[];
  readonly mode: "fail-fast" | "collect-all" | "native";
  readonly limit: number | undefined;
}

/**
 * Branches that run side by side. A run that is retried regains the locks of all its branches before anything starts, so that two of
 * them can wait for each other: where several branches take locks, runs are not retried as a whole (FOUND.md).
 */
export const parallel: OpKind<ParallelNode> = {
  kind: "parallel",
  draw(draft) {
    const { dice, nodes } = draft;
    const branches = Array.from({ length: dice.int(2, 4) }, () => nodes(1, 2)).filter((branch) => branch.length > 0);
    if (branches.length < 2) return undefined;
    if (branches.filter((branch) => JSON.stringify(branch).includes('"kind":"lock"')).length > 1) draft.useRace();
    const mode = dice.pick(["fail-fast", "collect-all", "native"] as const);
    return { kind: "parallel", branches, mode, limit: dice.chance(0.2) ? 1 : undefined };
  },
  async run({ branches, mode, limit }, site) {
    if (mode === "native") {
      // When one of them fails, nobody waits for the others, and nobody stops them.
      const locks = loosened(site.locks);
      return Promise.all(branches.map((branch) => runChain(branch, { ...site, locks })));
    }
    const locks = mode === "fail-fast" ? inBranch(site.locks) : site.locks;
    const functions = branches.map((branch) => (ctx: Context) => runChain(branch, { ...site, ctx, locks }));
    const options = limit === undefined ? {} : { limit };
    if (mode === "fail-fast") return site.ctx.parallel(functions, options);
    const settled = await site.ctx.parallel(functions, { ...options, onError: "collect-all" });
    return settled.map((one) => {
      if (one.status === "fulfilled") return one.value;
      if (isCancellation(one.reason)) throw one.reason;
      return `failed: ${errorText(one.reason)}`;
    });
  },
};

export async function runChain(nodes: readonly Node[], site: Site): Promise<unknown[]> {
  const results: unknown[] = [];
  for (const node of nodes) results.push(await site.run(node, site));
  return results;
}
