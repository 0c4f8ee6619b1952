import type { Checker, Found } from "../evidence.ts";

/** A run or a task under suspicion of killing its worker is executed alone, so that nothing else dies with it. */
export const alone: Checker = {
  name: "alone",
  needs: ["effects", "executions"],
  check: ({ effects = [], executions = [] }) =>
    [...effects, ...executions].flatMap(({ runId, op, process, at, company }): Found[] =>
      company === undefined
        ? []
        : [{ runId, text: `"${op}" began on ${process} at ${at.toFixed(1)}: under suspicion, but beside ${company}` }],
    ),
};
