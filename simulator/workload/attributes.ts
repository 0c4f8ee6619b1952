import type { OpKind } from "./program.ts";

interface AttributesNode {
  readonly kind: "attributes";
  readonly key: string;
  readonly value: number;
}

export const attributes: OpKind<AttributesNode> = {
  kind: "attributes",
  draw: ({ dice }) => ({ kind: "attributes", key: dice.pick(["stage", "color"]), value: dice.int(1, 9) }),
  async run({ key, value }, { ctx }) {
    ctx.set({ [key]: value });
    return null;
  },
};
