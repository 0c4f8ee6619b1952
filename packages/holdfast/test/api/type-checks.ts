// What must not compile. Nothing here is executed: each line under @ts-expect-error is a mistake that the types have to
// find, and a line that compiles after all fails the type check.
import { type Client, type Context, NonRetryableError, RetryableError, signal, workflow } from "holdfast";
import { z } from "zod";

const approve = signal<{ by: string }>("approve");
const ping = signal("ping");
const order = workflow("order", async (_ctx, input: { id: string; cents: number }) => ({ paid: input.cents }));
const simple = workflow("simple", async () => "done");
const dated = z.object({ at: z.string().transform((text) => new Date(text)) });
const checked = workflow({ name: "checked", input: dated }, async (_ctx, { at }) => at);

export async function startsThatDoNotCompile(hf: Client): Promise<void> {
  // @ts-expect-error the input is missing
  await hf.start(order);
  // @ts-expect-error a field of the input is missing
  await hf.start(order, { id: "o" });
  // @ts-expect-error a field of the input has the wrong type
  await hf.start(order, { id: "o", cents: "990" });
  // @ts-expect-error this workflow takes no input
  await hf.start(simple, { id: "o" });
  // @ts-expect-error there is no such option
  await hf.start(simple, undefined, { idd: "o" });
  // @ts-expect-error a bare number is no duration
  await hf.start(simple, undefined, { delay: 5 });
  // @ts-expect-error ifRunning cannot be "start"
  await hf.start(simple, undefined, { ifRunning: "start" });
  // @ts-expect-error an attribute is text, a number, a boolean or null
  await hf.start(simple, undefined, { attributes: { when: new Date(0) } });
  // @ts-expect-error what the workflow returns has no such field
  (await hf.run(order, { id: "o", cents: 1 })).refunded;
  // @ts-expect-error neither has the result of a handle that get(def, id) made
  (await hf.get(order, "o").result()).refunded;
  // @ts-expect-error without the definition the result is unknown
  (await hf.get("o").result()).paid;
  // @ts-expect-error there is no such status
  await hf.list({ status: "done" });
  // @ts-expect-error the definitions belong in a list
  hf.worker({ workflows: order });
}

export async function signalsThatDoNotCompile(hf: Client): Promise<void> {
  const run = await hf.start(simple);
  // @ts-expect-error the payload is missing
  await run.signal(approve);
  // @ts-expect-error the payload has the wrong type
  await run.signal(approve, { by: 5 });
  // @ts-expect-error this signal has no payload
  await run.signal(ping, { by: "ann" });
  // @ts-expect-error nor is null its payload: what is received would be null, and not true
  await run.signal(ping, null);
  // @ts-expect-error a payload that may be null is sent as null, not left out
  await run.signal(signal<{ by: string } | null>("nullable"));
  // @ts-expect-error a signal is a definition, not a text
  await run.signal("approve", { by: "ann" });
}

export async function codeThatDoesNotCompile(ctx: Context): Promise<void> {
  // @ts-expect-error the second argument is a function
  await ctx.step("charge", Promise.resolve(1));
  // @ts-expect-error the result of the step is a number
  (await ctx.step("charge", () => 1)).toUpperCase();
  // @ts-expect-error a compensation is given the result, which is a number, or undefined
  await ctx.step("charge", () => 1, { compensate: (result: string) => result });
  // @ts-expect-error there is no such kind of error
  await ctx.step("charge", () => 1, { retryIf: ["Sometimes"] });
  // @ts-expect-error the number of attempts is a number
  await ctx.step("charge", () => 1, { retry: { fixed: "1s", attempts: "3" } });
  // @ts-expect-error a bare number is no duration
  await ctx.sleep("nap", 1000);
  // @ts-expect-error with a timeout the signal may not have come
  (await ctx.receive(approve, { timeout: "1h" })).by;
  // @ts-expect-error a signal without payload gives true
  (await ctx.receive(ping)).by;
  // @ts-expect-error branches are functions, not promises
  await ctx.parallel({ a: ctx.step("a", () => 1) });
  const both = await ctx.parallel({ a: () => 1, b: async () => "text" });
  // @ts-expect-error there is no branch c
  both.c;
  // @ts-expect-error branch b gives text
  both.b.toFixed();
  const collected = await ctx.parallel([() => 1], { onError: "collect-all" });
  // @ts-expect-error an outcome has a value only when it was fulfilled
  collected[0]?.value;
  const first = await ctx.race({ a: () => 1, b: async () => "text" });
  // @ts-expect-error there is no branch c to win
  if (first.winner === "c") return;
  // @ts-expect-error the value of the winner may be text
  first.value.toFixed();
  // @ts-expect-error an attribute is text, a number, a boolean or null
  ctx.set({ list: [1, 2] });
}

export function definitionsThatDoNotCompile(): void {
  // @ts-expect-error what goes into the schema is text
  void ((hf: Client) => hf.start(checked, { at: new Date(0) }));
  // @ts-expect-error what comes out of the schema is a date
  workflow({ name: "w", input: dated }, async (_ctx, { at }) => at.toUpperCase());
  // @ts-expect-error there is no such option
  workflow({ name: "w", retries: 3 }, async () => {});
  // @ts-expect-error after is a duration
  void new RetryableError("busy", { after: 5 });
  // @ts-expect-error a NonRetryableError waits for nothing
  void new NonRetryableError("no", { after: "5s" });
}
