/**
 * Two runs in two processes: each starts a child in the process of the other, signals the other and its child, and waits for
 * the results of both children. Every flush of one process touches runs of the other.
 */
import { type Context, isHoldfastError, signal, workflow } from "holdfast";

export const SIDES = ["left", "right"] as const;
/** Also the name of the queue that its process serves. */
export type Side = (typeof SIDES)[number];

const HELLOS = 3;
const LATER_MS = 20;
const hello = signal<string>("hello");

interface Partner {
  readonly id: string;
  readonly parent: string;
}

/** The grandchild is in the first process again. */
const errand = workflow("mutual-errand", async (_ctx, n: number) => n + 1);

const child = workflow("mutual-child", async (ctx, { id, parent }: Partner) => {
  const errands = ctx.child(errand, 1, { queue: otherSide(ctx.info.queue) });
  await reach(ctx, parent);
  await reach(ctx, id);
  await ctx.receive(hello);
  await ctx.receive(hello);
  return errands;
});

const half = workflow("mutual-half", async (ctx, partner: string) => {
  const { id, queue } = ctx.info;
  const options = { id: `${id}/child`, queue: otherSide(queue) };
  const own = await ctx.startChild(child, { id: partner, parent: id }, options);
  await own.signal(hello, id);
  for (let i = 0; i < HELLOS; i++) await reach(ctx, partner);
  // From the partner, whose child exists by then, from that child, and from the own one.
  for (let i = 0; i < HELLOS + 2; i++) await ctx.receive(hello);
  await ctx.signal(`${partner}/child`, hello, id);
  const results = await Promise.all([own.result(), ctx.resultOf(child, `${partner}/child`)]);
  return results.reduce((sum, n) => sum + n, 0);
});

export const DEFINITIONS = [half, child, errand];
/** How many runs there are because of one pair. */
export const RUNS_PER_PAIR = 6;

export function pairOf(name: string) {
  const ids = SIDES.map((side) => `${name}-${side}`);
  return SIDES.map((queue, i) => ({
    workflow: half,
    input: ids[1 - i] as string,
    options: { id: ids[i] as string, queue },
  }));
}

function otherSide(queue: string): Side {
  return queue === "left" ? "right" : "left";
}

/** The partner may not have been started yet. */
async function reach(ctx: Context, to: string): Promise<void> {
  for (;;) {
    try {
      await ctx.signal(to, hello, ctx.info.id);
      return;
    } catch (error) {
      if (!isHoldfastError(error, "run_not_found")) throw error;
      await ctx.sleep("later", { milliseconds: LATER_MS });
    }
  }
}
