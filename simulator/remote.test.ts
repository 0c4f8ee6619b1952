import { expect, test } from "vitest";
import { remotePath } from "./remote-path.ts";
import { configurationOf, describeFailure, runConfiguration } from "./seed-run.ts";

const SEEDS = 3;

test("every invariant holds when all calls go through sessions that are cut now and then", {
  timeout: 120_000,
}, async () => {
  let cuts = 0;
  let runs = 0;
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const result = await runConfiguration(
      configurationOf(seed),
      remotePath(() => {
        cuts += 1;
      }),
    );
    expect(result.violations.length === 0 ? "" : describeFailure(result)).toBe("");
    runs += result.counts["runs"] ?? 0;
  }
  expect(runs).toBeGreaterThan(SEEDS * 10);
  expect(cuts).toBeGreaterThan(SEEDS);
});
