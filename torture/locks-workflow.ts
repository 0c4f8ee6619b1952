import { workflow } from "holdfast";

/** How often each run goes in. */
export const VISITS = 2;

export interface Visit {
  readonly room: string;
  readonly limit: number;
}

/** A run that goes into a room, stays, and goes out again, `VISITS` times. `note`: its effects. */
export function visitWorkflow(note: (line: string) => void) {
  return workflow("visit", async (ctx, { room, limit }: Visit) => {
    for (let i = 0; i < VISITS; i++)
      await ctx.withLock(room, { limit }, async (lock) => {
        await ctx.step("in", () => note(`${room} in ${ctx.info.id} ${lock.fence}`));
        await ctx.sleep("stay", "50ms");
        await ctx.step("out", () => note(`${room} out ${ctx.info.id} ${lock.fence}`));
      });
    return "done";
  });
}
