import { isTransient } from "../../calls/store-retry.ts";
import type { StoreTime } from "../../calls/store-time.ts";
import type { Logger } from "../../ports/logger.ts";
import type { Store } from "../../ports/store.ts";

/** How long the lives of workers, and what they have counted, are kept. */
export const KEPT_MS = 30 * 24 * 60 * 60 * 1000;
/** How soon a new leader looks for the first time, and how often then. */
const FIRST_MS = 5 * 60 * 1000;
const EVERY_MS = 60 * 60 * 1000;
/** Rows of each kind in one call. */
const LIMIT = 1_000;

interface HousekeeperParams {
  readonly store: Store;
  readonly storeTime: StoreTime;
  readonly log: Logger;
}

/** A duty of the leader: forgets what is kept of workers once it is old. It looks at its heartbeats, and needs no timer of its own. */
export class Housekeeper {
  readonly #params: HousekeeperParams;
  #nextAt: number | undefined;
  #busy = false;

  constructor(params: HousekeeperParams) {
    this.#params = params;
  }

  /** A heartbeat was answered. `leads`: this worker is the leader. */
  told(leads: boolean): void {
    const now = this.#params.storeTime.now();
    if (!leads) this.#nextAt = undefined;
    else if (this.#nextAt === undefined) this.#nextAt = now + FIRST_MS;
    else if (now >= this.#nextAt && !this.#busy) {
      this.#nextAt = now + EVERY_MS;
      void this.#forget(now - KEPT_MS);
    }
  }

  async #forget(before: number): Promise<void> {
    const { store, log } = this.#params;
    this.#busy = true;
    try {
      for (let more = true; more && this.#nextAt !== undefined; )
        ({ more } = await store.workers.forget({ before, limit: LIMIT }));
    } catch (error) {
      if (!isTransient(error)) log.warn({ error: String(error) }, "forgetting old workers failed; trying again later");
    } finally {
      this.#busy = false;
    }
  }
}
