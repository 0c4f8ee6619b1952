import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
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
