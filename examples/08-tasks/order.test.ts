import { testEngine } from "holdfast/testing";
import { expect, test } from "vitest";
import { order, processPayment, reserveInventory, sendMail } from "./order.ts";

const tasks = [processPayment, reserveInventory, sendMail];
const lamp = { id: "o-1", item: "lamp", cents: 4_990, email: "ann@example.com" };

test("an order reserves, is paid at the second attempt, and is mailed", async () => {
  const t = await testEngine({ workflows: [order], tasks });
  const run = await t.client.start(order, lamp);
  expect(await run.result()).toEqual({ shelf: "shelf of the lamp", payment: "payment-o-1", mail: "mail-o-1" });
  expect((await run.steps()).map(({ op, attempts }) => `${op} ${attempts}`)).toEqual([
    "reserve-inventory 1",
    "process-payment 2",
    "send-mail 1",
  ]);
  await t.close();
});

test("what was reserved for an order that the bank declines goes back", async () => {
  const t = await testEngine({ workflows: [order], tasks });
  const run = await t.client.start(order, { ...lamp, cents: 4_500_000 });
  await expect(run.result()).rejects.toMatchObject({ cause: { message: "declined by the bank", attempts: 1 } });
  expect((await run.describe()).compensation).toBe("compensated");
  await t.close();
});
