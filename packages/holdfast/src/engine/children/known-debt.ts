import { type EndedRun, endedRun } from "../../model/ended-run.ts";
import type { Run } from "../../model/run.ts";
import type { CommitOutcome, RunCommit } from "../../ports/store.ts";
import type { EndDebt } from "./near-ends.ts";

/** What the run owes after the commit that has ended it, as the store would say it; undefined if only the store can. */
export function knownDebt(
  run: Run,
  eventCount: number,
  { transition }: RunCommit,
  { debtNo }: CommitOutcome,
): EndDebt | undefined {
  const { namespace, runId, id, lineage } = run;
  if (debtNo === undefined || transition.type !== "end" || !lineage || lineage.op === null) return undefined;
  const { status, output, error, compensation } = transition;
  const end: EndedRun = { ...endedRun(run), status, output, error, compensation, eventCount };
  const parent = { namespace: lineage.parent.namespace, runId: lineage.parent.runId, op: lineage.op };
  return { kind: "result", debtNo, namespace, runId, id, end, parent, watchers: [] };
}
