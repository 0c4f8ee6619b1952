import { HoldfastError, isHoldfastError } from "../errors/holdfast-error.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import { storeAround } from "../ports/store-calls.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import { RecentLatency } from "./recent-latency.ts";
import { isTransient, isUnreachable } from "./store-retry.ts";

/** The smallest limit: well above what adapters wait for by themselves. */
const ANSWER_LIMIT_MS = 60_000;

/** What workers and callers write all the time. A store may answer every read and take none of these: a full disk, a file that is read-only. */
const WRITES: ReadonlySet<string> = new Set(["workers.heartbeat", "runs.start", "runs.commit", "inbox.deliver"]);
/**
 * After this time, a write that failed says nothing any more. Heartbeats are repeated sooner; a process without workers that is not
 * ready gets no calls, and would never find out that it may write again.
 */
const WRITE_FAULT_MS = 60_000;

const originals = new WeakMap<Store, Store>();
const experiences = new WeakMap<Store, Experience>();

/** What the calls of a store have shown. */
interface Experience {
  readonly clock: Clock;
  readonly recent: RecentLatency;
  /** Why the last write that reached the store has failed, and when, by the monotonic clock; undefined if it has not. */
  writeFault: { readonly text: string; readonly at: number } | undefined;
}

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
  const experience: Experience = { clock, recent: new RecentLatency(), writeFault: undefined };
  const answered = (method: string, call: () => Promise<unknown>): Promise<unknown> =>
    // A transaction step takes as long as the user's own work, and its signal ends it.
    method === "transact" ? call() : settled(call(), method, clock, limitMs);
  const wrapped = storeAround(store, (method, _params, call) => {
    const sentAt = clock.monotonic();
    const answer = answered(method, call);
    // Beside the call, not in its way: the caller's answer is no later for it.
    const report = (outcome: string): void => {
      const now = clock.monotonic();
      if (method !== "transact") experience.recent.add(now - sentAt, now);
      telemetry?.duration("store_call", now - sentAt, { call: method, outcome });
    };
    answer.then(
      () => {
        if (experience.writeFault && WRITES.has(method)) experience.writeFault = undefined;
        report("ok");
      },
      (error: unknown) => {
        // Who does not get there learns nothing about writing: whether the store is there, reads tell.
        if (WRITES.has(method) && isTransient(error) && !isUnreachable(error))
          experience.writeFault = { text: (error as Error).message, at: clock.monotonic() };
        report(isHoldfastError(error) ? error.code : "unknown");
      },
    );
    return answer;
  });
  originals.set(wrapped, store);
  experiences.set(wrapped, experience);
  return wrapped;
}

/** How long the last calls of this store took; undefined if nobody measures it. */
export function latencyOf(store: Store): { readonly p50Ms: number; readonly p99Ms: number } | undefined {
  const experience = experiences.get(store);
  return experience?.recent.percentiles(experience.clock.monotonic());
}

/** Why the last write that reached this store has failed; undefined if it has not. */
export function writeFaultOf(store: Store): string | undefined {
  const { clock, writeFault } = experiences.get(store) ?? {};
  if (!clock || !writeFault || clock.monotonic() - writeFault.at > WRITE_FAULT_MS) return undefined;
  return writeFault.text;
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
