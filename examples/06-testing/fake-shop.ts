// The outside world, as far as the order can change it. crashEverywhere resets it before each run and compares it
// afterwards.
import type { WorldModel } from "holdfast/testing";
import type { Shop } from "./order.ts";

export class FakeShop implements Shop, WorldModel {
  #charges = new Map<string, number>();
  #parcels = new Set<string>();

  async charge(cents: number, idempotencyKey = `charge without a key, no. ${this.#charges.size + 1}`): Promise<string> {
    this.#charges.set(idempotencyKey, cents);
    return "payment";
  }

  /** Requesting the same parcel twice gives one parcel: shipping is already safe to repeat. */
  async ship(orderId: string): Promise<string> {
    this.#parcels.add(orderId);
    return `parcel of ${orderId}`;
  }

  reset(): void {
    this.#charges = new Map();
    this.#parcels = new Set();
  }

  snapshot(): unknown {
    return { charged: [...this.#charges.values()], parcels: [...this.#parcels] };
  }
}
