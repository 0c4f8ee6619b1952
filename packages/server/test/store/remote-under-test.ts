import type { OpenStore, StoreUnderTest } from "@holdfast/conformance";
import { openStoreWith } from "@holdfast/remote/links";
import { type Logger, type OpenedStore, systemPorts } from "holdfast/adapter";
import type { Caller } from "../../src/store-service/caller.ts";
import { openStoreServer, type StoreServerOptions } from "./store-listener.ts";

export const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/** A link between servers: it may do duties, as the suites of stores do. */
export const SERVER: Caller = { allows: () => true, duties: true };

/** A client of a server, which forwards everything and hears everything. */
export function openWhole(url: string): Promise<OpenedStore> {
  return openStoreWith(url, { ...systemPorts, log: silent }, { duties: true, hintsOf: ["*"] });
}

/** A store behind a server, seen from a client. */
export function remoteUnderTest(open: OpenStore, options: StoreServerOptions = {}): OpenStore {
  return async (): Promise<StoreUnderTest> => {
    const behind = await open();
    const server = await openStoreServer(behind, { callerOf: () => SERVER, ...options });
    const first = await openWhole(server.url);
    const opened = [first];
    const { setClock } = behind;
    return {
      ...first,
      application: behind.application,
      hintsReachOthers: true,
      async openSecond() {
        const second = await openWhole(server.url);
        opened.push(second);
        return second;
      },
      ...(setClock ? { setClock: (ms: number) => setClock(ms) } : {}),
      async close() {
        for (const { store } of opened) await store.close();
        await server.close();
        await behind.close();
      },
    };
  };
}
