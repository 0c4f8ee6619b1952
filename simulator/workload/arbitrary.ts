import type { OpKind } from "./program.ts";

interface ArbitraryNode {
  readonly kind: "arbitrary";
  readonly name: string;
}

/** Randomness, ids and time that workflow code may use: the same on every replay. */
export const arbitrary: OpKind<ArbitraryNode> = {
  kind: "arbitrary",
  draw: (draft) => (draft.onTrunk ? { kind: "arbitrary", name: draft.name("x") } : undefined),
  run: async ({ name }, { ctx }) => [ctx.random(), ctx.uuid(), ctx.uuid(name), ctx.now().getTime()],
};
