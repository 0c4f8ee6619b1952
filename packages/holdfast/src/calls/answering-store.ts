import { HoldfastError, isHoldfastError } from "../errors/holdfast-error.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import { storeAround } from "../ports/store-calls.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import { RecentLatency } from "./recent-latency.ts";

/** The smallest limit: well above what adapters wait for by themselves. */
const ANSWER_LIMIT_MS = 60_000;

const originals = new WeakMap<Store, Store>();
const latencies = new WeakMap<Store, RecentLatency>();

export interface AnsweringStoreParams {
  readonly clock: Clock;
  /** The longest that the adapter itself waits for an answer; the limit is above it. */
  readonly callLimitMs?: number | undefined;
  readonly telemetry?: Telemetry | undefined;
}

/**
 * A store whose calls always settle. Adapters have their own limits, but a faulty driver may never answer, and its callers
 * would wait forever: a worker would keep its runs and do nothing. A call without an answer has an unknown outcome and is
 * repeated like any other.
 */
export function answeringStore(store: Store, { clock, callLimitMs = 0, telemetry }: AnsweringStoreParams): Store {
  const limitMs = Math.max(ANSWER_LIMIT_MS, 2 * callLimitMs);
  const recent = new RecentLatency();
  const answered = (method: string, call: () => Promise<unknown>): Promise<unknown> =>
    // A transaction step takes as long as the user's own work, and its signal ends it.
    method === "transact" ? call() : settled(call(), method, clock, limitMs);
  const wrapped = storeAround(store, (method, _params, call) => {
    const sentAt = clock.monotonic();
    const answer = answered(method, call);
    // Beside the call, not in its way: the caller's answer is no later for it.
    const report = (outcome: string): void => {
      const ms = clock.monotonic() - sentAt;
      if (method !== "transact") recent.add(ms);
      telemetry?.duration("store_call", ms, { call: method, outcome });
    };
    answer.then(
      () => report("ok"),
      (error: unknown) => report(isHoldfastError(error) ? error.code : "unknown"),
    );
    return answer;
  });
  originals.set(wrapped, store);
  latencies.set(wrapped, recent);
  return wrapped;
}

/** How long the last calls of this store took; undefined if nobody measures it. */
export function latencyOf(store: Store): { readonly p50Ms: number; readonly p99Ms: number } | undefined {
  return latencies.get(store)?.percentiles();
}

/** The adapter's own store, for what only it can do. */
export function originalStore(store: Store): Store {
  return originals.get(store) ?? store;
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
