import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import process from "node:process";
import { type Client, connect, signal, workflow } from "holdfast";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silent, TestDatabase } from "./test-database.ts";

let database: TestDatabase;
const clients: Client[] = [];

beforeEach(async () => {
  database = await TestDatabase.create();
});

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await database.drop();
});

async function newClient(): Promise<Client> {
  const client = await connect(database.url({}), { logger: silent });
  clients.push(client);
  return client;
}

const shipped = signal<string>("shipped");
const parcel = workflow("parcel", (ctx) => ctx.receive(shipped));

/** Kills the process that has called the batch once it has told of its first progress. */
async function killCaller(): Promise<number> {
  const script = path.join(import.meta.dirname, "batch-process.ts");
  const node = ["--conditions=holdfast-source", "--import", "tsx", script, database.url({})];
  const caller = spawn(process.execPath, node, { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(caller.stdout, "data")) as [Buffer];
  caller.kill("SIGKILL");
  await once(caller, "exit");
  return Number.parseInt(line.toString(), 10);
}

test("a batch whose process is killed is gone on with by a worker of another: each run gets one signal", async () => {
  const client = await newClient();
  const ids = Array.from({ length: 350 }, (_, i) => `p${i}`);
  await client.startMany(ids.map((id) => ({ workflow: parcel, input: undefined, options: { id } })));
  expect(await killCaller()).toBeLessThan(350);
  await client.worker({ workflows: [parcel] }).start();
  const result = await client.batchRun("ship-all").result({ timeout: "40s" });
  expect(result).toEqual({ id: "ship-all", matched: 350, done: 350, skipped: [], skippedCount: 0 });
  for (const id of ids) {
    expect(await client.get(parcel, id).result()).toBe("by rail");
    const history = await client.get(id).history();
    expect(history.filter(({ type }) => type === "signal_received").length).toBe(1);
  }
}, 60_000);
