/** Further clients on the store of one: for programs that show what a store has, such as the dashboard. */
import type { AnyWorkflow } from "../define/definitions.ts";
import { requireName } from "../errors/option-checks.ts";
import type { AccessStore } from "../ports/access.ts";
import type { Clock } from "../ports/clock.ts";
import type { Codec } from "../ports/codec.ts";
import type { Logger } from "../ports/logger.ts";
import type { Notifier } from "../ports/notifier.ts";
import type { Random } from "../ports/random.ts";
import type { Store } from "../ports/store.ts";
import { Client } from "./client.ts";
import { RESULT_LOOK_MS } from "./result-waiter.ts";

/** The store of a client, and how it was opened. */
export interface ClientStore {
  readonly store: Store;
  readonly notifier: Notifier;
  readonly clock: Clock;
  readonly random: Random;
  readonly codec: Codec;
  readonly log: Logger;
  /** `file:app.db`, `postgres://host/app`: without credentials. */
  readonly place?: string;
  /** Absent where the store keeps no namespaces, keys and audit log, or they cannot be reached. */
  readonly access?: AccessStore;
  /** What the workers of the client can run now. */
  workflows(): readonly AnyWorkflow[];
  /**
   * Another client on the same store. With a codec, payloads are what that codec reads; it knows of the workers of the first
   * one if the namespace is the same, and must not be closed. Closing any other leaves the store open.
   */
  client(namespace: string, codec?: Codec): Client;
}

export function clientStore(client: Client): ClientStore {
  const { core, workers } = Client.inside(client);
  const { ports } = core;
  const { store, notifier, clock, random, codec, log, place, access } = ports;
  return {
    store,
    notifier,
    clock,
    random,
    codec,
    log,
    ...(place === undefined ? {} : { place }),
    ...(access === undefined ? {} : { access }),
    workflows: () => workers.flatMap((worker) => worker.workflows),
    client(namespace, other) {
      requireName(namespace, "namespace");
      const own = other ? { ...ports, codec: other, plainCodec: false } : ports;
      const shared = other && namespace === client.namespace ? workers : [];
      return new Client(own, namespace, async () => {}, RESULT_LOOK_MS, false, shared);
    },
  };
}
