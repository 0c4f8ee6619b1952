/** Two server processes on one PostgreSQL, killed in turn while remote workers work: nothing is lost, and nothing is repeated. */
import process from "node:process";
import { type Client, connect, silentLogger, workflow } from "holdfast";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Servers } from "./servers.ts";
import { openStage, type Stage } from "./stage.ts";
import { bundleProgram, type WorkerBundle } from "./worker-bundle.ts";

const RUNS = 120;
const STEPS = 6;
const KILLS = 4;
const WORKERS = 2;
const PATIENCE_MS = 90_000;

let program: WorkerBundle;
let stage: Stage;
let servers: Servers;
const clients: Client[] = [];

beforeAll(async () => {
  const url = process.env.HOLDFAST_TEST_POSTGRES_URL ?? "";
  if (url === "") throw new Error("HOLDFAST_TEST_POSTGRES_URL is not set; run the tests with npm test");
  program = await bundleProgram("server-process.ts");
  stage = await openStage(url);
  servers = new Servers([program.file, stage.place.url, stage.place.schema ?? ""]);
  await servers.open(2);
}, PATIENCE_MS);

afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
  servers.end();
  program.remove();
  await stage.remove();
});

async function client(): Promise<Client> {
  const hf = await connect(servers.url, { logger: silentLogger });
  clients.push(hf);
  return hf;
}

test(
  "servers that are killed in turn under load lose no step and repeat none",
  async () => {
    const effects = new Map<string, number>();
    let count = 0;
    let lastAt = performance.now();
    let pauseMs = 0;
    const order = workflow("order", async (ctx, id: string) => {
      for (let i = 0; i < STEPS; i += 1)
        await ctx.step(`s${i}`, async () => {
          effects.set(`${id}/${i}`, (effects.get(`${id}/${i}`) ?? 0) + 1);
          // Before the first step nothing has paused.
          if (count > 0) pauseMs = Math.max(pauseMs, performance.now() - lastAt);
          count += 1;
          lastAt = performance.now();
        });
      return id;
    });
    for (let i = 0; i < WORKERS; i += 1) await (await client()).worker({ workflows: [order], concurrency: 4 }).start();
    const hf = await client();
    const runs = [];
    for (let i = 0; i < RUNS; i += 1) runs.push(hf.start(order, `o${i}`, { id: `o${i}` }));
    const done = Promise.all(runs.map(async (run) => (await run).result()));
    for (let i = 1; i <= KILLS; i += 1) {
      await until(() => count >= (RUNS * STEPS * i) / (KILLS + 1));
      await servers.killOldest();
      await servers.start();
    }
    expect((await done).sort()).toEqual(Array.from({ length: RUNS }, (_, i) => `o${i}`).sort());
    expect(effects.size).toBe(RUNS * STEPS);
    expect([...effects].filter(([, times]) => times !== 1)).toEqual([]);
    expect(pauseMs).toBeLessThan(2_000);
  },
  PATIENCE_MS,
);

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise<void>((resolve) => setImmediate(resolve));
}
