/**
 * What lies between a process of a test and its store. Nothing, unless the tests run in the project "wire" of vitest.config.ts, whose
 * setup puts a server and its wire there: everything that the engine does must be the same then.
 */
import type { Clock } from "../../src/ports/clock.ts";
import type { Store } from "../../src/ports/store.ts";

type Network = (store: Store, clock: Clock) => Store;

export function throughNetwork(store: Store, clock: Clock): Store {
  const network = (globalThis as { holdfastTestNetwork?: Network }).holdfastTestNetwork;
  return network ? network(store, clock) : store;
}
