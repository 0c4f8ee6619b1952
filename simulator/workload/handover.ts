import { signal } from "../../packages/holdfast/src/define/definitions.ts";
import type { Context } from "../../packages/holdfast/src/replay/context/context.ts";
import type { OpKind } from "./program.ts";

interface HandoverNode {
  readonly kind: "handover";
  readonly signal: string;
  readonly timeoutMs: number | undefined;
}

/** A branch gets a signal and loses its race for that: another receive gets the signal, at the same time. */
export const handover: OpKind<HandoverNode> = {
  kind: "handover",
  draw(draft) {
    const name = draft.name("h");
    const timeoutMs = draft.dice.chance(0.5) ? 3_600_000 : undefined;
    draft.signal(name, true);
    draft.useRace();
    return { kind: "handover", signal: name, timeoutMs };
  },
  async run({ signal: name, timeoutMs }, { ctx }) {
    const definition = signal<string>(name);
    let open = (): void => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    const loser = async (c: Context): Promise<void> => {
      await c.receive(definition);
      open();
      await c.sleep(`${name}-late`, "1 day");
    };
    const options = timeoutMs === undefined ? [] : ([{ timeout: { milliseconds: timeoutMs } }] as const);
    const [, word] = await ctx.parallel(
      [
        (c) => c.race([loser, () => opened]),
        (c) => c.receive(definition, ...(options as [{ timeout: { milliseconds: number } }])),
      ],
      {},
    );
    return `${word} at ${ctx.now().getTime()}`;
  },
};
