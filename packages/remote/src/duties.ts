/**
 * Duties for all namespaces at once: a client of a server does not do them, because a tenant must not judge the workers and the runs
 * of another. The server does them by itself. The engine asks for them all the same, and is told that there is nothing to do.
 */
import type { StoreMethod, SweepResult } from "holdfast/adapter";

type Clock = () => Promise<{ readonly now: number }>;

const NOTHING_SWEPT: Omit<SweepResult, "now"> = {
  dead: 0,
  returned: 0,
  tasksReturned: 0,
  parked: 0,
  timedOut: 0,
  more: false,
  nextExpiryAt: null,
  nextTaskExpiryAt: null,
};

/** The answer to a duty; undefined if the call is none. */
export function answerDuty(method: StoreMethod, params: unknown, readClock: Clock): Promise<unknown> | undefined {
  if (method === "workers.sweep") return readClock().then(({ now }) => ({ ...NOTHING_SWEPT, now }));
  if (method === "tasks.expired") return readClock().then(({ now }) => ({ tasks: [], now, nextExpiryAt: null }));
  if (method === "workers.forget") return Promise.resolve({ more: false });
  if (method === "retention.list") return Promise.resolve([]);
  if (method === "debts.read" && (params as { runs?: unknown }).runs === undefined) return Promise.resolve([]);
  return undefined;
}

/** A worker behind a server never leads: the server does. */
export function withoutLeading(method: StoreMethod, params: unknown): unknown {
  if (method !== "workers.register" && method !== "workers.heartbeat") return params;
  const { coordinates: _, ...rest } = params as { readonly coordinates?: boolean };
  return rest;
}
