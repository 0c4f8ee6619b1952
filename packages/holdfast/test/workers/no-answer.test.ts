import { describe, expect, test } from "vitest";
import { answeringStore, originalStore } from "../../src/calls/answering-store.ts";
import { Client } from "../../src/client/client.ts";
import { jsonCodec } from "../../src/codec/json-codec.ts";
import { signal, workflow } from "../../src/define/definitions.ts";
import type { StoreMethod } from "../../src/ports/store-calls.ts";
import { SeededSource } from "../../src/testing/seeded-source.ts";
import { Cluster, faultsInStore, hooked, NEVER } from "../lab/harness.ts";

const go = signal<string>("go");
const job = workflow("job", async (ctx) => {
  const word = await ctx.receive(go);
  await ctx.sleep("nap", "1 minute");
  return ctx.step("work", () => `${word} done`);
});

const METHODS: readonly StoreMethod[] = [
  "versions.register",
  "workers.register",
  "runs.claim",
  "runs.holdIfParkedByOtherCode",
  "runs.start",
  "runs.commit",
  "inbox.deliver",
  "inbox.read",
  "histories.read",
  "workers.heartbeat",
  "workers.sweep",
  "runs.read",
];

function clientOn(cluster: Cluster, hangs: (method: StoreMethod, effect: () => Promise<unknown>) => boolean): Client {
  const silent = hooked(cluster.store, async (method, _params, next) => {
    let answer: Promise<unknown> | undefined;
    const effect = (): Promise<unknown> => (answer ??= next());
    return hangs(method, effect) ? NEVER : effect();
  });
  const { clock, log, hints } = cluster;
  const store = answeringStore(silent, { clock });
  return new Client(
    { clock, random: new SeededSource(1), codec: jsonCodec, log, store, notifier: hints },
    "default",
    async () => {},
  );
}

describe("a call of the store that is never answered", () => {
  test.each(METHODS.flatMap((method) => [[method, "before"] as const, [method, "after"] as const]))(
    "is an unknown outcome in the end, and is repeated: %s, %s it has taken effect",
    async (method, moment) => {
      const cluster = new Cluster();
      let hung = 0;
      const client = clientOn(cluster, (called, effect) => {
        if (called !== method || hung > 0) return false;
        hung += 1;
        if (moment === "after") void effect();
        return true;
      });
      const worker = client.worker({ workflows: [job], lease: "30s", cacheSize: 0 });
      await cluster.until(worker.start());
      const run = await cluster.until(client.start(job, undefined, { id: "r" }));
      await cluster.until(run.signal(go, "all"));
      expect(await cluster.until(run.result())).toBe("all done");
      expect(faultsInStore(cluster.store)).toEqual([]);
      expect(cluster.errors).toEqual([]);
      await cluster.until(client.close());
    },
  );

  test("is refused to a caller when the store stays silent, instead of keeping it for ever", async () => {
    const cluster = new Cluster();
    const client = clientOn(cluster, (method) => method === "runs.list");
    await expect(cluster.until(client.list(), "1 day")).rejects.toMatchObject({
      code: "store_outcome_unknown",
      message: "The store has not answered runs.list for 60 s. It may or may not have taken effect.",
      data: { call: "runs.list" },
    });
  });

  test("has a limit above that of the adapter itself", async () => {
    const cluster = new Cluster();
    const store = answeringStore(
      hooked(cluster.store, () => NEVER),
      { clock: cluster.clock, callLimitMs: 45_000 },
    );
    const before = cluster.clock.monotonic();
    await expect(cluster.until(store.readClock())).rejects.toMatchObject({ code: "store_outcome_unknown" });
    expect(cluster.clock.monotonic() - before).toBe(90_000);
  });
});

test("the adapter's own store can be had", () => {
  const cluster = new Cluster();
  const store = answeringStore(cluster.store, { clock: cluster.clock });
  expect(originalStore(store)).toBe(cluster.store);
  expect(originalStore(cluster.store)).toBe(cluster.store);
});
