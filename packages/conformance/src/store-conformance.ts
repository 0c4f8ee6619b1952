import { describe, test } from "vitest";
import { Fixture, NoTestClock, NoTransactions } from "./fixture.ts";
import type { OpenStore } from "./store-under-test.ts";
import type { SuiteCase } from "./suite.ts";
import { SUITES } from "./suites/index.ts";

const SKIPPED = {
  no_clock: "this store has no clock that tests can set",
  no_transactions: "this store has no transactions that other code can join",
};

/** Registers every suite for a store. `open` returns a new, empty store for each test. */
export function storeConformance(name: string, open: OpenStore): void {
  describe(`${name} keeps the store contract`, () => {
    for (const { noun, cases } of SUITES) {
      describe(noun, () => {
        for (const [title, run] of Object.entries(cases)) {
          test(title, async (context) => {
            const outcome = await runCase(open, run);
            if (outcome !== "passed") context.skip(SKIPPED[outcome]);
          });
        }
      });
    }
  });
}

/** Runs one case on a new store; rejects if the store misbehaves. */
export async function runCase(open: OpenStore, run: SuiteCase): Promise<"passed" | keyof typeof SKIPPED> {
  const fixture = await Fixture.open(open);
  try {
    await run(fixture);
    return "passed";
  } catch (error) {
    if (error instanceof NoTestClock) return "no_clock";
    if (error instanceof NoTransactions) return "no_transactions";
    throw error;
  } finally {
    await fixture.close();
  }
}
