import { isClosed } from "../../packages/holdfast/src/model/run.ts";
import type { Checker, Found } from "../evidence.ts";

/**
 * Once a cancel is in history, only shielded code and compensations begin anything, and the run ends. Once a run is
 * terminated, nothing is written to it.
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
        found.push({ runId, text: `an event was written after it was ${before.status}` });
    }
    for (const { run } of runs) {
      const { runId, consumed } = run;
      const asked = (inboxes?.get(runId) ?? []).some(({ kind, number }) => kind === "cancel" && number > consumed);
      if (asked && settled && !isClosed(run.status)) found.push({ runId, text: "a cancel was never received" });
    }
    return found;
  },
};
