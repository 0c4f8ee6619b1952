// An order, and the three tasks that it hands to others. The workflow's process imports the tasks for their names and types;
// only the workers that list them call their functions.
import { NonRetryableError, task, workflow } from "holdfast";
import { tell } from "./tell.ts";

export interface Order {
  readonly id: string;
  readonly item: string;
  readonly cents: number;
  readonly email: string;
}

export const reserveInventory = task({ name: "reserve-inventory", queue: "payments" }, async (order: Order) => {
  tell({ order: order.id, task: "reserve-inventory", text: `one ${order.item} is set aside` });
  return { shelf: `shelf of the ${order.item}` };
});

export const processPayment = task(
  { name: "process-payment", queue: "payments", retry: { attempts: 3, fixed: "200ms" }, timeout: "5s" },
  async (order: Order, t) => {
    const about = { order: order.id, task: "process-payment", attempt: t.attempt };
    if (order.cents > 100_000) {
      tell({ ...about, text: "the bank declines: too expensive", mark: "bad" });
      throw new NonRetryableError("declined by the bank");
    }
    if (t.attempt === 1) {
      tell({ ...about, text: "the bank is down; the task is tried again", mark: "bad" });
      throw new Error("the bank is down");
    }
    // The key is the same for every attempt, so that a bank that remembers it charges once.
    tell({ ...about, text: `${order.cents} cents charged` });
    return { payment: `payment-${order.id}` };
  },
);

export const sendMail = task(
  { name: "send-mail", queue: "mail", requires: ["smtp"] },
  async (mail: { order: string; to: string; text: string }) => {
    tell({ order: mail.order, task: "send-mail", text: `to ${mail.to}: ${mail.text}` });
    return { mail: `mail-${mail.order}` };
  },
);

export const order = workflow("order", async (ctx, input: Order) => {
  const { shelf } = await ctx.task(reserveInventory, input, {
    // If the run fails. It is a step of the run's own worker.
    compensate: () => tell({ order: input.id, text: `the ${input.item} goes back to its shelf`, mark: "note" }),
  });
  const { payment } = await ctx.task(processPayment, input);
  const { mail } = await ctx.task(sendMail, { order: input.id, to: input.email, text: `your ${input.item} is paid` });
  return { shelf, payment, mail };
});
