import {
  type ChildToClose,
  DEBT_OVERDUE_MS,
  DEBT_PAGE,
  type Debt,
  type DebtKind,
  type Lineage,
  type PaidDebt,
  type PayDebtsParams,
  type ReadDebtsParams,
  type ResultReceiver,
} from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { debtKindName, hasTie, isClosedCode, policyName, statusName, TIES, TO_CLOSE } from "../database/codes.ts";
import { uuidBytes, uuidText } from "../database/uuid.ts";
import { addressee } from "../inbox.ts";
import { locksGivenBack } from "../locks/lock-state.ts";
import { readEnd } from "../runs/run-rows.ts";
import { isOf, keyOf, type StateRow, stateByKey } from "../runs/run-state.ts";
import { closeNoMore, deleteDebt } from "./debt-state.ts";
import { forgetSenders, repliesToTell } from "./replies-to-tell.ts";

const DEBT = "select debt_no as debtNo, run_key as runKey, kind from holdfast_debts";
/** From the first number on: a walk along the table that stops at the limit. */
const OLDEST = `${DEBT} where debt_no > 0 order by debt_no limit ?`;
const OF_RUN = `${DEBT} where run_key = ? order by debt_no`;
const BY_NUMBER = `${DEBT} where debt_no = ?`;
const ID = "select id from holdfast_run_starts where run_key = ?";
const CHILDREN = `
  select child_key as childKey, namespace, run_id as runId, policy from holdfast_children
  where parent_key = ? and to_close = ? order by child_key limit ?`;
const WATCHERS = `
  select namespace, run_id as runId, op from holdfast_watches indexed by holdfast_watches_chain
  where chain_key = ? order by watch_key limit ?`;
const FORGET_WATCHER = "delete from holdfast_watches where chain_key = ? and run_id = ? and op = ?";
const OVERDUE = "select 1 from holdfast_debts where at <= ? limit 1";

interface StoredDebt {
  readonly debtNo: number;
  readonly runKey: number;
  readonly kind: number;
}

interface StoredChild {
  readonly childKey: number;
  readonly namespace: string;
  readonly runId: Uint8Array;
  readonly policy: number;
}

export function readDebts(call: Call, { runs, limit }: ReadDebtsParams): Debt[] {
  if (!runs) return call.sql.all<StoredDebt>(OLDEST, limit).map((debt) => debtOf(call, debt));
  const owed = runs.flatMap((run) => {
    const runKey = keyOf(call, run);
    return runKey === null ? [] : call.sql.all<StoredDebt>(OF_RUN, runKey);
  });
  return owed
    .sort((a, b) => a.debtNo - b.debtNo)
    .slice(0, limit)
    .map((debt) => debtOf(call, debt));
}

/** Whether somebody has owed something for so long that whoever should have paid must have died. */
export function isOwedLong({ sql, now }: Call): boolean {
  return sql.columns(OVERDUE, now - DEBT_OVERDUE_MS) !== undefined;
}

function debtOf(call: Call, { debtNo, runKey, kind }: StoredDebt): Debt {
  const row = stateByKey(call, runKey);
  const { namespace } = call.catalog.lane(row.laneId);
  const about = { debtNo, namespace, runId: uuidText(row.runId) };
  if (debtKindName(kind) === "close") {
    const [id] = call.sql.columns(ID, runKey) as readonly [string];
    return { ...about, id, kind: "close", children: childrenToClose(call, row, DEBT_PAGE) };
  }
  if (debtKindName(kind) === "lock") {
    const [id] = call.sql.columns(ID, runKey) as readonly [string];
    return { ...about, id, kind: "lock" };
  }
  if (debtKindName(kind) === "reply") {
    const [id] = call.sql.columns(ID, runKey) as readonly [string];
    const replies = repliesToTell(call, row, DEBT_PAGE);
    return { ...about, id, kind: "reply", status: statusName(row.status), replies };
  }
  const { end, lineage } = readEnd(call, runKey);
  const watchers = watchersOf(call, row, DEBT_PAGE);
  return { ...about, id: end.id, kind: "result", end, parent: receiverIn(lineage), watchers };
}

function receiverIn(lineage: Lineage | undefined): ResultReceiver | null {
  if (!lineage || lineage.op === null) return null;
  const { namespace, runId } = lineage.parent;
  return { namespace, runId, op: lineage.op };
}

function watchersOf({ sql }: Call, { chainKey, ties }: StateRow, limit: number): ResultReceiver[] {
  if (!hasTie(ties, TIES.watched)) return [];
  const stored = sql.all<Omit<ResultReceiver, "runId"> & { runId: Uint8Array }>(WATCHERS, chainKey, limit);
  return stored.map(({ namespace, runId, op }) => ({ namespace, runId: uuidText(runId), op }));
}

/** Those that it has given up; if it is closed, all that are open. In the order of their starts. */
function childrenToClose(call: Call, { runKey, status }: StateRow, limit: number): ChildToClose[] {
  const when = isClosedCode(status) ? [TO_CLOSE.now, TO_CLOSE.withParent] : [TO_CLOSE.now];
  const found = when.flatMap((toClose) => call.sql.all<StoredChild>(CHILDREN, runKey, toClose, limit));
  return found
    .sort((a, b) => a.childKey - b.childKey)
    .slice(0, limit)
    .map(({ namespace, runId, policy }) => {
      const openRunId = openRunOf(call, namespace, runId);
      return { namespace, runId: uuidText(runId), openRunId, policy: policyName(policy) as ChildToClose["policy"] };
    });
}

/** Of the chain of that child; all that it has continued from may have been purged. */
function openRunOf(call: Call, namespace: string, firstRunId: Uint8Array): string {
  const found = addressee(call, { namespace, runId: uuidText(firstRunId) });
  return uuidText(found?.runId ?? firstRunId);
}

export function payDebts(call: Call, { debts }: PayDebtsParams): { paid: number } {
  let paid = 0;
  for (const debt of debts) if (pay(call, debt)) paid += 1;
  return { paid };
}

function pay(call: Call, paid: PaidDebt): boolean {
  const { debtNo, namespace, runId, watchers = [], children = [], replies = [] } = paid;
  const { sql } = call;
  const debt = sql.get<StoredDebt>(BY_NUMBER, debtNo);
  const row = debt && stateByKey(call, debt.runKey);
  if (!row || !isOf(call, row.laneId, namespace) || uuidText(row.runId) !== runId.toLowerCase()) return false;
  for (const child of children) closeNoMore(call, row.runKey, uuidBytes(child));
  forgetSenders(call, row, replies);
  const kind = debtKindName(debt.kind);
  if (kind === "result")
    for (const watcher of watchers) sql.run(FORGET_WATCHER, row.chainKey, uuidBytes(watcher.runId), watcher.op);
  if (leftOf(call, row, kind).length === 0) deleteDebt(call, debtNo, row.runKey);
  return true;
}

function leftOf(call: Call, row: StateRow, kind: DebtKind): readonly unknown[] {
  if (kind === "result") return watchersOf(call, row, 1);
  if (kind === "lock") return locksGivenBack(call, row.runKey);
  return kind === "close" ? childrenToClose(call, row, 1) : repliesToTell(call, row, 1);
}
