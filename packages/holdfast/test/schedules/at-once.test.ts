import { workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { Cluster, type StoreHook, unavailable } from "../lab/harness.ts";

const job = workflow("job", async (ctx) => ctx.info.schedule);
const SIZE = 100;

interface Counted {
  puts: number;
  reads: number;
  hook: StoreHook;
}

function counted(): Counted {
  const counts: Counted = {
    puts: 0,
    reads: 0,
    hook: (method, _params, next) => {
      if (method === "schedules.putIfRevision") counts.puts += 1;
      if (method === "schedules.read") counts.reads += 1;
      return next();
    },
  };
  return counts;
}

describe("changes of one schedule at once", () => {
  test("wait for each other in one client: each is read and written once", async () => {
    const cluster = new Cluster();
    const counts = counted();
    const { client } = cluster.process("a", counts.hook);
    const schedule = await client.schedules.create({ id: "s", workflow: job, every: "1h", overlap: "allow" });
    counts.puts = 0;
    const triggered = Array.from({ length: SIZE }, () => schedule.trigger());
    const updated = Array.from({ length: SIZE }, (_, i) => client.schedules.update("s", { note: `${i}` }));
    const runs = await cluster.until(Promise.all(triggered));
    await cluster.until(Promise.all(updated));
    expect(new Set(runs.map(({ id }) => id)).size).toBe(SIZE);
    expect(counts).toMatchObject({ puts: 2 * SIZE, reads: 2 * SIZE });
    expect((await schedule.describe()).note).toBe(`${SIZE - 1}`);
  });

  test("by several clients all take effect", async () => {
    const cluster = new Cluster();
    const counts = counted();
    const clients = ["a", "b", "c"].map((name) => cluster.process(name, counts.hook).client);
    await clients[0]?.schedules.create({ id: "s", workflow: job, every: "1h", overlap: "allow" });
    const triggered = clients.flatMap(({ schedules }) => Array.from({ length: 20 }, () => schedules.trigger("s")));
    const runs = await cluster.until(Promise.all(triggered));
    expect(new Set(runs.map(({ id }) => id)).size).toBe(60);
    expect(counts.puts).toBeLessThan(60 * 4);
  });

  test("do not make a refused one hold up the others", async () => {
    const cluster = new Cluster();
    const { client } = cluster.process("a");
    const { schedules } = client;
    await schedules.create({ id: "s", workflow: job, every: "1h" });
    const [first, refused, last] = await cluster.until(
      Promise.allSettled([
        schedules.update("s", { note: "first" }),
        schedules.update("s", { cron: "no" }),
        schedules.update("s", { every: "2h" }),
      ]),
    );
    expect([first?.status, refused?.status, last?.status]).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(await schedules.get("s").describe()).toMatchObject({ note: "first", spec: { every: "2h" } });
  });

  test("all fail soon while the store is down, and not one after the other", async () => {
    const cluster = new Cluster();
    let down = false;
    const hook: StoreHook = (method, _params, next) =>
      down && method === "schedules.read" ? Promise.reject(unavailable()) : next();
    const { client } = cluster.process("a", hook);
    await client.schedules.create({ id: "s", workflow: job, every: "1h" });
    down = true;
    const began = cluster.clock.now();
    const changes = Array.from({ length: 20 }, (_, i) => client.schedules.update("s", { note: `${i}` }));
    const settled = await cluster.until(Promise.allSettled(changes));
    expect(settled.every(({ status }) => status === "rejected")).toBe(true);
    expect(cluster.clock.now() - began).toBeLessThan(60_000);
    down = false;
    await client.schedules.update("s", { note: "again" });
    expect((await client.schedules.get("s").describe()).note).toBe("again");
  });
});
