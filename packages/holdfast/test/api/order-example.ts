// The example at the top of the API page, as it stands there.
import { type Client, signal, task, workflow } from "holdfast";

interface Order {
  readonly id: string;
  readonly cents: number;
}

/** The world outside, which writes down what it was asked for. */
export const world: string[] = [];

const bank = {
  async charge(order: Order, key: string): Promise<{ id: string }> {
    world.push(`charge ${order.cents} for ${order.id}`);
    return { id: `payment ${key.split(":").at(-1)}` };
  },
  async refundByKey(key: string): Promise<void> {
    world.push(`refund ${key.split(":").at(-1)}`);
  },
};

const carrier = {
  async label(id: string): Promise<string> {
    return `label of ${id}`;
  },
};

const smtp = {
  async send(mail: { to: string; order: string }, _key: string): Promise<{ to: string; order: string }> {
    return mail;
  },
};

export const sendMail = task(
  { name: "send-mail", queue: "mail", requires: ["smtp"], timeout: "30s", heartbeat: "10s" },
  async (input: { to: string; order: string }, t) => {
    await t.heartbeat({ sent: 1 });
    return smtp.send(input, t.idempotencyKey);
  },
);

export const approve = signal<{ by: string }>("approve");

export const order = workflow("order", async (ctx, input: { id: string; cents: number }) => {
  const payment = await ctx.step("charge", (s) => bank.charge(input, s.idempotencyKey), {
    retry: { attempts: 5, initial: "1s", factor: 2, max: "1m" },
    compensate: (_, c) => bank.refundByKey(c.idempotencyKey),
  });

  const ok = await ctx.receive(approve, { timeout: "3 days" }); // undefined when it times out
  if (ok === undefined) throw new Error("not approved"); // refunds, durably

  await ctx.sleep("cool-off", "1 day");
  const [label, mail] = await Promise.all([
    ctx.step("label", () => carrier.label(input.id)),
    ctx.task(sendMail, { to: ok.by, order: input.id }),
  ]);
  return { payment: payment.id, label, mail };
});

/** What a program does with it. */
export async function orderSomething(hf: Client) {
  const run = await hf.start(order, { id: "o-1", cents: 990 }, { id: "order-o-1" });
  await run.signal(approve, { by: "ann" });
  return run.result();
}
