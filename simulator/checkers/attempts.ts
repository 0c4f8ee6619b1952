import type { Checker, Found } from "../evidence.ts";

/** Attempts are counted in history: each begins after the previous one is recorded as failed. */
export const attempts: Checker = {
  name: "attempts",
  needs: ["effects"],
  check: ({ effects = [] }) =>
    effects.flatMap(({ runId, op, attempt, failedAttempts, process, trespass }): Found[] => {
      // A worker that has lost the run without knowing it works from an older history.
      if (attempt === failedAttempts + 1 || trespass !== undefined) return [];
      return [
        { runId, text: `"${op}" begins attempt ${attempt} on ${process}, after ${failedAttempts} failed attempts` },
      ];
    }),
};
