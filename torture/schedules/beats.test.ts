import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { afterEach, expect, test } from "vitest";
import { openStage, type Stage } from "../stage.ts";
import { runBeats } from "./beat-campaign.ts";

const SECONDS = 4;
let stage: Stage | undefined;

afterEach(() => stage?.remove());

test.each([
  ["SQLite", () => `file:${path.join(tmpdir(), "app.db")}`],
  ["PostgreSQL", () => process.env.HOLDFAST_TEST_POSTGRES_URL],
])(
  "on %s, schedules whose leaders are killed have one decision for each time, and one run for each that was fired",
  async (_name, address) => {
    const url = address();
    if (!url) throw new Error("HOLDFAST_TEST_POSTGRES_URL is not set; run the tests with npm test");
    stage = await openStage(url);
    const seed = Math.floor(Math.random() * 1_000_000);
    const result = await runBeats({ stage, ms: SECONDS * 1_000, workers: 3, seed });
    expect(result).toMatchObject({ findings: [], accidents: [], rounds: 1 });
    expect(result.kills).toBeGreaterThan(0);
    expect(result.times).toBeGreaterThan(SECONDS * 8);
  },
  120_000,
);
