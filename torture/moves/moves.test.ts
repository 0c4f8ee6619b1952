import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { type Client, connect, silentLogger, workflow } from "holdfast";
import { afterEach, expect, test } from "vitest";
import { openStage, type Stage } from "../stage.ts";
import { runMoves } from "./move-campaign.ts";
import type { Death } from "./moving-process.ts";

/** Between any two phases of a move. */
const POINTS = ["departIfIdle", "arrive", "confirm"].flatMap((method, i): Death[] =>
  (["before", "after"] as const).map((side) => ({ method: `transfers.${method}`, side, number: 1 + (i % 3) })),
);

let stages: Stage[] = [];

afterEach(async () => {
  for (const stage of stages) await stage.remove();
  stages = [];
});

async function stageAt(url: string): Promise<Stage> {
  const stage = await openStage(url);
  stages.push(stage);
  return stage;
}

function serverUrl(): string {
  const url = process.env.HOLDFAST_TEST_POSTGRES_URL;
  if (!url) throw new Error("HOLDFAST_TEST_POSTGRES_URL is not set; run the tests with npm test");
  return url;
}

test("runs that move from SQLite to PostgreSQL while the mover is killed between any two phases end once", {
  timeout: 120_000,
}, async () => {
  const [from, to] = [await stageAt(`file:${path.join(tmpdir(), "app.db")}`), await stageAt(serverUrl())];
  const result = await runMoves({ from, to, runs: 40, napMsMax: 12_000, deaths: POINTS });
  expect(result).toMatchObject({ runs: 40, faults: [], kills: POINTS.length });
  expect(result.movedRuns).toBeGreaterThan(POINTS.length);
});

test("two movers at once from one store of PostgreSQL to two others take each run to one of them, where it ends once", {
  timeout: 120_000,
}, async () => {
  const effects: string[] = [];
  const errand = workflow("errand", async (ctx, id: string) => ctx.step("run", () => void effects.push(id)));
  const clients: Client[] = [];
  for (let i = 0; i < 3; i++) {
    const { url, schema = "" } = (await stageAt(serverUrl())).place;
    clients.push(await connect(url, { schema, logger: silentLogger }));
  }
  const [from, one, two] = clients as [Client, Client, Client];
  const ids = Array.from({ length: 60 }, (_, i) => `r${i}`);
  for (const id of ids) await from.start(errand, id, { id });
  const [first, second] = await Promise.all([from.move({ to: one }), from.move({ to: two })]);
  const left = new Set([...first.skipped, ...second.skipped].map(({ id }) => id));
  expect(first.runs + second.runs + left.size).toBeGreaterThanOrEqual(ids.length);
  const open = async (client: Client): Promise<number> => client.count({ status: "pending" });
  expect([await open(from), (await open(one)) + (await open(two))]).toEqual([0, ids.length]);
  for (const client of [one, two]) await client.worker({ workflows: [errand] }).start();
  for (const client of [one, two])
    for (const { id } of (await client.list({ limit: 100 })).runs) await client.get(id).result();
  expect([...effects].sort()).toEqual([...ids].sort());
  for (const client of clients) await client.close();
});
