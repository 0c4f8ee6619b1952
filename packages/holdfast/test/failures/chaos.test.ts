import { expect, test } from "vitest";
import { Chaos } from "./chaos.ts";

const SEEDS = Array.from({ length: 12 }, (_, i) => i + 1);

test.each(SEEDS)(
  "whatever happens to its processes and its store, every run comes out right in the end (seed %i)",
  async (seed) => {
    const { faults, executions } = await new Chaos(seed).run();
    expect(faults).toEqual([]);
    expect(executions).toBeGreaterThan(100);
  },
);
