/** What `dev --demo` runs: something to look at before there is code of one's own. */
import { signal, task, workflow } from "holdfast";

export const approve = signal<{ by: string }>("approve");

export const sendMail = task("demo-mail", async ({ to }: { to: string }) => `sent to ${to}`);

export const order = workflow("demo-order", async (ctx, input: { cents: number }) => {
  const payment = await ctx.step(
    "charge",
    (step) => {
      if (step.attempt === 1) throw new Error("the card network is busy");
      return { id: `pay-${input.cents}` };
    },
    { retry: { attempts: 5, initial: "500ms", factor: 2 } },
  );
  const ok = await ctx.receive(approve, { timeout: "3 days" });
  if (ok === undefined) throw new Error("not approved");
  const mail = await ctx.task(sendMail, { to: ok.by });
  return { payment: payment.id, mail };
});

export const report = workflow("demo-report", async (ctx) => {
  const rows = await ctx.step("read", () => 42);
  await ctx.sleep("settle", "2s");
  return ctx.step("write", () => `${rows} rows`);
});
