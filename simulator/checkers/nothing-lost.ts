import { isClosed } from "../../packages/holdfast/src/model/run.ts";
import type { Checker, Found } from "../evidence.ts";

/** Every run that was started exists; and after healing, each has finished, and every caller has got an answer. */
export const nothingLost: Checker = {
  name: "nothing-lost",
  needs: ["settled", "acks"],
  check({ runs, settled, acks = [], unfinished = [] }) {
    const found: Found[] = [];
    const known = new Set(runs.map(({ run }) => run.runId));
    for (const { kind, id, runId } of acks) {
      if (kind === "start" && (runId === undefined || !known.has(runId)))
        found.push({ text: `${id} was started and is gone` });
    }
    if (settled) return found;
    for (const { run } of runs) {
      const { runId, id, status, heldBy, availableAt, waitingFor, error } = run;
      if (isClosed(status)) continue;
      const row = JSON.stringify({ id, status, heldBy, availableAt, waitingFor, error: error?.message });
      found.push({ runId, text: `it has not finished: ${row}` });
    }
    for (const what of unfinished) found.push({ text: `still waiting for ${what}` });
    return found;
  },
};
