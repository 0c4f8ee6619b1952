import { isClosed } from "../../packages/holdfast/src/model/run.ts";
import type { Checker, Found } from "../evidence.ts";

/**
 * Once a cancel is in history, nothing begins but what is shielded and what undoes; a run that was told to stop stops. Once a
 * run is terminated, nothing is written to it.
 */
export const canceledMeansCanceled: Checker = {
  name: "canceled-means-canceled",
  needs: ["effects", "inboxes"],
  check({ runs, effects = [], commits = [], inboxes, settled }) {
    const found: Found[] = [];
    for (const { runId, op, canceled, shielded, process } of effects) {
      if (canceled && !shielded && !op.startsWith("compensate:"))
        found.push({ runId, text: `"${op}" began on ${process} although the run was canceled` });
    }
    for (const { runId, applied, before } of commits) {
      if (applied && isClosed(before.status))
        found.push({ runId, text: `something was written when it was ${before.status}` });
    }
    for (const { run } of runs) {
      const { runId, consumed } = run;
      const asked = (inboxes?.get(runId) ?? []).slice(consumed).some((message) => message.kind === "cancel");
      if (asked && settled && !isClosed(run.status)) found.push({ runId, text: "a cancel was never taken in" });
    }
    return found;
  },
};
