import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import { openStage } from "../stage.ts";
import { runBeats } from "./beat-campaign.ts";

const SECONDS = 4;

test.concurrent.for([
  ["SQLite", () => `file:${path.join(tmpdir(), "app.db")}`],
  ["PostgreSQL", () => process.env.HOLDFAST_TEST_POSTGRES_URL],
] as const)(
  "on %s, schedules whose leaders are killed have one decision for each time, and one run for each that was fired",
  { timeout: 120_000 },
  async ([, address], { onTestFinished }) => {
    const url = address();
    if (!url) throw new Error("HOLDFAST_TEST_POSTGRES_URL is not set; run the tests with npm test");
    const stage = await openStage(url);
    onTestFinished(() => stage.remove());
    const seed = Math.floor(Math.random() * 1_000_000);
    const result = await runBeats({ stage, ms: SECONDS * 1_000, workers: 3, seed });
    expect(result).toMatchObject({ findings: [], accidents: [], rounds: 1 });
    expect(result.kills).toBeGreaterThan(0);
    expect(result.times).toBeGreaterThan(SECONDS * 8);
  },
);
