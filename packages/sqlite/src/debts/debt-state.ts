/** What runs owe to other runs, and why: lineages, children and watchers. Runs without ties never get here. */
import type { ClosePolicy, DebtKind, Lineage, RunStatus, StartParent } from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { debtKindCode, hasTie, policyCode, TIES, TO_CLOSE } from "../database/codes.ts";
import { newUuidBytes, uuidBytes, uuidText } from "../database/uuid.ts";

export interface TiedRun {
  readonly runKey: number;
  /** Bits (TIES); null: it has nothing to do with other runs. */
  readonly ties: number | null;
}

/** What a run owes when it has ended, however it did. Returns its ties afterward. */
export function oweAfterEnd(call: Call, row: TiedRun, status: RunStatus): number | null {
  const { runKey } = row;
  let { ties } = row;
  // It has not ended, and nobody waits for it here.
  if (status === "moved") return ties;
  if (status !== "continued") {
    const isAwaited = hasTie(ties, TIES.lineage) && leaveParent(call, runKey);
    if (isAwaited || (hasTie(ties, TIES.watched) && isWatched(call, chainOf(call, runKey))))
      ties = owe(call, { runKey, ties }, "result");
  }
  if (hasTie(ties, TIES.children) && hasToClose(call, runKey)) ties = owe(call, { runKey, ties }, "close");
  if (hasTie(ties, TIES.asked) && hasToTell(call, runKey, status)) ties = owe(call, { runKey, ties }, "reply");
  return ties;
}

/** It is open again: nobody is told of the end that it had, and its parent's policy applies to it. */
export function forgetEnd(call: Call, { runKey, ties }: TiedRun): void {
  if (hasTie(ties, TIES.owes)) {
    call.sql.run("delete from holdfast_debts where run_key = ? and kind = ?", runKey, debtKindCode("result"));
    untieIfPaid(call, runKey);
  }
  if (hasTie(ties, TIES.lineage)) returnToParent(call, runKey);
}

export function tie({ sql }: Call, { runKey, ties }: TiedRun, tie: number): number {
  // Not from what was read: another part of the call may have changed it since.
  if (!hasTie(ties, tie))
    sql.run("update holdfast_runs set ties = coalesce(ties, 0) | ? where run_key = ?", tie, runKey);
  return (ties ?? 0) | tie;
}

// Debts ---------------------------------------------------------------------------------------------------------------

const OWES_KIND = "select 1 from holdfast_debts where run_key = ? and kind = ?";
const INSERT_DEBT = "insert into holdfast_debts (run_key, kind, at) values (?, ?, ?)";
const UNTIE = `
  update holdfast_runs set ties = ties & ~?
  where run_key = ? and not exists (select 1 from holdfast_debts d where d.run_key = holdfast_runs.run_key)`;

export function owe(call: Call, row: TiedRun, kind: DebtKind): number {
  const { sql, now } = call;
  const code = debtKindCode(kind);
  if (hasTie(row.ties, TIES.owes) && sql.columns(OWES_KIND, row.runKey, code)) return row.ties as number;
  sql.execute(INSERT_DEBT, row.runKey, code, now);
  return tie(call, row, TIES.owes);
}

export function deleteDebt(call: Call, debtNo: number, runKey: number): void {
  call.sql.run("delete from holdfast_debts where debt_no = ?", debtNo);
  untieIfPaid(call, runKey);
}

function untieIfPaid({ sql }: Call, runKey: number): void {
  sql.run(UNTIE, TIES.owes, runKey);
}

/** As part of an answer: nothing if it owes nothing. */
export function owing(ties: number | null): { readonly owes?: true } {
  return hasTie(ties, TIES.owes) ? OWES : OWES_NOTHING;
}

/** The number of its only debt, if that is a result that it owes to nobody but its parent. */
export function owedToParent({ sql }: Call, { runKey, ties }: TiedRun): { readonly debtNo?: number } {
  // A bit more may mean another debt, except those that have nothing to do with other runs.
  if (((ties ?? 0) & ~(TIES.place | TIES.key)) !== (TIES.lineage | TIES.owes)) return OWES_NOTHING;
  const [debtNo] = sql.columns("select debt_no from holdfast_debts where run_key = ?", runKey) ?? [];
  return { debtNo: debtNo as number };
}

const OWES = { owes: true } as const;
const OWES_NOTHING = {};

// Lineages ------------------------------------------------------------------------------------------------------------

