import { signal, workflow } from "holdfast";
import { ended, type Feature } from "../feature.ts";

const go = signal<number>("go");

const listener = workflow("messages-listener", async (ctx) => {
  const n = await ctx.receive(go);
  return n * 2;
});

const sender = workflow("messages-sender", async (ctx) => {
  const nobody = await ctx.cancel("nobody").catch((error: Error) => error.name);
  const child = await ctx.startChild(listener, undefined, { id: "listener" });
  await child.signal(go, 21);
  const result = await ctx.resultOf("listener");
  const late = await ctx.signal("listener", go, 1).catch((error: Error) => error.name);
  return [nobody, result, late];
});

export const messages: Feature = {
  name: "messages",
  workflows: [listener, sender],
  async happen(fleet) {
    await ended(fleet, await fleet.client().start(sender));
  },
};
