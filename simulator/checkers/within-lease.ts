import type { Checker } from "../evidence.ts";

/** Effects begin only on the worker that holds the run, as far as its clock can tell. */
export const withinLease: Checker = {
  name: "within-lease",
  needs: ["effects"],
  check: ({ effects = [] }) =>
    effects
      .filter(({ trespass }) => trespass !== undefined)
      .map(({ runId, op, process, trespass, at }) => ({
        runId,
        text: `"${op}" began on ${process} at ${at.toFixed(1)}: ${trespass}`,
      })),
};
