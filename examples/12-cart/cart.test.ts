import { NonRetryableError } from "holdfast";
import { crashEverywhere, testEngine } from "holdfast/testing";
import { expect, test } from "vitest";
import { add, checkout, contents, makeCart, remove } from "./cart.ts";

const lamp = { item: "lamp", cents: 4_990 };

/** A bank that remembers keys, and declines one card. */
class FakeShop {
  readonly charges = new Map<string, number>();

  async charge(cents: number, card: string, key: string): Promise<string> {
    if (card === "stolen") throw new NonRetryableError("declined");
    this.charges.set(key, cents);
    return `receipt for ${cents} cents`;
  }
}

test("a cart is filled, shown and paid", async () => {
  const cart = makeCart(new FakeShop());
  const t = await testEngine({ workflows: [cart] });
  const run = await t.client.start(cart, "Ann");
  await run.update(add, lamp);
  await run.update(add, { item: "bulb", cents: 300 });
  expect(await run.update(remove, "bulb")).toEqual({ items: ["lamp"], cents: 4_990 });
  expect(await run.update(checkout, { card: "4711" })).toBe("receipt for 4990 cents");
  expect(await run.result()).toBe("Ann has bought lamp");
  expect(await run.query(contents)).toEqual({ items: ["lamp"], cents: 4_990 });
  await t.close();
});

test("a card that is declined leaves the cart open for another one", async () => {
  const cart = makeCart(new FakeShop());
  const t = await testEngine({ workflows: [cart] });
  const run = await t.client.start(cart, "Ann");
  await expect(run.update(checkout, { card: "4711" })).rejects.toMatchObject({ code: "update_rejected" });
  await run.update(add, lamp);
  await expect(run.update(checkout, { card: "stolen" })).rejects.toMatchObject({
    code: "update_failed",
    cause: { message: "declined" },
  });
  expect(await run.update(checkout, { card: "4711" })).toBe("receipt for 4990 cents");
  await t.close();
});

test("a cart that nobody pays for is given up after a week", async () => {
  const cart = makeCart(new FakeShop());
  const t = await testEngine({ workflows: [cart] });
  expect(await t.run(cart, "Bob")).toBe("Bob has left without buying");
  await t.close();
});

test("a cart is paid once, wherever its worker dies", async () => {
  const shop = new FakeShop();
  const report = await crashEverywhere(makeCart(shop), "Ann", {
    effects: { reset: () => shop.charges.clear(), snapshot: () => [...shop.charges.values()] },
    whenWaiting: async (client, id) => {
      await client.get(id).update(add, lamp, { id: "click-1" });
      await client.get(id).update(checkout, { card: "4711" }, { id: "pay" });
    },
  });
  expect(report.output).toBe("Ann has bought lamp");
  expect([...shop.charges.values()]).toEqual([4_990]);
});
