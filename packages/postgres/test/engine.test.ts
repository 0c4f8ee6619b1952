import { type Client, connect, signal, workflow } from "holdfast";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { silent, TestDatabase } from "./test-database.ts";

let database: TestDatabase;
let clients: Client[];

beforeEach(async () => {
  database = await TestDatabase.create();
  clients = [];
});

afterEach(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await database.drop();
});

async function newClient(parameters: Readonly<Record<string, string>> = {}): Promise<Client> {
  const client = await connect(database.url(parameters), { logger: silent });
  clients.push(client);
  return client;
}

const approve = signal<{ by: string }>("approve");

describe.each([{}, { notify: "false" }, { pooler: "transaction" }])("the engine on PostgreSQL, %o", (parameters) => {
  test("two workers share runs that work, sleep, wait for signals and end", async () => {
    const doneBy = new Map<string, number>();
    const orderOf = (name: string) =>
      workflow("order", async (ctx, input: { readonly n: number }) => {
        const price = await ctx.step("price", () => input.n * 10);
        await ctx.sleep("cool off", "20ms");
        const { by } = await ctx.receive(approve);
        const parts = await Promise.all([0, 1, 2].map((i) => ctx.step(`part ${i}`, () => price + i)));
        await ctx.step("note", () => void doneBy.set(name, (doneBy.get(name) ?? 0) + 1));
        return { by, total: parts.reduce((sum, part) => sum + part, 0) };
      });
    const starter = await newClient(parameters);
    const names = ["one", "two"];
    for (const name of names) {
      const client = await newClient(parameters);
      const worker = client.worker({
        workflows: [orderOf(name)],
        concurrency: 5,
        cacheSize: 3,
        tuning: { claimFallbackMs: 100 },
      });
      await worker.start();
    }
    const runs = await Promise.all(
      Array.from({ length: 30 }, (_, n) => starter.start(orderOf("starter"), { n }, { id: `order ${n}` })),
    );
    await Promise.all(runs.map((run) => run.signal(approve, { by: "ann" })));
    const results = await Promise.all(runs.map((run) => run.result()));
    expect(results).toEqual(runs.map((_, n) => ({ by: "ann", total: n * 30 + 3 })));
    expect([...doneBy.values()].reduce((sum, count) => sum + count, 0)).toBe(30);
    const [left] = await database.sql(
      `select count(*)::int as open
         from ${database.name("runs")} where ended_at is null or held_by is not null or available_at is not null`,
    );
    expect(left).toEqual({ open: 0 });
  });
});

test("a run survives the worker that began it", async () => {
  const steps: string[] = [];
  const slow = (name: string) =>
    workflow("slow", async (ctx) => {
      await ctx.step("first", () => void steps.push(`first by ${name}`));
      await ctx.sleep("nap", "30ms");
      await ctx.step("second", () => void steps.push(`second by ${name}`));
      return name;
    });
  const one = await newClient();
  const first = one.worker({ workflows: [slow("one")], lease: "30s" });
  await first.start();
  const run = await one.start(slow("one"));
  const two = await newClient();
  const second = two.worker({ workflows: [slow("two")] });
  await first.drain();
  await second.start();
  await run.result();
  expect(steps[0]).toBe("first by one");
  expect(steps).toHaveLength(2);
});
