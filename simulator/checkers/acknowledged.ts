import type { Checker } from "../evidence.ts";

/**
 * What a caller is told is true: a start, a signal, a cancel and an end are in the store when a caller learns of them.
 */
export const acknowledged: Checker = {
  name: "acknowledged",
  needs: ["acks"],
  check: ({ acks = [] }) =>
    acks
      .filter((ack) => !ack.true)
      .map(({ kind, id, runId, messageId, told }) => ({
        ...(runId === undefined ? {} : { runId }),
        text: `${kind} of ${id} was acknowledged, but was not in the store: ${messageId ?? told ?? ""}`,
      })),
};
