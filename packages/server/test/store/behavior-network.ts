/**
 * Setup of the project "wire": the processes of the engine's own tests reach their store through sessions, one for each process, with the
 * codec, the parts and the merging of a real one. HOLDFAST_WIRE_CUTS=1 cuts the streams now and then, just before a message arrives.
 */
import { Buffer } from "node:buffer";
import { openRemote, type SessionLink } from "@holdfast/remote/links";
import { silentLogger } from "holdfast";
import { type Clock, callStore, type Random, type Store, storeOf } from "holdfast/adapter";
import { SeededSource } from "holdfast/testing";
import { StoreService } from "../../src/store-service/store-service.ts";
import { SERVER } from "./remote-under-test.ts";

/** Signs of life, and the age of sessions: virtual time may go on for years. */
const NEVER_MS = 20_000;
/** What looks after calls that are under way. The next attempt after a cut comes sooner. */
const LOOK_MS = 1_000;
/** Of all messages, how many find the stream cut. */
const CUTS = process.env["HOLDFAST_WIRE_CUTS"] ? 1 / 150 : 0;

(globalThis as { holdfastTestNetwork?: unknown }).holdfastTestNetwork = (store: Store, clock: Clock): Store => {
  const random = new SeededSource(1);
  const quiet = quietClock(clock);
  const notifier = { publish: () => {}, subscribe: () => () => {} };
  const log = silentLogger;
  const service = new StoreService({ store, notifier, clock: quiet, random, log, limits: { helloMs: NEVER_MS } });
  const openLink = async (events: Parameters<typeof linkTo>[2]): Promise<SessionLink> =>
    linkTo(service, clock, events, random);
  const open = () => openRemote({ clock: quiet, random, log, where: "a test", openLink, duties: true });
  let opening: Promise<Store> | undefined;
  return storeOf(
    async (method, params) => {
      // A function cannot travel: transactions go past the session, as those of a worker with a database of its own.
      if (method === "transact") return callStore(store, method, params);
      opening ??= untilOpen(clock, open);
      return callStore(await opening, method, params);
    },
    { capabilities: store.capabilities, close: async () => {} },
  );
};

/** The first session may be cut as well. */
async function untilOpen(clock: Clock, open: () => Promise<{ readonly store: Store }>): Promise<Store> {
  for (;;)
    try {
      return (await open()).store;
    } catch {
      await new Promise<void>((resolve) => clock.immediate(resolve));
    }
}

interface Ends {
  data(chunk: Buffer): void;
  closed(error?: Error): void;
}

function linkTo(service: StoreService, clock: Clock, events: Ends, random: Random): SessionLink {
  let over = false;
  const end = (): void => {
    if (over) return;
    over = true;
    clock.immediate(() => {
      session.closed();
      events.closed(new Error("the stream was cut"));
    });
  };
  const carry = (bytes: Buffer, receive: (bytes: Buffer) => void): boolean => {
    const copy = Buffer.from(bytes);
    const isCut = CUTS > 0 && random.next() < CUTS;
    clock.immediate(() => {
      if (over) return;
      if (isCut) end();
      else receive(copy);
    });
    return !over;
  };
  const rest = { pause: () => {}, resume: () => {}, end, destroy: end };
  const session = service.session({ write: (bytes) => carry(bytes, (copy) => events.data(copy)), ...rest }, SERVER);
  return { write: (bytes) => carry(bytes, (copy) => session.data(copy)), ...rest };
}

/** Time does not pass for the sake of a session: its timers ring when something else makes it pass, and the long ones never do. */
function quietClock(clock: Clock): Clock {
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    immediate: (callback) => clock.immediate(callback),
    setTimer(delayMs, callback) {
      if (delayMs >= NEVER_MS) return { cancel() {} };
      const timer = clock.setTimer(delayMs, callback);
      if (delayMs >= LOOK_MS) timer.follow?.();
      return timer;
    },
  };
}
