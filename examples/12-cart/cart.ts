// A shopping cart that is one run: updates change it, a query shows it, and it ends when it is paid, or after a week.
import { query, update, workflow } from "holdfast";

export interface Item {
  readonly item: string;
  readonly cents: number;
}
export interface Contents {
  readonly items: readonly string[];
  readonly cents: number;
}

export const add = update<Item, Contents>("add");
export const remove = update<string, Contents>("remove");
export const checkout = update<{ card: string }, string>("checkout");
export const contents = query<Contents>("contents");

/** The outside world, so that a test can have one of its own. */
export interface Shop {
  /** The key is the same whenever this is repeated: charge once. */
  charge(cents: number, card: string, key: string): Promise<string>;
}

export function makeCart(shop: Shop) {
  // What a cart can be asked. Handles made from this definition offer nothing else: a typo, or an update of another workflow,
  // is refused where it is sent.
  const asked = { signals: [], updates: [add, remove, checkout], queries: [contents] } as const;
  return workflow({ name: "cart", ...asked }, async (ctx, owner: string) => {
    const items: Item[] = [];
    let state: "open" | "paying" | "paid" = "open";
    const show = (): Contents => ({
      items: items.map(({ item }) => item),
      cents: items.reduce((sum, { cents }) => sum + cents, 0),
    });
    // What validate refuses has never happened.
    const requireOpen = (): void => {
      if (state !== "open") throw new Error("the cart is being paid");
    };

    ctx.on(contents, show);
    ctx.on(add, {
      validate: requireOpen,
      handle: (item) => {
        items.push(item);
        return show();
      },
    });
    ctx.on(remove, {
      validate: (name) => {
        requireOpen();
        if (!items.some(({ item }) => item === name)) throw new Error(`there is no ${name} in the cart`);
      },
      handle: (name) => {
        items.splice(
          items.findIndex(({ item }) => item === name),
          1,
        );
        return show();
      },
    });
    ctx.on(checkout, {
      validate: () => {
        requireOpen();
        if (items.length === 0) throw new Error("the cart is empty");
      },
      // A handler is workflow code: it may take steps. If its worker dies, the next one goes on with it.
      handle: async ({ card }) => {
        state = "paying";
        try {
          const receipt = await ctx.step("charge", (s) => shop.charge(show().cents, card, s.idempotencyKey));
          state = "paid";
          return receipt;
        } finally {
          if (state === "paying") state = "open"; // the card was declined: the owner may try another one
        }
      },
    });

    const paid = await ctx.until(() => state === "paid", { timeout: "1 week" });
    return paid ? `${owner} has bought ${show().items.join(", ")}` : `${owner} has left without buying`;
  });
}
