import type { Checker } from "../evidence.ts";

/** No effect happens before the events that its workflow code had seen are durable. */
export const durableBeforeEffect: Checker = {
  name: "durable-before-effect",
  needs: ["effects"],
  check: ({ effects = [] }) =>
    effects
      .filter(({ seenSeq, durableSeq }) => seenSeq > durableSeq)
      .map(({ runId, op, seenSeq, durableSeq }) => ({
        runId,
        text: `"${op}" began when its code had seen ${seenSeq} events, but only ${durableSeq} were durable`,
      })),
};
