/** Real worker processes that are killed while their runs are in a queue with limits and wait for places in it, on both stores. */
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { type Client, connect, silentLogger } from "holdfast";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { KilledFleet } from "./killed-fleet.ts";
import { stayWorkflow } from "./limits-workflow.ts";
import { openStage, type Stage } from "./stage.ts";
import { bundleProgram, type WorkerBundle } from "./worker-bundle.ts";

const WORKERS = 4;
const KILLS = 8;
/** A limit is used by those who are there: some always are. */
const SPARE = 2;
/** Of each key. */
const RUNS = 30;
/** Of one key. */
const LIMIT = 10;
/** Of all keys. */
const LIMIT_OF_ALL = 14;
/** Effects of all workers between two kills, at most. */
const PAUSE_MAX = 14;
/** Of the places: at some time, and on average. */
const USE_LEAST = 0.8;
const PATIENCE_MS = 90_000;
const KEYS = ["a", "b"];

let program: WorkerBundle;
let stage: Stage;
let hf: Client;
let effectsFile: string;
let fleet: KilledFleet;

interface Line {
  readonly at: number;
  readonly key: string;
  readonly what: "in" | "out";
  readonly id: string;
}

function readLines(): Line[] {
  const lines = readFileSync(effectsFile, "utf8").trim().split("\n");
  return lines.map((line) => line.split(" ")).map(([at, key, what, id]) => ({ at: Number(at), key, what, id }) as Line);
}

/** How many were inside after each line. A step that is executed again goes in again, or out. */
function inside(lines: readonly Line[]): number[] {
  const now = new Set<string>();
  const counts = lines.map(({ what, id }) => (what === "in" ? now.add(id) : now.delete(id)) && now.size);
  expect([...now]).toEqual([]);
  return counts.map(Number);
}

/**
 * How many were inside on average, while others waited: from when most places were taken for the first time to when the last run came in
 * for the first time. Whoever came in and has not left has a place, also while its worker is dead.
 */
function averageUse(lines: readonly Line[], limit: number): number {
  const counts = inside(lines);
  const from = counts.findIndex((count) => count >= limit * USE_LEAST);
  const came = new Set<string>();
  const first = lines.map(({ what, id }) => what === "in" && !came.has(id) && Boolean(came.add(id)));
  const to = first.lastIndexOf(true);
  const at = (i: number): number => lines[i]?.at ?? Number.NaN;
  let sum = 0;
  for (let i = from; i < to; i++) sum += (counts[i] as number) * (at(i + 1) - at(i));
  return sum / (at(to) - at(from));
}

beforeAll(async () => {
  program = await bundleProgram("limits-process.ts");
});

afterAll(() => program.remove());

describe.each([
  ["SQLite", () => `file:${path.join(tmpdir(), "app.db")}`],
  ["PostgreSQL", () => process.env.HOLDFAST_TEST_POSTGRES_URL ?? ""],
])("on %s", (_name, url) => {
  beforeEach(async () => {
    if (url() === "") throw new Error("HOLDFAST_TEST_POSTGRES_URL is not set; run the tests with npm test");
    stage = await openStage(url());
    effectsFile = path.join(stage.folder, "effects.txt");
    const { url: place, schema } = stage.place;
    const args = [program.file, place, schema ?? "", effectsFile];
    fleet = new KilledFleet({ args, workers: WORKERS, kills: KILLS, spare: SPARE, pauseMax: PAUSE_MAX });
    hf = await connect(place, { logger: silentLogger, ...(schema === undefined ? {} : { schema }) });
  });

  afterEach(async () => {
    fleet.end();
    await hf.close();
    await stage.remove();
  });

  test(
    "no more than the limit are inside while workers are killed, the limit is used, and every run gets its turn",
    async () => {
      const stay = stayWorkflow(() => {});
      await hf.queues.set("limited", { concurrency: LIMIT_OF_ALL, perKey: { concurrency: LIMIT } });
      const runs = [];
      for (let i = 0; i < RUNS; i++)
        for (const key of KEYS) runs.push(await hf.start(stay, key, { id: `${key}-${i}`, key }));
      const done = Promise.all(runs.map((run) => run.result()));
      await fleet.killAtRandom(done);
      expect(new Set(await done)).toEqual(new Set(["done"]));
      const lines = readLines();
      expect(Math.max(...inside(lines))).toBeLessThanOrEqual(LIMIT_OF_ALL);
      expect(Math.max(...inside(lines))).toBeGreaterThanOrEqual(LIMIT_OF_ALL * USE_LEAST);
      // An average over time says how busy the machine is as well: only where it is asked for, and runs then stay for longer.
      if (process.env["HOLDFAST_TORTURE_ALL"])
        expect(averageUse(lines, LIMIT_OF_ALL)).toBeGreaterThanOrEqual(LIMIT_OF_ALL * USE_LEAST);
      for (const key of KEYS) {
        const own = lines.filter((line) => line.key === key);
        expect(Math.max(...inside(own))).toBeLessThanOrEqual(LIMIT);
        expect(new Set(own.map(({ id }) => id)).size).toBe(RUNS);
      }
      const queue = (await hf.queues()).find(({ name }) => name === "limited");
      expect(queue?.runs).toMatchObject({ waiting: 0, running: 0, holders: [] });
    },
    PATIENCE_MS,
  );
});
