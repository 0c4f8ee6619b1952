// The workflow: plain TypeScript. Every `await ctx…` is a place where the process may die and another one may continue.
import { signal, workflow } from "holdfast";
import { bank, carrier, mailer } from "./services.ts";

export interface Order {
  readonly id: string;
  readonly cents: number;
  readonly email: string;
}

// Short, so that the example ends within seconds. A shop would write "3 days" and "1 day"; nothing else would change.
const APPROVAL_TIMEOUT = "2s";
const COOL_OFF = "700ms";

export const approve = signal<{ by: string }>("approve");

export const order = workflow("order", async (ctx, input: Order) => {
  const payment = await ctx.step("charge", (s) => bank.charge(input, s.attempt, s.idempotencyKey), {
    retry: { attempts: 5, initial: "300ms", factor: 2, max: "10s" },
    compensate: (_, c) => bank.refund(input, c.idempotencyKey),
  });

  ctx.log.info({}, `waits for approval, at most ${APPROVAL_TIMEOUT}`);
  const approval = await ctx.receive(approve, { timeout: APPROVAL_TIMEOUT });
  if (approval === undefined) throw new Error("nobody approved the order");

  ctx.log.info({}, `approved by ${approval.by}; sleeps for ${COOL_OFF}`);
  await ctx.sleep("cool-off", COOL_OFF);

  const [label, mail] = await Promise.all([
    ctx.step("label", (s) => carrier.printLabel(input, s.attempt)),
    ctx.step("mail", (s) => mailer.send(input, s.attempt)),
  ]);
  return { payment, approvedBy: approval.by, label, mail };
});
