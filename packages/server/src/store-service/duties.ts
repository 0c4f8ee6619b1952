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
  /** The longest lease that workers of this store have. */
  readonly leaseMs?: number;
  /** How many milliseconds before its first sweep. Default: the longest lease. */
  readonly firstSweepMs?: number;
}

export interface Duties {
  stop(): Promise<void>;
}

const LEASE_MS_DEFAULT = 30_000;

export async function startDuties(params: DutiesParams): Promise<Duties> {
  const { opened, clock, log, leaseMs = LEASE_MS_DEFAULT, firstSweepMs = leaseMs } = params;
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
