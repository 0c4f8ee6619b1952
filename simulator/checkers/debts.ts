import type { Checker, Found } from "../evidence.ts";

/**
 * Whoever waits for a run or for the answer to an update is told: what is owed to them is written down with what caused it, is
 * crossed out only when they know, and nothing is owed to anybody when all is quiet.
 */
export const debts: Checker = {
  name: "debts",
  needs: ["debtFaults", "openDebts"],
  check({ debtFaults = [], openDebts = [] }) {
    const faults = debtFaults.filter(({ kind }) => kind !== "close");
    return [
      ...faults.map(({ runId, text }): Found => ({ runId, text })),
      ...openDebts.map(({ runId, kind }): Found => ({ runId, text: `it still owes a ${kind}` })),
    ];
  },
};
