// Stand-ins for the services that a shop would call: a bank, a carrier and a mailer. They report what they do.
import { setTimeout as pause } from "node:timers/promises";
import type { Order } from "./order.ts";
import { tell } from "./tell.ts";

export const bank = {
  /** The first call for o-1 finds the bank down. */
  async charge(order: Order, attempt: number, key: string): Promise<string> {
    if (order.id === "o-1" && attempt === 1) {
      tell({ order: order.id, step: "charge", attempt, text: "503, the bank is down", mark: "bad" });
      throw Object.assign(new Error("the bank is down"), { status: 503 });
    }
    tell({ order: order.id, step: "charge", attempt, text: `${euros(order)} charged, key …${key.slice(-10)}` });
    return `payment-${order.id}`;
  },

  /** Addressed by the key of the charge, so it is right even if it is unknown how the charge ended. */
  async refund(order: Order, key: string): Promise<void> {
    tell({ order: order.id, step: "refund", text: `${euros(order)} refunded, key …${key.slice(-10)}` });
  },
};

export const carrier = {
  async printLabel(order: Order, attempt: number): Promise<string> {
    tell({ order: order.id, step: "label", attempt, text: "printing …", mark: "busy" });
    await pause(900);
    tell({ order: order.id, step: "label", attempt, text: "printed" });
    return `label-${order.id}`;
  },
};

export const mailer = {
  async send(order: Order, attempt: number): Promise<string> {
    await pause(150);
    tell({ order: order.id, step: "mail", attempt, text: `sent to ${order.email}` });
    return `mail-${order.id}`;
  },
};

function euros(order: Order): string {
  return `${(order.cents / 100).toFixed(2)} EUR`;
}
