/** An order that crosses processes: its worker dies in the middle of it, and another one goes on. */
import process from "node:process";
import { trace } from "@opentelemetry/api";
import { signal, task, workflow } from "holdfast";

export const go = signal<string>("go");
export const packed = signal<string>("packed");

/** What the process does when it comes to the step `cross`: the one that is to die says so, and waits. */
export const crossing = { meet: (): unknown => "crossed" };

export const send = task("send", (_: string) => {
  trace.getActiveSpan()?.setAttribute("holdfast.pid", process.pid);
  return "sent";
});

export const pack = workflow("pack", async (ctx, order: string) => {
  await ctx.step("fold", () => "folded");
  await ctx.signal(order, packed, "in a box");
});

export const order = workflow("order", async (ctx) => {
  await ctx.step("before", () => "once");
  await ctx.step("cross", () => crossing.meet());
  await ctx.child(pack, ctx.info.id);
  await ctx.task(send, "parcel");
  return [await ctx.receive(packed), await ctx.receive(go)];
});
