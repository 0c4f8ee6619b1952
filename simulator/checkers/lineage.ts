import type { Checker, Found } from "../evidence.ts";

/** A run knows which run has started it, which run everything began with, and how deep it is, also when it continues as new. */
export const lineage: Checker = {
  name: "lineage",
  needs: ["births"],
  check({ runs, births = [] }) {
    const found: Found[] = [];
    const rows = new Map(runs.map(({ run }) => [run.runId, run]));
    const parents = new Map(births.map(({ runId, parentRunId }) => [runId, parentRunId]));
    for (const { run } of runs) {
      const { runId, lineage: own, firstRunId } = run;
      const expect = (what: string, actual: unknown, expected: unknown): void => {
        if (actual !== expected) found.push({ runId, text: `its ${what} is ${actual}, not ${expected}` });
      };
      const parent = rows.get(parents.get(firstRunId) ?? "");
      expect("parent", own?.parent.runId, parent?.runId);
      expect("parent's id", own?.parent.id, parent?.id);
      expect("root", own?.root.runId, parent && (parent.lineage?.root.runId ?? parent.runId));
      expect("depth", own?.depth, parent && (parent.lineage?.depth ?? 0) + 1);
    }
    return found;
  },
};
