import { type Context, signal, workflow } from "holdfast";
import { sleep, total } from "./pricing.ts";

// @ts-expect-error: not erasable
// biome-ignore lint/style/noEnum: users have them, and compilers treat them in different ways
enum Stage {
  Paid = "paid",
  Sent = "sent",
}

interface Order {
  readonly id: string;
  readonly lines?: readonly { readonly cents: number }[];
}

const approve = signal<{ by: string }>("approve");

/* A workflow with whatever compilers like to write in another way: "quotes", 'quotes' and `backticks`. */
export const order = workflow("order", async (ctx: Context, input: Order): Promise<unknown> => {
  // Comments with a ' quote and a " quote.
  function describe(stage: Stage): string {
    return `order ${input.id ?? "none"} is ${stage}: "ready"`;
  }
  const key = (<T extends object>(value: T, name: keyof T) => value[name])({ "a-key": 1, plain: 2 }, "plain");
  const cents = total(input.lines?.map((line) => line.cents) ?? []);
  const payment = await ctx.step("charge", async (s) => ({ id: s.idempotencyKey, cents, note: "paid in full" }), {
    retry: { attempts: 3, initial: "1s" },
  });
  if (!(cents > 1000)) {
    await ctx.sleep("short-nap", "1 minute");
  } else {
    await ctx.sleep("long-nap", "1 day");
  }
  const approval = (await ctx.receive(approve, { timeout: "3 days" })) as { by: string } | undefined;
  if (approval === undefined) throw new Error("not approved, für immer");
  const [label] = await ctx.parallel([
    (branch) => branch.step("label", () => sleep(1).then(() => /["'`]/.test("x\ty"))),
  ]);
  const stage = typeof label !== "undefined" ? Stage.Sent : Stage.Paid;
  return { payment, key, label, text: describe(stage), ratio: cents / 2 / 3, at: 24 * 60 * 60 * 1000 };
});
