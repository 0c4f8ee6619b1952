import type { Checker, Found } from "../evidence.ts";

/**
 * What people do to runs: a run is parked exactly when history says so; from a pause to the resume no attempt begins; a resume that
 * was answered is not lost behind an earlier pause.
 */
export const operations: Checker = {
  name: "operations",
  needs: ["operationFaults", "effects"],
  check: ({ operationFaults = [], effects = [] }) => [
    ...operationFaults,
    ...effects.flatMap(({ runId, op, attempt, process, paused }): Found[] =>
      paused === undefined
        ? []
        : [{ runId, text: `"${op}" begins attempt ${attempt} on ${process}: the run is ${paused}` }],
    ),
  ],
};
