import { requireName } from "../errors/option-checks.ts";
import { LOCK_LIMIT_MAX, type LockRequest } from "../model/lock.ts";
import type { ClientCore } from "./client-core.ts";

/** So many requests of a name are looked at: all holders, and as many that wait. */
const REQUESTS_MAX = 2 * LOCK_LIMIT_MAX;

/** A run that holds a lock. */
export interface LockHolder {
  readonly id: string;
  readonly runId: string;
  /** The op of the run: `lock:<name>`. */
  readonly op: string;
  /** As `lock.fence` of `ctx.withLock`. */
  readonly fence: number;
}

/** A run that waits for a lock. */
export interface LockWaiter {
  readonly id: string;
  readonly runId: string;
  readonly op: string;
  /** Where it stands in line, from 1. */
  readonly position: number;
}

/** Who holds a lock, and who waits for it. */
export interface LockView {
  readonly name: string;
  /** How many may hold it at once, as the newest request says; null if there is none. */
  readonly limit: number | null;
  readonly holders: readonly LockHolder[];
  /** In the order in which they asked; the first ones, if there are more than 10,000. */
  readonly waiting: readonly LockWaiter[];
}

/** The locks of a namespace: `ctx.withLock`. */
export class Locks {
  readonly #core: ClientCore;

  constructor(core: ClientCore) {
    this.#core = core;
  }

  /** Who holds the lock of that name, and who waits for it. */
  async list(name: string): Promise<LockView> {
    requireName(name, "lock name");
    return readLock(this.#core, name);
  }
}

export async function readLock(core: ClientCore, name: string): Promise<LockView> {
  const { namespace } = core;
  const requests = await core.call((store) => store.locks.list({ namespace, of: { name }, limit: REQUESTS_MAX }));
  const about = ({ id, runId, op }: LockRequest) => ({ id, runId, op });
  const holders = requests.flatMap((one) => (one.fence === null ? [] : [{ ...about(one), fence: one.fence }]));
  const waiting = requests.filter(({ fence }) => fence === null).map((one, i) => ({ ...about(one), position: i + 1 }));
  return { name, limit: requests.at(-1)?.limit ?? null, holders, waiting };
}
