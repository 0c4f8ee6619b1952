/** All findings about a round: from the judge, and from the simulator's checkers that need only rows and histories. */
import { checkEvidence } from "../simulator/checkers/index.ts";
import type { Evidence } from "./evidence.ts";
import type { Finding } from "./finding.ts";
import { judge, type Verdict } from "./judge.ts";

export async function examine(evidence: Evidence): Promise<Verdict> {
  const verdict = judge(evidence);
  const ids = new Map(evidence.runs.map(({ run }) => [run.runId, run.id]));
  const violations = await checkEvidence({ runs: evidence.runs });
  const checked = violations.map(
    ({ checker, runId, text }): Finding => ({
      fault: "wrong",
      id: ids.get(runId ?? "") ?? "",
      text: `${checker}: ${text}`,
    }),
  );
  return { ...verdict, findings: [...verdict.findings, ...checked] };
}
