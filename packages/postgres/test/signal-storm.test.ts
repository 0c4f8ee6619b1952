import { type Client, connect, isHoldfastError, signal, workflow } from "holdfast";
import { afterEach, beforeEach, expect, test } from "vitest";
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

async function newClient(): Promise<Client> {
  const client = await connect(database.url(), { logger: silent });
  clients.push(client);
  return client;
}

const word = signal<string>("word");

const eager = workflow("eager", async (ctx) => {
  const words: string[] = [];
  await ctx.step("open", () => {});
  for (;;) {
    const next = await ctx.receive(word, { timeout: "0ms" });
    if (next === undefined) return words;
    words.push(next);
  }
});

/** Sends until it is done or the run takes no more. Says which signals were accepted. */
async function send(client: Client, id: string, sender: number): Promise<string[]> {
  const accepted: string[] = [];
  for (let n = 1; n <= 50; n++) {
    try {
      await client.get(id).signal(word, `${sender}.${n}`);
    } catch (error) {
      if (isHoldfastError(error, "run_closed")) return accepted;
      throw error;
    }
    accepted.push(`${sender}.${n}`);
  }
  return accepted;
}

test("in a storm of signals from two clients each one is received, or its sender is told that the run is closed", async () => {
  const [one, other] = [await newClient(), await newClient()];
  await one.worker({ workflows: [eager] }).start();
  for (let round = 0; round < 10; round++) {
    const run = await one.start(eager, undefined, { id: `r${round}` });
    const accepted = await Promise.all([one, other, one, other].map((client, i) => send(client, run.id, i)));
    const received = await run.result();
    expect(received.toSorted()).toEqual(accepted.flat().toSorted());
    // And those of one sender in their order.
    const bySender = [0, 1, 2, 3].map((i) => received.filter((text) => text.startsWith(`${i}.`)));
    expect(bySender).toEqual(accepted);
  }
});
