import { HoldfastError, jsonCodec, signal, silentLogger, workflow } from "holdfast";
import { hookedStore, type StoreHooks } from "holdfast/adapter";
import { MemoryNotifier, MemoryStore, SeededSource, VirtualClock } from "holdfast/testing";
import { describe, expect, test } from "vitest";
import { Client } from "../../src/client/client.ts";

const go = signal<number>("go");
const waiting = workflow("waiting", (ctx) => ctx.receive(go));

/** A client of a store whose calls wait for `failMs` and then fail, once it is down. */
async function openClient(failMs: number) {
  const clock = new VirtualClock();
  const notifier = new MemoryNotifier(clock);
  let sends = 0;
  let down = false;
  const fails = async (_params: unknown, call: () => Promise<never>): Promise<never> => {
    if (!down) return call();
    sends += 1;
    await new Promise<void>((resolve) => void clock.setTimer(failMs, resolve));
    throw new HoldfastError("store_unavailable", "The store is down.");
  };
  const methods = ["runs.start", "runs.read", "runs.terminate", "histories.read", "inbox.deliver"];
  const hooks = Object.fromEntries(methods.map((method) => [method, fails])) as StoreHooks;
  const store = hookedStore(new MemoryStore({ clock, notifier }), hooks);
  const ports = { clock, notifier, store, random: new SeededSource(1), codec: jsonCodec, log: silentLogger };
  const client = new Client(ports, "default", async () => {});
  const run = await clock.until(client.start(waiting, undefined, { id: "w" }));
  down = true;
  return { clock, client, run, sends: () => sends };
}

describe("a call to a store that does not come back", () => {
  test.each([
    { failMs: 0, most: 20 },
    { failMs: 1_000, most: 12 },
    { failMs: 10_000, most: 2 },
    { failMs: 60_000, most: 2 },
  ])(
    "fails after about 20 seconds, or after the second try, if each try takes $failMs ms",
    async ({ failMs, most }) => {
      for (const name of ["start", "signal", "status", "terminate"] as const) {
        const { clock, client, run, sends } = await openClient(failMs);
        const calls = {
          start: () => client.start(waiting),
          signal: () => run.signal(go, 1),
          status: () => run.status(),
          terminate: () => run.terminate(),
        };
        const began = clock.monotonic();
        await expect(clock.until<unknown>(calls[name](), "1 day")).rejects.toMatchObject({ code: "store_unavailable" });
        const tookMs = clock.monotonic() - began;
        expect(tookMs).toBeGreaterThanOrEqual(15_000);
        expect(tookMs).toBeLessThanOrEqual(Math.max(25_000, 2 * failMs + 100));
        expect(sends()).toBeLessThanOrEqual(most);
      }
    },
  );
});
