// How to prove that a workflow survives a crash, wherever it happens:
//   npx vitest run examples/06-testing
import { crashEverywhere, testEngine } from "holdfast/testing";
import { expect, test } from "vitest";
import { FakeShop } from "./fake-shop.ts";
import { makeBuggyOrder, makeOrder } from "./order.ts";

const order = { id: "o-1", cents: 990 };
const result = { payment: "payment", parcel: "parcel of o-1" };

test("the buggy order passes an ordinary test: nothing dies in it", async () => {
  const shop = new FakeShop();
  const buggy = makeBuggyOrder(shop);
  const t = await testEngine({ workflows: [buggy] });
  expect(await t.run(buggy, order)).toEqual(result); // after a day, which takes milliseconds
  expect(shop.snapshot()).toEqual({ charged: [990], parcels: ["o-1"] });
  await t.close();
});

test("crashEverywhere finds where it charges twice", async () => {
  const shop = new FakeShop();
  const found = crashEverywhere(makeBuggyOrder(shop), order, { effects: shop });
  await expect(found).rejects.toMatchObject({
    code: "crash_unsafe",
    // When the worker dies right before commit 1, the outside world ends up as … instead of …
    message: expect.stringMatching(
      /dies right before commit 1.* ends up as {"charged":\[990,990\].* instead of {"charged":\[990\].* executed a second time: charge\./,
    ),
  });
});

test("the fixed order charges once, wherever the worker dies", async () => {
  const shop = new FakeShop();
  const report = await crashEverywhere(makeOrder(shop), order, { effects: shop });
  expect(report.output).toEqual(result);
  expect(report.crashes).toBeGreaterThanOrEqual(6); // before and after each commit
  expect(report.repeatedSteps).toBeGreaterThan(0); // steps were executed again, without harm
});
