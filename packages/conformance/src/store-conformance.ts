import { describe, test } from "vitest";
import { Fixture, NoTestClock } from "./fixture.ts";
import type { OpenStore } from "./store-under-test.ts";
import type { SuiteCase } from "./suite.ts";
import { SUITES } from "./suites/index.ts";

/** Registers every suite for a store. `open` gives a new, empty store to each test. */
export function storeConformance(name: string, open: OpenStore): void {
  describe(`${name} keeps the store contract`, () => {
    for (const { noun, cases } of SUITES) {
      describe(noun, () => {
        for (const [title, run] of Object.entries(cases)) {
          test(title, async (context) => {
            if ((await runCase(open, run)) === "no_clock") context.skip("this store has no clock that tests can set");
          });
        }
      });
    }
  });
}

/** Runs one case on a store of its own; rejects when the store does not behave. */
export async function runCase(open: OpenStore, run: SuiteCase): Promise<"passed" | "no_clock"> {
  const fixture = await Fixture.open(open);
  try {
    await run(fixture);
    return "passed";
  } catch (error) {
    if (error instanceof NoTestClock) return "no_clock";
    throw error;
  } finally {
    await fixture.close();
  }
}
