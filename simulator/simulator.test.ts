import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bundleSimulator } from "./bundle.ts";
import { killChildren, runBundle } from "./child-run.ts";
import { configurationOf, describeFailure, runConfiguration } from "./seed-run.ts";
import { shrink } from "./shrinking.ts";

const SEEDS = 300;
let folder: string;
let bundle: string;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "holdfast-simulator-"));
  bundle = await bundleSimulator(folder);
});

afterAll(() => {
  killChildren();
  rmSync(folder, { recursive: true, force: true });
});

test("whatever goes wrong, every invariant holds, and everything comes to an end when it stops", {
  timeout: 300_000,
}, async () => {
  const began = performance.now();
  const lines = await runBundle(bundle, ["--from", "1", "--count", `${SEEDS}`, "--jobs", "2"]);
  const perSecond = lines.length / ((performance.now() - began) / 1_000);
  process.stdout.write(`simulator: ${lines.length} seeds, ${perSecond.toFixed(1)} seeds/s\n`);
  expect(lines.map((line) => line.report).filter((report) => report !== "")).toEqual([]);
  expect(new Set(lines.map((line) => line.seed)).size).toBe(SEEDS);
  const total = (what: string): number => lines.reduce((sum, line) => sum + (line.counts[what] ?? 0), 0);
  // Seeds in which nothing happens would prove nothing.
  expect(total("runs")).toBeGreaterThan(SEEDS * 15);
  expect(total("effects")).toBeGreaterThan(SEEDS * 40);
  expect(total("faults")).toBeGreaterThan(SEEDS * 40);
  expect(total("troubles")).toBeGreaterThan(SEEDS * 2);
  expect(total("grants")).toBeGreaterThan(SEEDS * 3);
  expect(total("packed")).toBeGreaterThan(SEEDS * 30);
  expect(total("damageReports")).toBeGreaterThan(SEEDS / 2);
});

describe("a seed", () => {
  test("gives the same trace in any process", { timeout: 60_000 }, async () => {
    const seeds = [3, 8, 13];
    const [first, second] = await Promise.all([
      runBundle(bundle, ["--from", "3", "--count", "11", "--step", "5"]),
      runBundle(bundle, ["--from", "3", "--count", "11", "--step", "5"]),
    ]);
    const here = [];
    for (const seed of seeds) here.push((await runConfiguration(configurationOf(seed))).hash);
    expect(first.map((line) => line.hash)).toEqual(here);
    expect(second.map((line) => line.hash)).toEqual(here);
    expect(new Set(here).size).toBe(seeds.length);
  });
});

describe("a failure", () => {
  test("is told with its seed, the first broken invariant and what happened to the run", async () => {
    // Few runs: a report shows the end of a long story only, and this one is to be told from its beginning.
    const configuration = configurationOf(5);
    const workload = { ...configuration.workload, runs: 3 };
    const result = await runConfiguration({ ...configuration, workload });
    const { run } = result.evidence.runs[0]!;
    const failed = { ...result, violations: [{ checker: "signals", runId: run.runId, text: "a letter came twice" }] };
    const report = describeFailure(failed);
    expect(report).toMatch(
      new RegExp(`^FAILED seed 5: signals: ${run.id} \\(${run.runId}\\): a letter came twice$`, "m"),
    );
    expect(report).toContain(`history of ${run.id}`);
    expect(report).toMatch(new RegExp(`^ +[0-9.]+ driver +${run.id} told: start ${run.id}`, "m"));
    expect(report).toContain("again: npm run sim -- --seed 5");
  });

  test("is shrunk while it stays", { timeout: 120_000 }, async () => {
    const file = await bundleSimulator(path.join(folder, "broken"), {
      file: "replay/ops/compensation.ts",
      find: "for (const entry of undone.reverse()) {",
      replace: "for (const entry of undone) {",
    });
    const lines = await runBundle(file, ["--count", "50", "--until", "compensation"]);
    const { seed } = lines.at(-1)!;
    const told = await runBundle(file, ["--seed", `${seed}`, "--shrink"]);
    const shrunk = told.at(-1) as unknown as { readonly from: number; readonly to: number };
    expect(shrunk.to).toBeLessThan(shrunk.from / 4);
  });

  test("that is none is not shrunk at all", async () => {
    const configuration = configurationOf(12);
    const { tries, configuration: same } = await shrink(configuration, "signals", () => {}, 2);
    expect({ tries, same }).toEqual({ tries: 2, same: configuration });
  });
});
