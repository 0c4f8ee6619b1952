// The workflows and tasks of the tests: in this process, and as a file that the command loads.
import { NonRetryableError, query, signal, task, update, workflow } from "holdfast";

export const approve = signal<{ by: string }>("approve");
const progress = query<string>("progress");
const add = update<number, number>("add");

export const order = workflow("order", async (ctx, input: { cents: number }) => {
  let at = "begun";
  let sum = input.cents;
  ctx.on(progress, () => at);
  ctx.on(add, async (cents: number) => {
    sum += cents;
    return sum;
  });
  const payment = await ctx.step("charge", () => `payment of ${input.cents}`);
  at = "charged";
  const ok = await ctx.receive(approve);
  await ctx.step("ship", () => "shipped");
  return { payment, by: ok.by };
});

export const double = workflow("double", async (_ctx, input: { n: number }) => input.n * 2);

export const buggy = workflow("buggy", async (ctx) => {
  await ctx.step("look", () => 1);
  return (undefined as unknown as { readonly missing: string }).missing;
});

/** What used to fail and may succeed now: ids of runs, addresses of mails. */
export const allowed = new Set<string>();

export const failing = workflow("failing", async (ctx) =>
  ctx.step("try", () => {
    if (allowed.has(ctx.info.id)) return "at last";
    throw new NonRetryableError("it is broken");
  }),
);

export const sendMail = task({ name: "send-mail", retry: "none" }, async ({ to }: { to: string }) => {
  if (to === "nobody" && !allowed.has(to)) throw new NonRetryableError("no such address");
  return `sent to ${to}`;
});

export const approval = task<{ order: string }, { by: string }>({ name: "approval", external: true });

export const mailing = workflow("mailing", async (ctx, input: { to: string }) => ctx.task(sendMail, input));

export const asking = workflow("asking", async (ctx) => ctx.task(approval, { order: "o-1" }, { retry: "none" }));
