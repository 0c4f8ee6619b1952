import type { OpKind } from "./program.ts";

interface FailureNode {
  readonly kind: "failure";
  readonly pause: string;
  readonly message: string;
}

/** Code that throws, in a separate turn: if two errors occurred in one turn, their order would be undefined. */
export const failure: OpKind<FailureNode> = {
  kind: "failure",
  draw({ name }) {
    const own = name("t");
    return { kind: "failure", pause: own, message: `thrown after ${own}` };
  },
  async run({ message, pause }, { ctx }) {
    await ctx.sleep(pause, "10ms");
    throw new Error(message);
  },
};
