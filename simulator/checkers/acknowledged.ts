import type { Checker } from "../evidence.ts";

/** What a caller is told is true: a start, a signal, a cancel and an end are in the store when somebody hears of them. */
export const acknowledged: Checker = {
  name: "acknowledged",
  needs: ["acks"],
  check: ({ acks = [] }) =>
    acks
      .filter((ack) => !ack.true)
      .map(({ kind, id, runId, messageId, told }) => ({
        ...(runId === undefined ? {} : { runId }),
        text: `${kind} of ${id} was acknowledged, and was not so: ${messageId ?? told ?? ""}`,
      })),
};
