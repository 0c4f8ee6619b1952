import type { OpKind } from "./program.ts";

interface ConditionNode {
  readonly kind: "condition";
  readonly updates: number;
  readonly timeoutMs: number | undefined;
}

/** What a condition came to, in an output. */
export interface Waited {
  readonly wanted: number;
  readonly saw: number;
  readonly inTime: boolean;
}

/** Waits until so many updates have begun. */
export const condition: OpKind<ConditionNode> = {
  kind: "condition",
  draw: ({ dice }) => ({
    kind: "condition",
    updates: dice.int(1, 3),
    timeoutMs: dice.chance(0.6) ? dice.pick([50, 1_000, 6_000]) : undefined,
  }),
  async run({ updates, timeoutMs }, { ctx, talk, shielded }): Promise<Waited> {
    const isTrue = (): boolean => talk.begun >= updates;
    // A run that is canceled accepts no update: what is shielded must not wait for one forever.
    const ms = timeoutMs ?? (shielded ? 6_000 : undefined);
    const inTime = await ctx.until(isTrue, ms === undefined ? {} : { timeout: { milliseconds: ms } });
    return { wanted: updates, saw: talk.begun, inTime };
  },
};
