import { closeMessageId } from "../../packages/holdfast/src/model/ids.ts";
import type { Run } from "../../packages/holdfast/src/model/run.ts";
import type { Checker, Found } from "../evidence.ts";
import { isUndoableChild } from "../workload/child.ts";

/**
 * When a run has ended, or has given a child up, the child is asked to stop or ended, as its policy says, and no child is
 * forgotten. A child that was to be left alone is left alone.
 */
export const closePolicy: Checker = {
  name: "close-policy",
  needs: ["births", "debtFaults", "inboxes"],
  check({ runs, births = [], debtFaults = [], inboxes }) {
    const found: Found[] = debtFaults
      .filter(({ kind }) => kind === "close")
      .map(({ runId, text }) => ({ runId, text }));
    const ops = new Map(runs.map(({ run }) => [run.runId, run.lineage?.op]));
    const ended = new Set(runs.filter(({ run }) => isClosedByParent(run)).map(({ run }) => run.firstRunId));
    for (const { runId, parentRunId, policy } of births) {
      // One with a compensation is canceled whatever its policy says: its outcome must be known.
      if (policy !== "abandon" || isUndoableChild(ops.get(runId) ?? "")) continue;
      const messageId = closeMessageId(parentRunId, runId);
      if (ended.has(runId) || inboxes?.get(runId)?.some((message) => message.messageId === messageId))
        found.push({ runId, text: `it was to be left alone, but ${parentRunId} has closed it` });
    }
    return found;
  },
};

function isClosedByParent({ status, error }: Run): boolean {
  return status === "terminated" && error !== null && /^parent "/.test(error.message);
}
