import { signal } from "../../packages/holdfast/src/define/definitions.ts";
import type { OpKind } from "./program.ts";

interface ReceiveNode {
  readonly kind: "receive";
  readonly signal: string;
  readonly timeoutMs: number | undefined;
}

/** Waits for a signal with a unique name, with or without a timeout. */
export const receive: OpKind<ReceiveNode> = {
  kind: "receive",
  draw(draft) {
    const { dice } = draft;
    const name = draft.name("g");
    const timeoutMs = dice.chance(0.5) ? dice.pick([100, 2_000, 8_000]) : undefined;
    draft.signal(name, timeoutMs === undefined);
    return { kind: "receive", signal: name, timeoutMs };
  },
  async run({ signal: name, timeoutMs }, { ctx }) {
    const definition = signal<string>(name);
    if (timeoutMs === undefined) return ctx.receive(definition);
    return (await ctx.receive(definition, { timeout: { milliseconds: timeoutMs } })) ?? "timed out";
  },
};
