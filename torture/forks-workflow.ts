import { workflow } from "holdfast";

/** How it is forked: what was shipped by hand is not shipped again. */
export const FORK = { before: "ship", edit: { ship: { result: "by hand" } }, by: "ana" } as const;

/** `note`: its effects. */
export function orderWorkflow(note: (line: string) => void) {
  return workflow("order", async (ctx, item: string) => {
    const did = (what: string): string => {
      note(`${what} ${ctx.info.id}`);
      return what;
    };
    const charged = await ctx.step("charge", () => did(`charge ${item}`));
    const shipped = await ctx.step("ship", () => did(`ship ${item}`));
    return [charged, shipped, await ctx.step("tell", () => did("tell"))];
  });
}
