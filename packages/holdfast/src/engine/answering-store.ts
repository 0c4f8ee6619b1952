import { HoldfastError } from "../errors/holdfast-error.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";

/** The least limit: well above what adapters wait for by themselves. */
const ANSWER_LIMIT_MS = 60_000;

/** A transaction step takes as long as the user's own work does, and is ended by its signal; closing waits for what is left. */
const UNLIMITED: ReadonlySet<PropertyKey> = new Set(["transact", "close"]);

type StoreCall = (params: unknown) => Promise<unknown>;

const originals = new WeakMap<object, Store>();

export interface AnsweringStoreParams {
  readonly clock: Clock;
  /** How long the adapter itself waits for an answer at most; the limit is above it. */
  readonly callLimitMs?: number | undefined;
}

/**
 * A store whose calls always settle. Adapters have limits of their own, but a driver with a fault may never answer, and whoever
 * waits for that would wait for ever: a worker would keep its runs and do nothing. A call without an answer is what it is, an
 * unknown outcome, and is repeated like any other.
 */
export function answeringStore(store: Store, { clock, callLimitMs = 0 }: AnsweringStoreParams): Store {
  const limitMs = Math.max(ANSWER_LIMIT_MS, 2 * callLimitMs);
  const wrapped = settling(store, clock, limitMs);
  originals.set(wrapped, store);
  return wrapped;
}

/** The adapter's own store, for what only it can do. */
export function originalStore(store: Store): Store {
  return originals.get(store) ?? store;
}

/** Also for groups of calls within the store. */
function settling<T extends object>(target: T, clock: Clock, limitMs: number): T {
  const made = new Map<PropertyKey, unknown>();
  return new Proxy(target, {
    get: (_, name) => {
      if (made.has(name)) return made.get(name);
      const value: unknown = Reflect.get(target, name);
      let answer = value;
      if (typeof value === "function") {
        const call = value.bind(target) as StoreCall;
        answer = UNLIMITED.has(name) ? call : (params: unknown) => settled(call(params), String(name), clock, limitMs);
      } else if (typeof value === "object" && value !== null) answer = settling(value, clock, limitMs);
      made.set(name, answer);
      return answer;
    },
  });
}

function settled<T>(answer: Promise<T>, name: string, clock: Clock, limitMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = clock.setTimer(limitMs, () => {
      const message = `The store has not answered ${name} for ${Math.round(limitMs / 1_000)} s. It may or may not have taken effect.`;
      reject(new HoldfastError("store_outcome_unknown", message, { data: { call: name } }));
    });
    timer.unref?.();
    answer.then(
      (value) => {
        timer.cancel();
        resolve(value);
      },
      (error: unknown) => {
        timer.cancel();
        reject(error);
      },
    );
  });
}
