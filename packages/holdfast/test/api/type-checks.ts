// What must not compile. Nothing here is executed: each line under @ts-expect-error is a mistake that the types have to
// find, and a line that compiles after all fails the type check.
import {
  type Client,
  type Context,
  NonRetryableError,
  query,
  RetryableError,
  signal,
  task,
  update,
  workflow,
} from "holdfast";
import { z } from "zod";

const approve = signal<{ by: string }>("approve");
const ping = signal("ping");
const order = workflow("order", async (_ctx, input: { id: string; cents: number }) => ({ paid: input.cents }));
const simple = workflow("simple", async () => "done");
const count = workflow("count", async (_ctx, n: number) => n);
const dated = z.object({ at: z.string().transform((text) => new Date(text)) });
const checked = workflow({ name: "checked", input: dated }, async (_ctx, { at }) => at);

export async function batchesThatDoNotCompile(hf: Client): Promise<void> {
  await hf.batch({ workflow: "order" }).signal(approve, { by: "ann" }, { perSecond: 10 });
  await hf.batch({}).signal(ping);
  // @ts-expect-error the filter is missing: {} stands for all runs
  hf.batch();
  // @ts-expect-error there is no such filter
  hf.batch({ stats: "failed" });
  // @ts-expect-error the payload is missing
  await hf.batch({}).signal(approve);
  // @ts-expect-error the payload has the wrong type
  await hf.batch({}).signal(approve, { by: 1 });
  // @ts-expect-error there is no such option
  await hf.batch({}).cancel({ perMinute: 1 });
  // @ts-expect-error progress has no such field
  await hf.batch({}).retry({ onProgress: ({ total }) => total });
  // @ts-expect-error neither has the result
  (await hf.batchRun("b").result()).total;
}

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
  await hf.get(order, "o").fork({ before: "pay", input: { id: "o", cents: 2 } });
  await hf.get("o").fork({ before: "pay", input: "anything" });
  // @ts-expect-error the input of a fork is that of the workflow
  await hf.get(order, "o").fork({ before: "pay", input: { id: "o" } });
  // @ts-expect-error without the definition the result is unknown
  (await hf.get("o").result()).paid;
  // @ts-expect-error there is no such status
  await hf.list({ status: "done" });
  // @ts-expect-error each start of many has its own input: this one is of the other workflow
  await hf.startMany([{ workflow: order, input: 1 }, { workflow: count, input: 1 }]); // biome-ignore format: one line
  // @ts-expect-error an input is missing
  await hf.startMany([{ workflow: count, input: 1 }, { workflow: order }]); // biome-ignore format: one line
  const ids = ["a", "b"];
  // @ts-expect-error the input is missing in a list of unknown length too
  await hf.startMany(ids.map((id) => ({ workflow: order, options: { id } })));
  // @ts-expect-error there is no such option
  await hf.startMany([{ workflow: count, input: 1, options: { idd: "o" } }]);
  const [, second] = await hf.startMany([{ workflow: order, input: { id: "o", cents: 1 } }, { workflow: simple }]);
  // @ts-expect-error the second handle is of the second workflow, whose result is text
  (await second.result()).paid;
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
  // @ts-expect-error a fixed delay does not grow
  await ctx.step("charge", () => 1, { retry: { fixed: "1s", initial: "2s" } });
  // @ts-expect-error nor has it jitter, in the retries of a whole run either
  workflow({ name: "w", retry: { fixed: "1s", jitter: 0.5 } }, async () => {});
  await ctx.step("charge", () => 1, { retry: { attempts: 2, initial: "2s", max: "1m", jitter: true } });
  await ctx.step("charge", () => 1, { retry: { attempts: 2, fixed: "2s" } });
  // @ts-expect-error the function of a side effect is synchronous
  const flag: number = ctx.sideEffect("flag", async () => 1);
  // @ts-expect-error always
  ctx.sideEffect("flag", () => (flag > 1 ? flag : Promise.resolve(2)));
  const parsed: { readonly a: number } = ctx.sideEffect("flag", () => JSON.parse('{ "a": 1 }'));
  const generic = <T>(fn: () => T): T => ctx.sideEffect("flag", fn);
  if (generic(() => parsed.a) === 0) ctx.sideEffect("flag", () => fail());
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

