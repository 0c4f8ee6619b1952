/**
 * What a server does for all namespaces, because its clients do not: sweeps, limits of tasks, debts, schedules, retention. It is the
 * engine's own worker, without workflows, so that any number of servers and embedded workers share these duties.
 *
 * A server that starts waits one full lease before its first sweep. If it was the only one, none of its clients could renew
 * their leases while it was away, and all of them would be declared dead at once.
 */
import { connect } from "holdfast";
import { type Clock, hookedStore, type Logger, type OpenedStore, type Store } from "holdfast/adapter";

/** The namespace of the worker that does the duties. Nothing runs in it. */
const DUTY_NAMESPACE = "holdfast-server";

export interface DutiesParams {
  readonly opened: OpenedStore;
  readonly clock: Clock;
  readonly log: Logger;
  /** The lease of the worker that does the duties. */
  readonly leaseMs?: number;
  /** How many milliseconds before its first sweep. Default: the longest lease among the workers that live. */
  readonly firstSweepMs?: number;
}

export interface Duties {
  stop(): Promise<void>;
}

const LEASE_MS_DEFAULT = 30_000;
/** Namespaces that are read at once. */
const PAGE = 500;

export async function startDuties(params: DutiesParams): Promise<Duties> {
  const { opened, clock, log, leaseMs = LEASE_MS_DEFAULT } = params;
  const firstSweepMs = params.firstSweepMs ?? Math.max(leaseMs, await longestLease(opened));
  const store = patientStore(opened.store, clock, firstSweepMs);
  const adapter = { name: "duties", schemes: ["duties"], openStore: async () => ({ ...opened, store }) };
  const client = await connect("duties:", { adapters: [adapter], namespace: DUTY_NAMESPACE, logger: log });
  const worker = client.worker({ name: "server", lease: { milliseconds: leaseMs } });
  await worker.start();
  return {
    async stop() {
      await worker.drain();
      await client.close();
    },
  };
}

/** Of the workers that may come through a server: their namespaces have rows. */
export async function longestLease({ store, access }: OpenedStore): Promise<number> {
  let longest = 0;
  for (let after: string | null = null; access; ) {
    const page: readonly { readonly name: string }[] = await access.listNamespaces({ after, limit: PAGE });
    for (const { name } of page)
      for (const { status, leaseMs } of await store.workers.list({ namespace: name }))
        if (status !== "offline") longest = Math.max(longest, leaseMs);
    after = page.at(-1)?.name ?? null;
    if (page.length < PAGE) break;
  }
  return longest;
}

/** A store that declares nobody dead for a while, and stays open when its client closes. */
export function patientStore(store: Store, clock: Clock, firstSweepMs: number): Store {
  const patientUntil = clock.monotonic() + firstSweepMs;
  const patient = hookedStore(store, {
    "workers.sweep": async (sweep, call) => {
      const restMs = patientUntil - clock.monotonic();
      if (restMs <= 0 || sweep.gone !== undefined) return call();
      // Everything but leases: nobody is declared dead.
      const result = await call({ ...sweep, gone: [] });
      return {
        ...result,
        nextExpiryAt: Math.min(result.nextExpiryAt ?? Number.POSITIVE_INFINITY, result.now + restMs),
      };
    },
  });
  return { ...patient, close: async () => {} };
}
