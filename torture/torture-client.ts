/**
 * A client whose ports are assembled by hand, as `connect` does it, so that a watcher can be put between engine and
 * store.
 */
import { jsonCodec, type Logger, silentLogger } from "holdfast";
import { type OpenStore, type Store, systemPorts } from "holdfast/adapter";
import { Client } from "../packages/holdfast/src/client/client.ts";

type Ports = ConstructorParameters<typeof Client>[0];

/** Where torture keeps its runs: a separate file or schema. */
export interface Place {
  readonly url: string;
  readonly schema?: string;
}

export interface TortureClient {
  readonly client: Client;
  readonly store: Store;
}

export interface TortureClientOptions {
  readonly log?: Logger;
  readonly wrap?: (store: Store) => Store;
  readonly steps?: Ports["steps"];
  readonly tasks?: Ports["tasks"];
}

export async function openTortureClient(place: Place, options: TortureClientOptions = {}): Promise<TortureClient> {
  const log = options.log ?? silentLogger;
  const openStore = await adapterFor(place.url);
  const { store, notifier } = await openStore(place.url, {
    ...systemPorts,
    log,
    ...(place.schema === undefined ? {} : { schema: place.schema }),
  });
  const ports: Ports = {
    ...systemPorts,
    codec: jsonCodec,
    log,
    store: options.wrap?.(store) ?? store,
    notifier,
    ...(options.steps ? { steps: options.steps } : {}),
    ...(options.tasks ? { tasks: options.tasks } : {}),
  };
  return { client: new Client(ports, "default", () => store.close()), store };
}

async function adapterFor(url: string): Promise<OpenStore> {
  const adapter = isPostgres(url) ? await import("@holdfast/postgres") : await import("@holdfast/sqlite");
  return adapter.openStore;
}

export function isPostgres(url: string): boolean {
  return /^postgres(?:ql)?:/i.test(url);
}