export async function durationsThatDoNotCompile(hf: Client, ctx: Context): Promise<void> {
  // @ts-expect-error there is no such unit
  await ctx.sleep("nap", "3 dyas");
  // @ts-expect-error a number without a unit
  await ctx.sleep("nap", "30");
  // @ts-expect-error nothing at all
  await ctx.sleep("nap", "");
  // @ts-expect-error in other notations M is a month
  await ctx.sleep("nap", "1M");
  // @ts-expect-error the same unit twice
  await ctx.sleep("nap", "1h 1h");
  // @ts-expect-error negative
  await ctx.sleep("nap", "-1h");
  // @ts-expect-error a point without digits after it
  await ctx.sleep("nap", "1.h");
  // @ts-expect-error one of two texts is no duration
  await ctx.sleep("nap", hf.namespace === "slow" ? "1h" : "1 fortnight");
  // @ts-expect-error there is no such part
  await ctx.sleep("nap", { fortnights: 1 });
  // @ts-expect-error in an option of a step
  await ctx.step("charge", () => 1, { timeout: "30 sce" });
  // @ts-expect-error among others, in a retry policy
  await ctx.step("charge", () => 1, { timeout: "1s", retry: { initial: "1s", max: "1 mintue" } });
  // @ts-expect-error in the timeout of a receive
  await ctx.receive(approve, { timeout: "3 dayz" });
  // @ts-expect-error in an option of a start
  await hf.start(order, { id: "o", cents: 1 }, { delay: "1 secnd" });
  // @ts-expect-error in an option of a run without input
  await hf.run(simple, undefined, { timeout: "1 secnd" });
  // @ts-expect-error in the timeout of a result
  await hf.get("o").result({ timeout: "1 secnd" });
  // @ts-expect-error in an option of a worker
  hf.worker({ workflows: [order], lease: "1 secnd" });
  // @ts-expect-error in a purge
  await hf.purge({ olderThan: "30 dais" });
  // @ts-expect-error in an option of a workflow
  workflow({ name: "w", timeout: "1 secnd" }, async () => {});
}

class Money {
  readonly cents: number;
  constructor(cents: number) {
    this.cents = cents;
  }
  format(): string {
    return `${this.cents} cents`;
  }
}

const price = signal<Money>("price");
const priced = workflow("priced", async () => new Money(5));

export async function resultsThatDoNotCompile(hf: Client, ctx: Context): Promise<void> {
  // @ts-expect-error what comes back from the store has no methods
  (await ctx.step("price", () => new Money(5))).format();
  // @ts-expect-error so it is no instance of the class either
  const money: Money = await ctx.step("price", async () => new Money(5));
  // @ts-expect-error inside of something else as well
  (await ctx.step("prices", () => ({ all: [new Money(5)], best: money }))).all[0]?.format();
  await ctx.step("price", (s) => new Money(s.attempt), {
    compensate: (result) => {
      // @ts-expect-error a compensation is given what the store gives back
      result?.format();
    },
  });
  // @ts-expect-error a Buffer comes back as a Uint8Array
  (await ctx.step("bytes", () => Buffer.from("x"))).readUInt8(0);
  // @ts-expect-error so does the value of a side effect
  ctx.sideEffect("price", () => new Money(5)).format();
  // @ts-expect-error so does the payload of a signal
  (await ctx.receive(price)).format();
  // @ts-expect-error what is sent is the real thing
  await hf.get("o").signal(price, { cents: 5 });
  // @ts-expect-error so does the result of a run
  (await hf.run(priced)).format();
  // @ts-expect-error a function cannot be stored
  (await ctx.step("function", () => () => 1))();
}

