import { signal } from "../../packages/holdfast/src/define/definitions.ts";
import type { Context } from "../../packages/holdfast/src/replay/context/context.ts";

export const LAST_WORD = signal<string>("last-word");

/**
 * Receives every signal sent so far. A workflow that does this last must not miss a signal that was accepted before it
 * ended.
 */
export async function hearOut(ctx: Context): Promise<string[]> {
  const heard: string[] = [];
  for (;;) {
    const word = await ctx.receive(LAST_WORD, { timeout: "0ms" });
    if (word === undefined) return heard;
    heard.push(word);
  }
}
