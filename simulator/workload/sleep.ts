import type { OpKind } from "./program.ts";

interface SleepNode {
  readonly kind: "sleep";
  readonly name: string;
  readonly ms: number;
  readonly until: boolean;
}

export const sleep: OpKind<SleepNode> = {
  kind: "sleep",
  draw: ({ dice, name }) => ({
    kind: "sleep",
    name: name("z"),
    ms: dice.pick([0, 10, 400, 3_000, 12_000]),
    until: dice.chance(0.3),
  }),
  async run({ name, ms, until }, { ctx }) {
    if (until) await ctx.sleepUntil(name, new Date(ctx.now().getTime() + ms));
    else await ctx.sleep(name, { milliseconds: ms });
    return "slept";
  },
};
