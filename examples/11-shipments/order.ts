// An order, and its shipments: runs of their own, one for each item.
import { NonRetryableError, workflow } from "holdfast";

export interface Item {
  readonly item: string;
  readonly kilograms: number;
}
export interface Order {
  readonly id: string;
  readonly items: readonly Item[];
}

/** The outside world, so that a test can have one of its own. */
export interface Depot {
  pick(item: string): void;
  /** Throws if no van can carry it, or the van breaks down. */
  deliver(item: Item, attempt: number): void;
  takeBack(item: string): void;
}

export function makeOrder(depot: Depot) {
  const shipment = workflow("shipment", async (ctx, input: Item) => {
    await ctx.step("pick", () => depot.pick(input.item));
    await ctx.step("deliver", (s) => depot.deliver(input, s.attempt), { retry: { attempts: 3, fixed: "10ms" } });
    return `${input.item} delivered`;
  });

  const order = workflow("order", async (ctx, input: Order) => {
    const ship = (item: Item) => ctx.child(shipment, item, { id: `${input.id}-${item.item}` });
    const shipments = input.items.map(ship);
    // One that fails does not stop the others: each may end before the order fails.
    await Promise.allSettled(shipments);
    return Promise.all(shipments);
  });

  /** All or nothing: what was delivered is taken back if the rest is not. */
  const furnish = workflow("furnish", async (ctx, input: Order) => {
    for (const item of input.items)
      await ctx.child(shipment, item, {
        compensate: (_, { outcome }) => {
          if (outcome === "completed") depot.takeBack(item.item);
        },
      });
  });
  return { order, shipment, furnish };
}

export function tooHeavy({ item, kilograms }: Item): Error {
  return new NonRetryableError(`no van can carry the ${item}, ${kilograms} kg`);
}
