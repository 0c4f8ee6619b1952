import type { Lineage } from "../../model/child.ts";
import type { DebtKind } from "../../model/debt.ts";
import type { StartParent } from "../../ports/store.ts";
import type { MemoryState, RunRecord } from "../state.ts";
import type { ChildRecord } from "./debt-record.ts";
import { repliesToTell } from "./replies-to-tell.ts";

/** What a run owes when it has ended, however it did. */
export function oweAfterEnd(state: MemoryState, row: RunRecord, now: number): void {
  // It has not ended, and nobody waits for it here.
  if (row.status === "moved") return;
  const { lineage } = row;
  if (row.status !== "continued") {
    const self = lineage && childOf(state, lineage.parent.runId, row.firstRunId);
    if (self) self.open = false;
    if ((lineage && lineage.op !== null) || state.watches.has(row.firstRunId)) owe(state, row, "result", now);
  }
  if (someToClose(state, row.runId)) owe(state, row, "close", now);
  if (repliesToTell(state, row).length > 0) owe(state, row, "reply", now);
}

export function owe(state: MemoryState, { namespace, runId }: RunRecord, kind: DebtKind, now: number): void {
  const owed = state.debtsOf.get(runId);
  for (const debtNo of owed ?? []) if (state.debts.get(debtNo)?.kind === kind) return;
  state.newestDebt += 1;
  const debtNo = state.newestDebt;
  state.debts.set(debtNo, { debtNo, kind, namespace, runId, at: now });
  if (owed) owed.add(debtNo);
  else state.debtsOf.set(runId, new Set([debtNo]));
}

export function deleteDebt(state: MemoryState, debtNo: number): void {
  const debt = state.debts.get(debtNo);
  if (!debt) return;
  state.debts.delete(debtNo);
  const owed = state.debtsOf.get(debt.runId);
  owed?.delete(debtNo);
  if (owed?.size === 0) state.debtsOf.delete(debt.runId);
}

/** As part of an answer: nothing if it owes nothing. */
export function owing(state: MemoryState, runId: string): { readonly owes?: true } {
  return state.debtsOf.has(runId) ? { owes: true } : {};
}

/** The number of its only debt, if that is a result that it owes to nobody but its parent. */
export function owedToParent(state: MemoryState, { runId, firstRunId }: RunRecord): { readonly debtNo?: number } {
  const [debtNo, another] = state.debtsOf.get(runId) ?? [];
  const debt = debtNo === undefined ? undefined : state.debts.get(debtNo);
  if (debt?.kind !== "result" || another !== undefined || state.watches.has(firstRunId)) return {};
  return { debtNo: debt.debtNo };
}

/** It is open again: nobody is told of the end that it had, and its parent's policy applies to it. */
export function forgetEnd(state: MemoryState, row: RunRecord): void {
  for (const debtNo of [...(state.debtsOf.get(row.runId) ?? [])])
    if (state.debts.get(debtNo)?.kind === "result") deleteDebt(state, debtNo);
  const self = row.lineage && childOf(state, row.lineage.parent.runId, row.firstRunId);
  if (self) self.open = true;
}

// Children ------------------------------------------------------------------------------------------------------------

export function childOf(state: MemoryState, parentRunId: string, runId: string): ChildRecord | undefined {
  return state.children.get(parentRunId)?.get(runId);
}

export function addChild(state: MemoryState, parentRunId: string, child: ChildRecord): void {
  const children = state.children.get(parentRunId);
  if (children) children.set(child.runId, child);
  else state.children.set(parentRunId, new Map([[child.runId, child]]));
}

export function isGivenUp(state: MemoryState, parentRunId: string, runId: string): boolean {
  return childOf(state, parentRunId, runId)?.givenUp ?? false;
}

/** The run does not want these children any more. */
export function giveUpChildren(state: MemoryState, row: RunRecord, runIds: readonly string[], now: number): void {
  for (const runId of runIds) {
    const child = childOf(state, row.runId, runId);
    if (!child) {
      const { namespace } = row;
      addChild(state, row.runId, { namespace, runId, policy: "abandon", open: false, givenUp: true });
      continue;
    }
    child.givenUp = true;
    if (child.open && child.policy !== "abandon") owe(state, row, "close", now);
  }
}

/** Open children that a closed run, or one that has given them up, still has to close. */
export function isToClose({ open, policy, givenUp }: ChildRecord, parentClosed: boolean): boolean {
  return open && policy !== "abandon" && (parentClosed || givenUp);
}

function someToClose(state: MemoryState, runId: string): boolean {
  for (const child of state.children.get(runId)?.values() ?? []) if (isToClose(child, true)) return true;
  return false;
}

export function lineageOf({ parent, op, root, depth }: StartParent): Lineage {
  return { parent, op, root, depth };
}

// Namespaces ----------------------------------------------------------------------------------------------------------

/** Whether runs of `other` may reach runs of the namespace. */
export function isAllowed(state: MemoryState, namespace: string, other: string | undefined): boolean {
  return other === undefined || other === namespace || (state.allows.get(namespace)?.has(other) ?? false);
}
