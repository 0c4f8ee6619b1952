import type { OpKind } from "./program.ts";

interface SideEffectNode {
  readonly kind: "side-effect";
  readonly name: string;
}

/** A value from outside that is read once. */
export const sideEffect: OpKind<SideEffectNode> = {
  kind: "side-effect",
  draw: ({ name }) => ({ kind: "side-effect", name: name("f") }),
  run: async ({ name }, { ctx, stage }) => ctx.sideEffect(name, () => stage.flag()),
};
