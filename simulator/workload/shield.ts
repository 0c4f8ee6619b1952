import { runChain } from "./parallel.ts";
import type { Node, OpKind } from "./program.ts";

interface ShieldNode {
  readonly kind: "shield";
  readonly body: readonly Node[];
}

/** A part that continues when the run is canceled. */
export const shield: OpKind<ShieldNode> = {
  kind: "shield",
  draw({ nodes }) {
    const body = nodes(1, 2);
    return body.length === 0 ? undefined : { kind: "shield", body };
  },
  run({ body }, site) {
    // A branch that has lost is not waited for, although this part of it goes on.
    const locks = site.locks.map((own) => (own.branched ? { ...own, loose: true as const } : own));
    return site.ctx.uncancelable((ctx) => runChain(body, { ...site, ctx, locks, shielded: true }));
  },
};