const INSERT_LINEAGE = `
  insert into holdfast_lineages (run_key, parent_key, created_at, depth, parent_run_id, root_run_id, parent_namespace,
    parent_id, root_id, op)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const INHERIT = `
  insert into holdfast_lineages (run_key, parent_key, created_at, depth, parent_run_id, root_run_id, parent_namespace,
    parent_id, root_id, op)
  select ?, parent_key, ?, depth, parent_run_id, root_run_id, parent_namespace, parent_id, root_id, op
  from holdfast_lineages where run_key = ?`;
const SELECT_LINEAGE = `
  select parent_namespace as parentNamespace, parent_run_id as parentRunId, parent_id as parentId, op,
    root_run_id as rootRunId, root_id as rootId, depth
  from holdfast_lineages where run_key = ?`;

interface StoredLineage {
  readonly parentNamespace: string;
  readonly parentRunId: Uint8Array;
  readonly parentId: string;
  readonly op: string | null;
  readonly rootRunId: Uint8Array;
  readonly rootId: string;
  readonly depth: number;
}

/** The run must have one. */
export function readLineage({ sql }: Call, runKey: number): Lineage {
  const stored = sql.get<StoredLineage>(SELECT_LINEAGE, runKey) as StoredLineage;
  const { parentNamespace, parentRunId, parentId, op, rootRunId, rootId, depth } = stored;
  return {
    parent: { namespace: parentNamespace, runId: uuidText(parentRunId), id: parentId },
    op,
    root: { runId: uuidText(rootRunId), id: rootId },
    depth,
  };
}

/** The same from a start, as it is read back. */
export function lineageOf({ parent, op, root, depth }: StartParent): Lineage {
  const { namespace, runId, id } = parent;
  return {
    parent: { namespace, runId: runId.toLowerCase(), id },
    op,
    root: { runId: root.runId.toLowerCase(), id: root.id },
    depth,
  };
}

export interface NewChild {
  readonly runKey: number;
  readonly runId: string;
  readonly namespace: string;
  readonly createdAt: number;
}

/** The child was just created, with its tie to a lineage. */
export function addChild(call: Call, parentRow: TiedRun, child: NewChild, start: StartParent): void {
  const { parent, op, root, depth, policy } = start;
  call.sql.execute(
    INSERT_LINEAGE,
    ...[child.runKey, parentRow.runKey, child.createdAt, depth, newUuidBytes(parent.runId), newUuidBytes(root.runId)],
    ...[parent.namespace, parent.id, root.id, op],
  );
  insertChild(call, parentRow, child, policy, false);
}

/** A continuation has the lineage and the watchers of the run that it continues. Returns its ties. */
export function inheritedTies({ ties }: TiedRun): number | null {
  return ties === null ? null : ties & (TIES.lineage | TIES.watched | TIES.place) || null;
}

/** The lineage of a run that comes from another store. Its parent may be unknown here: no run has the key 0. */
export function insertLineage(call: Call, child: Pick<NewChild, "runKey" | "createdAt">, lineage: Lineage): void {
  const { parent, op, root, depth } = lineage;
  const parentId = newUuidBytes(parent.runId);
  const [parentKey = 0] = call.sql.columns("select run_key from holdfast_runs where run_id = ?", parentId) ?? [];
  call.sql.execute(
    INSERT_LINEAGE,
    ...[child.runKey, parentKey, child.createdAt, depth, parentId, newUuidBytes(root.runId)],
    ...[parent.namespace, parent.id, root.id, op],
  );
}

export function inheritLineage({ sql }: Call, from: TiedRun, next: Pick<NewChild, "runKey" | "createdAt">): void {
  if (hasTie(from.ties, TIES.lineage)) sql.execute(INHERIT, next.runKey, next.createdAt, from.runKey);
}

// Children ------------------------------------------------------------------------------------------------------------

const INSERT_CHILD = `
  insert into holdfast_children (parent_key, run_id, namespace, policy, given_up, to_close) values (?, ?, ?, ?, ?, ?)`;
const GIVEN_UP = "select given_up from holdfast_children where parent_key = ? and run_id = ?";
const TO_CLOSE_OF = "select to_close from holdfast_children where parent_key = ? and run_id = ?";
const GIVE_UP = `
  update holdfast_children set given_up = 1, to_close = iif(to_close is null, null, ?) where parent_key = ? and run_id = ?`;
const HAS_TO_CLOSE = "select 1 from holdfast_children where parent_key = ? and to_close > 0 limit 1";
const CLOSE_NO_MORE = "update holdfast_children set to_close = null where parent_key = ? and run_id = ?";
const CLOSE_AGAIN = `
  update holdfast_children set to_close = iif(given_up = 1, ?, ?) where parent_key = ? and run_id = ? and policy <> ?`;
/** Children are listed under the first run of their chain. */
const SELF_AS_CHILD = `
  select l.parent_key, coalesce(s.first_run_id, r.run_id), l.op
  from holdfast_lineages l join holdfast_run_starts s on s.run_key = l.run_key join holdfast_runs r on r.run_key = l.run_key
  where l.run_key = ?`;

type SelfAsChild = readonly [parentKey: number, runId: Uint8Array, op: string | null];

export function selfAsChild({ sql }: Call, runKey: number): SelfAsChild {
  return sql.columns(SELF_AS_CHILD, runKey) as unknown as SelfAsChild;
}

/** Its parent need not close it any more. Returns whether an op of the parent waits for its result. */
function leaveParent(call: Call, runKey: number): boolean {
  const [parentKey, runId, op] = selfAsChild(call, runKey);
  closeNoMore(call, parentKey, runId);
  return op !== null;
}

function returnToParent(call: Call, runKey: number): void {
  const [parentKey, runId] = selfAsChild(call, runKey);
  call.sql.run(CLOSE_AGAIN, TO_CLOSE.now, TO_CLOSE.withParent, parentKey, runId, policyCode("abandon"));
}

/** It has ended, or its parent's policy has reached it. */
export function closeNoMore({ sql }: Call, parentKey: number, runId: Uint8Array): void {
  sql.run(CLOSE_NO_MORE, parentKey, runId);
}

function insertChild(
  call: Call,
  parent: TiedRun,
  { runId, namespace }: Pick<NewChild, "runId" | "namespace">,
  policy: ClosePolicy,
  givenUp: boolean,
): number {
  const toClose = policy === "abandon" ? null : TO_CLOSE.withParent;
  const values = [policyCode(policy), Number(givenUp), toClose];
  call.sql.execute(INSERT_CHILD, parent.runKey, newUuidBytes(runId), namespace, ...values);
  return tie(call, parent, TIES.children);
}

export function isGivenUp({ sql }: Call, { runKey, ties }: TiedRun, runId: string): boolean {
  return hasTie(ties, TIES.children) && sql.columns(GIVEN_UP, runKey, uuidBytes(runId))?.[0] === 1;
}

/** The run does not want these children any more. Returns its ties afterward. */
export function giveUpChildren(
  call: Call,
  row: TiedRun & { readonly namespace: string },
  runIds: readonly string[],
): number | null {
  const { sql } = call;
  const { runKey, namespace } = row;
  let { ties } = row;
  for (const runId of runIds) {
    const child = sql.columns(TO_CLOSE_OF, runKey, uuidBytes(runId));
    if (!child) {
      // It has not been started yet: this row refuses its start.
      ties = insertChild(call, { runKey, ties }, { runId, namespace }, "abandon", true);
      continue;
    }
    sql.run(GIVE_UP, TO_CLOSE.now, runKey, uuidBytes(runId));
    if (child[0] !== null) ties = owe(call, { runKey, ties }, "close");
  }
  return ties;
}

function hasToClose({ sql }: Call, runKey: number): boolean {
  return sql.columns(HAS_TO_CLOSE, runKey) !== undefined;
}

// Watchers ------------------------------------------------------------------------------------------------------------

const IS_WATCHED = "select 1 from holdfast_watches where chain_key = ? limit 1";
const CHAIN = "select coalesce(chain_key, run_key) from holdfast_runs where run_key = ?";

/** The key of the first run of its chain. */
export function chainOf({ sql }: Call, runKey: number): number {
  return sql.columns(CHAIN, runKey)?.[0] as number;
}

export function isWatched({ sql }: Call, chainKey: number): boolean {
  return sql.columns(IS_WATCHED, chainKey) !== undefined;
}

export function noteWatched(call: Call, row: TiedRun): void {
  tie(call, row, TIES.watched);
}

// Senders of updates --------------------------------------------------------------------------------------------------

/** Of a closed run, one that has continued: what it has not read belongs to its successor. */
const HAS_TO_TELL = `
  select 1 from holdfast_updates u join holdfast_runs r on r.run_key = u.run_key
  where u.run_key = ? and u.reply_run_id is not null and (? = 0 or u.number <= r.consumed) limit 1`;

function hasToTell({ sql }: Call, runKey: number, status: RunStatus): boolean {
  return sql.columns(HAS_TO_TELL, runKey, Number(status === "continued")) !== undefined;
}

export function noteAsked(call: Call, row: TiedRun): void {
  tie(call, row, TIES.asked);
}
