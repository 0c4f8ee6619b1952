/** Real worker processes that are killed while their runs hold locks and wait for them, on both stores. */
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { type Client, connect, silentLogger } from "holdfast";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { KilledFleet } from "./killed-fleet.ts";
import { VISITS, visitWorkflow } from "./locks-workflow.ts";
import { openStage, type Stage } from "./stage.ts";
import { bundleProgram, type WorkerBundle } from "./worker-bundle.ts";

const WORKERS = 4;
const KILLS = 8;
const RUNS = 10;
/** Effects of all workers between two kills, at most. */
const PAUSE_MAX = 6;
const PATIENCE_MS = 60_000;
const ROOMS = [
  { room: "single", limit: 1 },
  { room: "triple", limit: 3 },
] as const;

let program: WorkerBundle;
let stage: Stage;
let hf: Client;
let effectsFile: string;
let fleet: KilledFleet;

interface Line {
  readonly room: string;
  readonly what: "in" | "out";
  readonly id: string;
  readonly fence: number;
}

function readLines(room: string): Line[] {
  const lines = readFileSync(effectsFile, "utf8").trim().split("\n");
  return lines
    .map((line) => line.split(" "))
    .map(([where, what, id, fence]) => ({ room: where, what, id, fence: Number(fence) }) as Line)
    .filter((line) => line.room === room);
}

/** The most that were inside at once. A step that is executed again goes in again, or out. */
function mostInside(lines: readonly Line[]): number {
  const inside = new Set<string>();
  let most = 0;
  for (const { what, id } of lines) {
    if (what === "in") inside.add(id);
    else inside.delete(id);
    most = Math.max(most, inside.size);
  }
  expect([...inside]).toEqual([]);
  return most;
}

/** What each run did, without the steps that were executed again. */
function visitsOf(lines: readonly Line[], id: string): string[] {
  const own = lines.filter((line) => line.id === id).map(({ what, fence }) => `${what} ${fence}`);
  return own.filter((line, i) => line !== own[i - 1]);
}

beforeAll(async () => {
  program = await bundleProgram("locks-process.ts");
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
    fleet = new KilledFleet({ args, workers: WORKERS, kills: KILLS, pauseMax: PAUSE_MAX });
    hf = await connect(place, { logger: silentLogger, ...(schema === undefined ? {} : { schema }) });
  });

  afterEach(async () => {
    fleet.end();
    await hf.close();
    await stage.remove();
  });

  test(
    "no more than the limit are inside of a lock while workers are killed, and every run gets its turn",
    async () => {
      const visit = visitWorkflow(() => {});
      const runs = [];
      for (let i = 0; i < RUNS; i++)
        for (const input of ROOMS) runs.push(await hf.start(visit, input, { id: `${input.room}-${i}` }));
      const done = Promise.all(runs.map((run) => run.result()));
      await fleet.killAtRandom(done);
      expect(new Set(await done)).toEqual(new Set(["done"]));
      for (const { room, limit } of ROOMS) {
        const lines = readLines(room);
        expect(mostInside(lines)).toBe(limit);
        const fences = lines.filter(({ what }) => what === "in").map(({ fence }) => fence);
        expect(new Set(fences).size).toBe(RUNS * VISITS);
        if (limit === 1) expect(fences).toEqual([...fences].sort((a, b) => a - b));
        for (let i = 0; i < RUNS; i++) {
          const visits = visitsOf(lines, `${room}-${i}`);
          const own = [...new Set(visits.map((line) => line.split(" ")[1]))];
          expect(own).toHaveLength(VISITS);
          expect(visits).toEqual(own.flatMap((fence) => [`in ${fence}`, `out ${fence}`]));
        }
        const { holders, waiting } = await hf.locks.list(room);
        expect([holders, waiting]).toEqual([[], []]);
      }
    },
    PATIENCE_MS,
  );
});
