// Two versions of the same order, and the shop that they call. The first one has a bug that no ordinary test finds.
import { workflow } from "holdfast";

/** A typical payment service: with a key it charges once per key, without one it charges every time. */
export interface Shop {
  charge(cents: number, idempotencyKey?: string): Promise<string>;
  ship(orderId: string): Promise<string>;
}

export interface Order {
  readonly id: string;
  readonly cents: number;
}

/**
 * The bug: if the worker dies after the bank has taken the money and before Holdfast has recorded it, the next worker
 * charges again. The step looks safe because it does not repeat itself, but that is not for the step to decide.
 */
export const makeBuggyOrder = (shop: Shop) =>
  workflow("order", async (ctx, order: Order) => {
    const payment = await ctx.step("charge", () => shop.charge(order.cents), { retry: "none" });
    await ctx.sleep("cool-off", "1 day");
    const parcel = await ctx.step("ship", () => shop.ship(order.id));
    return { payment, parcel };
  });

/**
 * The fix: the key is the same for every execution of this step of this run, so the bank can tell a repeated charge
 * from a new one.
 */
export const makeOrder = (shop: Shop) =>
  workflow("order", async (ctx, order: Order) => {
    const payment = await ctx.step("charge", (s) => shop.charge(order.cents, s.idempotencyKey));
    await ctx.sleep("cool-off", "1 day");
    const parcel = await ctx.step("ship", () => shop.ship(order.id));
    return { payment, parcel };
  });
