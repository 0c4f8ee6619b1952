import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { afterAll, describe, expect, test } from "vitest";
import { bundleSimulator, replaceOnce } from "../bundle.ts";
import { CHECKERS } from "../checkers/index.ts";
import { killChildren, runBundle } from "../child-run.ts";
import { MUTATIONS } from "./index.ts";

/** A mutation that takes more seeds than this counts as not caught. */
const SEEDS_MAX = 200;
const AT_ONCE = 2;

/**
 * Where the search begins for each mutation: a seed that was the first to find it once. Only a hint, so that the search is short.
 * To look for new ones, set HOLDFAST_WRITE_SEEDS.
 */
const HINTS = path.join(import.meta.dirname, "first-seeds.json");
const hints: Readonly<Record<string, number>> = JSON.parse(readFileSync(HINTS, "utf8"));
const found: Record<string, number> = {};

const folder = mkdtempSync(path.join(tmpdir(), "holdfast-mutations-"));
const needed: string[] = [];
const waiting: (() => void)[] = [];
let running = 0;

/** Runs no more processes than there are cores. */
async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (running >= AT_ONCE) await new Promise<void>((resolve) => void waiting.push(resolve));
  running += 1;
  try {
    return await work();
  } finally {
    running -= 1;
    waiting.shift()?.();
  }
}

afterAll(() => {
  killChildren();
  rmSync(folder, { recursive: true, force: true });
  if (process.env["HOLDFAST_WRITE_SEEDS"]) {
    const inOrder = MUTATIONS.map(({ name }) => [name, found[name] ?? hints[name] ?? 1]);
    writeFileSync(HINTS, `${JSON.stringify(Object.fromEntries(inOrder), null, 2)}\n`);
  }
  process.stdout.write(`seeds needed to catch each mutation:\n${needed.map((line) => `  ${line}\n`).join("")}`);
});

describe("the simulator finds an engine that", () => {
  test.concurrent.for(MUTATIONS)("$name ($caughtBy)", { timeout: 600_000 }, async (mutation) => {
    const own = path.join(folder, `${MUTATIONS.indexOf(mutation)}`);
    const lines = await inTurn(async () => {
      const file = await bundleSimulator(own, mutation);
      const from = `${hints[mutation.name] ?? 1}`;
      return runBundle(file, ["--from", from, "--count", `${SEEDS_MAX}`, "--until", mutation.caughtBy]);
    });
    needed.push(`${`${lines.length}`.padStart(4)}  ${mutation.name} (${mutation.caughtBy})`);
    expect(lines.at(-1)?.checkers).toContain(mutation.caughtBy);
    found[mutation.name] = lines.at(-1)?.seed ?? 1;
  });
});

test("every checker is proved by a sabotage that it finds", () => {
  const proved = new Set(MUTATIONS.map((mutation) => mutation.caughtBy));
  expect(CHECKERS.map((checker) => checker.name).filter((name) => !proved.has(name))).toEqual([]);
  expect(new Set(MUTATIONS.map((mutation) => mutation.name)).size).toBe(MUTATIONS.length);
  expect(MUTATIONS.length).toBeGreaterThanOrEqual(20);
});

test.for(["nowhere", "twice"])("a sabotage whose place is there %s is a mistake", (where) => {
  const text = where === "twice" ? "a; b; a;" : "b;";
  expect(() => replaceOnce(text, { file: "x.ts", find: "a;", replace: "c;" })).toThrow("the text to replace occurs");
});
