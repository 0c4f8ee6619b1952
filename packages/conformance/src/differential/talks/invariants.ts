import { type Debt, isClosed, type Run } from "holdfast/adapter";
import type { Contents } from "../contents.ts";

/** What must always hold for debts and for families. */
export function brokenByTalks(contents: Contents): string[] {
  const rows = new Map(contents.runs.map((run) => [run.runId, run]));
  return [
    ...contents.debts.flatMap((debt) => brokenByDebt(debt, rows, contents)),
    ...contents.runs.flatMap((run) => brokenByLineage(run, rows)),
  ];
}

function brokenByDebt(debt: Debt, rows: ReadonlyMap<string, Run>, contents: Contents): string[] {
  const run = rows.get(debt.runId);
  const twins = contents.debts.filter(({ runId, kind }) => runId === debt.runId && kind === debt.kind);
  const rules: Record<string, boolean> = {
    "what owes something exists": run !== undefined,
    "a run owes one thing of a kind": twins.length === 1,
  };
  if (debt.kind === "result") {
    rules["only a run that has ended owes its result"] = run !== undefined && isClosed(run.status);
    rules["a run that has continued owes no result"] = run?.status !== "continued";
    rules["a result is owed to somebody"] = debt.parent !== null || debt.watchers.length > 0;
    rules["a result is owed to the op that has started the run"] =
      (debt.parent?.op ?? null) === (run?.lineage?.op ?? null);
  } else if (debt.kind === "reply") {
    rules["senders are told of answers, or that the run has closed"] = debt.replies.every(
      ({ stage }) => stage === "answered" || (run !== undefined && isClosed(run.status)),
    );
  } else if (debt.kind === "close") {
    rules["only open children of the run are to be closed"] = debt.children.every((child) => {
      const chain = contents.runs.filter(({ firstRunId }) => firstRunId === child.runId);
      const newest = chain.find(({ status }) => !isClosed(status));
      return newest?.runId === child.openRunId && newest.lineage?.parent.runId === debt.runId;
    });
  }
  return violated(rules, debt.runId);
}

function brokenByLineage(run: Run, rows: ReadonlyMap<string, Run>): string[] {
  const from = run.continuedFrom === null ? undefined : rows.get(run.continuedFrom);
  const rules = {
    "a continuation has the lineage of its predecessor":
      !from || JSON.stringify(from.lineage) === JSON.stringify(run.lineage),
  };
  return violated(rules, run.runId);
}

function violated(rules: Readonly<Record<string, boolean>>, runId: string): string[] {
  return Object.entries(rules)
    .filter(([, holds]) => !holds)
    .map(([rule]) => `${rule}: ${runId}`);
}
