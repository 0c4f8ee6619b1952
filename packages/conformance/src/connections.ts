import type { Store } from "holdfast/adapter";
import type { Fixture } from "./fixture.ts";

/** The first connection and two others, if the store has others. */
export async function connections(t: Fixture): Promise<readonly Store[]> {
  return [t.store, await t.second(), await t.second()];
}

export async function twoConnections(t: Fixture): Promise<readonly [Store, Store]> {
  return [t.store, await t.second()];
}

export function pick(stores: readonly Store[], i: number): Store {
  return stores[i % stores.length] as Store;
}

/** Sends both calls without waiting, in either order, and returns the answers in the order of the arguments. */
export async function race<A, B>(
  firstFirst: boolean,
  first: () => Promise<A>,
  second: () => Promise<B>,
): Promise<[A, B]> {
  if (firstFirst) return Promise.all([first(), second()]);
  const sent = second();
  return Promise.all([first(), sent]);
}
