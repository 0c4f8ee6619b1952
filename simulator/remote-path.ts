/**
 * A network more between a process and its store: every call goes through a session and its codec, over a stream that is cut now and
 * then, before a message arrives or after. The server at its other end lives in the process, and dies with it.
 */
import { Buffer } from "node:buffer";
import { silentLogger } from "../packages/holdfast/src/ports/logger.ts";
import type { Store } from "../packages/holdfast/src/ports/store.ts";
import { callStore, storeOf } from "../packages/holdfast/src/ports/store-calls.ts";
import { openRemote, type RemoteParams } from "../packages/remote/src/links.ts";
import { type MountedSession, StoreService } from "../packages/server/src/store-service/store-service.ts";
import type { AroundStore } from "./process.ts";

/** Of all writes, how many find the stream cut. */
const CUTS = 1 / 150;

/** Counts how often a stream was cut. */
export function remotePath(onCut: () => void): AroundStore {
  return (store, { clock, random }) => {
    const notifier = { publish: () => {}, subscribe: () => () => {} };
    const service = new StoreService({ store, notifier, clock, random, log: silentLogger });
    const openLink: RemoteParams["openLink"] = async (events) => {
      let over = false;
      let session: MountedSession | undefined;
      const cut = (): void => {
        if (over) return;
        over = true;
        onCut();
        clock.immediate(() => {
          session?.closed();
          events.closed(new Error("the stream was cut"));
        });
      };
      const carry = (bytes: Buffer, receive: (bytes: Buffer) => void): boolean => {
        if (over) return false;
        const copy = Buffer.from(bytes);
        const isCut = random.next() < CUTS;
        clock.immediate(() => {
          if (over) return;
          if (isCut) cut();
          else receive(copy);
        });
        return true;
      };
      const rest = { pause: () => {}, resume: () => {}, end: cut, destroy: cut };
      session = service.session(
        { write: (bytes) => carry(bytes, (copy) => events.data(copy)), ...rest },
        { allows: () => true, duties: true },
      );
      return { write: (bytes) => carry(bytes, (copy) => session?.data(copy)), ...rest };
    };
    const opening = openUntil({ clock, random, log: silentLogger, where: "the simulator", openLink, duties: true });
    return storeOf(
      // A function cannot travel: transactions go past the session, as those of a worker with a database of its own.
      async (method, params) => callStore(method === "transact" ? store : await opening, method, params),
      { capabilities: store.capabilities, close: async () => {} },
    );
  };
}

/** The first session may be cut as well. */
async function openUntil(params: RemoteParams): Promise<Store> {
  for (;;) {
    try {
      return (await openRemote(params)).store;
    } catch {
      await new Promise<void>((resolve) => params.clock.immediate(resolve));
    }
  }
}
