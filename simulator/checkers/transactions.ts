import type { Checker, Found } from "../evidence.ts";

/** A transaction step whose completion is in history has committed once, and none commits twice. */
export const transactions: Checker = {
  name: "transactions",
  needs: ["ledger"],
  check({ runs, ledger = [] }) {
    const found: Found[] = [];
    const committed = new Set<string>();
    for (const { runId, op } of ledger) {
      const key = `${runId} ${op}`;
      if (committed.has(key)) found.push({ runId, text: `transaction "${op}" has committed twice` });
      committed.add(key);
    }
    for (const { run, history } of runs) {
      const { runId } = run;
      for (const { type, op } of history) {
        if (type !== "step_completed" || !op?.startsWith("q") || committed.has(`${runId} ${op}`)) continue;
        found.push({ runId, text: `transaction "${op}" is completed in history, but has never committed` });
      }
    }
    return found;
  },
};
