import { mkdtempSync, rmSync } from "node:fs";
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
  process.stdout.write(`seeds needed to catch each mutation:\n${needed.map((line) => `  ${line}\n`).join("")}`);
});

describe("the simulator finds an engine that", () => {
  test.concurrent.for(MUTATIONS)("$name ($caughtBy)", { timeout: 600_000 }, async (mutation) => {
    const own = path.join(folder, `${MUTATIONS.indexOf(mutation)}`);
    const lines = await inTurn(async () => {
      const file = await bundleSimulator(own, mutation);
      const from = `${mutation.seed ?? 1}`;
      return runBundle(file, ["--from", from, "--count", `${SEEDS_MAX}`, "--until", mutation.caughtBy]);
    });
    needed.push(`${`${lines.length}`.padStart(4)}  ${mutation.name} (${mutation.caughtBy})`);
    expect(lines.at(-1)?.checkers).toContain(mutation.caughtBy);
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
