// Two versions of the same order, and a shop that they talk to. The first one has a bug that no ordinary test finds.
import { workflow } from "holdfast";

/** A payment service as most are today: it charges once per key, if it is given one, and always if it is not. */
export interface Shop {
  charge(cents: number, idempotencyKey?: string): Promise<string>;
  ship(orderId: string): Promise<string>;
}

export interface Order {
  readonly id: string;
  readonly cents: number;
}

/**
 * The bug: if the worker dies when the bank has the money and Holdfast does not know it yet, the next worker charges again.
 * The step looks as if it cared: it does not repeat itself. But that is not for the step to decide.
 */
export const makeBuggyOrder = (shop: Shop) =>
  workflow("order", async (ctx, order: Order) => {
    const payment = await ctx.step("charge", () => shop.charge(order.cents), { retry: "none" });
    await ctx.sleep("cool-off", "1 day");
    const parcel = await ctx.step("ship", () => shop.ship(order.id));
    return { payment, parcel };
  });

/** The fix: the key is the same for every execution of this step of this run, so the bank can tell "again" from "another". */
export const makeOrder = (shop: Shop) =>
  workflow("order", async (ctx, order: Order) => {
    const payment = await ctx.step("charge", (s) => shop.charge(order.cents, s.idempotencyKey));
    await ctx.sleep("cool-off", "1 day");
    const parcel = await ctx.step("ship", () => shop.ship(order.id));
    return { payment, parcel };
  });
