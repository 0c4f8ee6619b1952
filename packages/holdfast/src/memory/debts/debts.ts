import { type ChildToClose, DEBT_PAGE, type Debt, type ResultReceiver } from "../../model/debt.ts";
import { endedRun } from "../../model/ended-run.ts";
import { isClosed } from "../../model/run.ts";
import type { PaidDebt, PayDebtsParams, ReadDebtsParams } from "../../ports/store.ts";
import { addressee } from "../inbox.ts";
import { locksOf } from "../locks/lock-state.ts";
import type { MemoryState, RunRecord } from "../state.ts";
import type { ChildRecord, DebtRecord } from "./debt-record.ts";
import { childOf, deleteDebt, isToClose } from "./debt-state.ts";
import { forgetSenders, repliesToTell } from "./replies-to-tell.ts";

export function readDebts(state: MemoryState, { runs, limit }: ReadDebtsParams): Debt[] {
  const numbers = runs ? runs.flatMap(({ runId }) => [...(state.debtsOf.get(runId) ?? [])]) : [...state.debts.keys()];
  const wanted = runs && new Set(runs.map(({ namespace, runId }) => `${namespace}\n${runId}`));
  return numbers
    .sort((a, b) => a - b)
    .map((debtNo) => state.debts.get(debtNo) as DebtRecord)
    .filter(({ namespace, runId }) => wanted?.has(`${namespace}\n${runId}`) ?? true)
    .slice(0, limit)
    .map((debt) => debtOf(state, debt));
}

function debtOf(state: MemoryState, { debtNo, kind, namespace, runId }: DebtRecord): Debt {
  const row = state.runs.get(runId) as RunRecord;
  const about = { debtNo, namespace, runId, id: row.id };
  if (kind === "close") return { ...about, kind, children: childrenToClose(state, row) };
  if (kind === "lock") return { ...about, kind };
  if (kind === "reply")
    return { ...about, kind, status: row.status, replies: repliesToTell(state, row).slice(0, DEBT_PAGE) };
  const { lineage } = row;
  const parent =
    lineage && lineage.op !== null
      ? { namespace: lineage.parent.namespace, runId: lineage.parent.runId, op: lineage.op }
      : null;
  const watchers = state.watches.get(row.firstRunId)?.slice(0, DEBT_PAGE) ?? [];
  return { ...about, kind, end: endedRun(row), parent, watchers };
}

function childrenToClose(state: MemoryState, row: RunRecord): ChildToClose[] {
  const closed = isClosed(row.status);
  const children: ChildToClose[] = [];
  for (const child of state.children.get(row.runId)?.values() ?? []) {
    if (!isToClose(child, closed)) continue;
    const { namespace, runId, policy } = child;
    children.push({ namespace, runId, openRunId: openRunOf(state, child), policy: policy as ChildToClose["policy"] });
    if (children.length === DEBT_PAGE) break;
  }
  return children;
}

/** Of the chain of that child; all that it has continued from may have been purged. */
function openRunOf(state: MemoryState, { namespace, runId }: ChildRecord): string {
  return addressee(state, { namespace, runId })?.runId ?? runId;
}

export function payDebts(state: MemoryState, { debts }: PayDebtsParams): { paid: number } {
  let paid = 0;
  for (const debt of debts) if (pay(state, debt)) paid += 1;
  return { paid };
}

function pay(state: MemoryState, paid: PaidDebt): boolean {
  const { debtNo, namespace, runId, watchers = [], children = [], replies = [] } = paid;
  const debt = state.debts.get(debtNo);
  if (debt?.runId !== runId || debt.namespace !== namespace) return false;
  const row = state.runs.get(runId) as RunRecord;
  for (const childRunId of children) {
    const child = childOf(state, runId, childRunId);
    if (child) child.open = false;
  }
  forgetSenders(state, row, replies);
  const left = debt.kind === "result" ? forgetWatchers(state, row, watchers) : leftOf(state, row, debt.kind);
  if (left > 0) return true;
  deleteDebt(state, debtNo);
  return true;
}

function leftOf(state: MemoryState, row: RunRecord, kind: "close" | "reply" | "lock"): number {
  if (kind === "lock") return locksOf(state, row.runId).filter(({ givenBack }) => givenBack).length;
  return (kind === "close" ? childrenToClose(state, row) : repliesToTell(state, row)).length;
}

/** Those that were told; returns how many are left. */
function forgetWatchers(state: MemoryState, { firstRunId }: RunRecord, told: readonly ResultReceiver[]): number {
  const isTold = (watch: ResultReceiver): boolean =>
    told.some(({ runId, op }) => runId === watch.runId && op === watch.op);
  const left = state.watches.get(firstRunId)?.filter((watch) => !isTold(watch)) ?? [];
  if (left.length > 0) state.watches.set(firstRunId, left);
  else state.watches.delete(firstRunId);
  return left.length;
}
