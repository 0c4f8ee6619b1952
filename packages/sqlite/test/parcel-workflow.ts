import { signal, workflow } from "holdfast";

export const shipped = signal<{ carrier: string }>("shipped");

/** Two steps with a wait between them. The process that runs them decides what the steps do. */
export function parcelWorkflow(world: {
  pack(): string | Promise<string>;
  deliver(carrier: string): string | Promise<string>;
}) {
  return workflow("parcel", async (ctx, input: { to: string }) => {
    const box = await ctx.step("pack", () => world.pack());
    const { carrier } = await ctx.receive(shipped);
    const receipt = await ctx.step("deliver", () => world.deliver(carrier));
    return { to: input.to, box, receipt };
  });
}