export function definitionsThatDoNotCompile(): void {
  // @ts-expect-error a run goes on with the input of its workflow, which is a number
  workflow("w", async (ctx, _n: number) => ctx.continueAsNew("2"));
  // @ts-expect-error and which must not be missing
  workflow("w", async (ctx, _n: number) => ctx.continueAsNew());
  // @ts-expect-error this workflow takes no input
  workflow("w", async (ctx) => ctx.continueAsNew(1));
  // @ts-expect-error with a schema it is what the schema makes of the input: a date, not a text
  workflow({ name: "w", input: dated }, async (ctx) => ctx.continueAsNew({ at: "2030-01-01" }));
  // @ts-expect-error the annotation is not what comes out of the schema
  workflow({ name: "w", input: dated }, async (_ctx, input: { at: string }) => input.at);
  // @ts-expect-error neither is this one
  workflow({ name: "w", input: z.object({ n: z.number() }) }, async (_ctx, input: { m: number }) => input.m);
  // @ts-expect-error what the function returns does not go into the output schema
  workflow({ name: "w", output: z.object({ n: z.number() }) }, async () => ({ n: "1" }));
  // @ts-expect-error a field of the output is missing
  workflow({ name: "w", input: dated, output: z.object({ n: z.number() }) }, async (_ctx, { at }) => ({ m: at }));
  // @ts-expect-error nothing is returned
  workflow({ name: "w", output: z.number() }, async (_ctx, _input: { id: string }) => {});
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

export async function tasksThatDoNotCompile(ctx: Context): Promise<void> {
  const mail = task("mail", async (input: { to: string }) => ({ id: input.to }));
  const nothing = task("nothing", () => 5);
  const external = task<{ order: string }, { by: string }>({ name: "external", external: true });
  // @ts-expect-error the input is not what the task takes
  await ctx.task(mail, { to: 1 });
  // @ts-expect-error the input is missing
  await ctx.task(mail);
  // @ts-expect-error the result has no such field
  (await ctx.task(mail, { to: "ann" })).to;
  // @ts-expect-error a duration has a unit
  await ctx.task(nothing, undefined, { timeout: "30" });
  // @ts-expect-error there is no such option
  await ctx.task(nothing, undefined, { timeouts: "30s" });
  // @ts-expect-error the result of an external task is what its definition says
  (await ctx.task(external, { order: "o" })).name;
  // @ts-expect-error a task has a function, or is external
  task({ name: "t" });
}

export async function conversationsThatDoNotCompile(hf: Client, ctx: Context): Promise<void> {
  const add = update<{ item: string }, number>("add");
  const close = update("close");
  const total = query<number, { currency: string }>("total");
  const run = await hf.start(simple);
  // @ts-expect-error the argument is missing
  await run.update(add);
  // @ts-expect-error the argument has the wrong type
  await run.update(add, { item: 5 });
  // @ts-expect-error this update takes no argument
  await run.update(close, 5);
  // @ts-expect-error the answer is a number
  (await run.update(add, { item: "a" })).length;
  // @ts-expect-error with wait: "accepted" the answer comes from result()
  (await run.update(add, { item: "a" }, { wait: "accepted" })).toFixed();
  // @ts-expect-error there is no such option
  await run.update(add, { item: "a" }, { wiat: "accepted" });
  // @ts-expect-error the argument is missing
  await run.query(total);
  // @ts-expect-error a query is no update
  await run.update(total, { currency: "EUR" });
  // @ts-expect-error an update is no query
  await run.query(add, { item: "a" });
  // @ts-expect-error the handler returns what the update says
  ctx.on(add, () => "one");
  // @ts-expect-error the handler of a query answers at once
  ctx.on(total, async () => 1);
  // @ts-expect-error the argument of the handler is what the update says
  ctx.on(add, (argument: { item: number }) => argument.item);
  // @ts-expect-error a predicate returns a boolean
  await ctx.until(() => "yes");
  // @ts-expect-error the id of the run is missing
  await hf.signalWithStart(order, { id: "o", cents: 1 }, approve, { by: "ann" }, {});
  // @ts-expect-error the input is that of the workflow
  await hf.updateWithStart(order, { id: "o" }, add, { item: "a" }, { id: "o" });
}

function fail(): never {
  throw new Error("no flag");
}
