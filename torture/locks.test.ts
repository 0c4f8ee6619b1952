/** Real worker processes that are killed while their runs hold locks and wait for them, on both stores. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { type Client, connect, silentLogger } from "holdfast";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
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

const children = new Set<ChildProcess>();
let program: WorkerBundle;
let stage: Stage;
let hf: Client;
let effectsFile: string;
let effects: number;
let onEffect: () => void;

/** Resolves when it is ready. Its effects are counted. */
async function startWorker(): Promise<ChildProcess> {
  const { url, schema = "" } = stage.place;
  const args = [program.file, url, schema, effectsFile];
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  children.add(child);
  await new Promise<void>((resolve, reject) => {
    child.once("exit", () => reject(new Error("a worker process ended before it was ready")));
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (line === "ready") return resolve();
      effects += 1;
      onEffect();
    });
  });
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  // One that has ended by itself is an error, and never emits another exit.
  expect([child.exitCode, child.signalCode]).toEqual([null, null]);
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  await exit;
  children.delete(child);
}

function untilEffects(count: number): Promise<void> {
  return new Promise((resolve) => {
    onEffect = () => void (effects >= count && resolve());
    onEffect();
  });
}

/**
 * Kills workers at random, each time after a random number of effects of all of them, and has others start meanwhile. All kills come
 * before the work is done, because there are more effects.
 */
async function killAtRandom(done: Promise<unknown>): Promise<void> {
  const ready: ChildProcess[] = [];
  const starts = new Set<Promise<unknown>>();
  const begin = (): void => {
    const start: Promise<unknown> = startWorker().then((child) => starts.delete(start) && ready.push(child));
    starts.add(start);
  };
  for (let i = 0; i < WORKERS; i++) begin();
  for (let i = 0; i < KILLS; i++) {
    // A run that fails ends the test.
    await Promise.race([untilEffects(effects + 1 + dice(PAUSE_MAX)), done]);
    if (ready.length === 0) await Promise.race(starts);
    const [victim] = ready.splice(dice(ready.length), 1);
    await kill(victim as ChildProcess);
    begin();
  }
  await Promise.all(starts);
}

function dice(sides: number): number {
  return Math.floor(Math.random() * sides);
}

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
    effects = 0;
    onEffect = () => {};
    const { schema } = stage.place;
    hf = await connect(stage.place.url, { logger: silentLogger, ...(schema === undefined ? {} : { schema }) });
  });

  afterEach(async () => {
    for (const child of children) child.kill("SIGKILL");
    children.clear();
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
      await killAtRandom(done);
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
