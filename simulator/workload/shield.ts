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
  run: ({ body }, site) => site.ctx.uncancelable((ctx) => runChain(body, { ...site, ctx, shielded: true })),
};
