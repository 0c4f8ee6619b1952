/** Runs that leave for another store. */
import {
  type DepartOutcome,
  type DepartParams,
  type Departure,
  type DeparturesParams,
  type RestText,
  type RunTie,
  restOfText,
  restText,
  type TransferParams,
} from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { hasTie, isClosedCode, statusCode, TIES } from "../database/codes.ts";
import { uuidBytes, uuidText } from "../database/uuid.ts";
import { isWatched, readLineage, tie } from "../debts/debt-state.ts";
import { lastEventAt } from "../histories.ts";
import { endRun } from "../runs/ends.ts";
import { newestKey, raiseEpoch, type StateRow, stateByKey, stateOf } from "../runs/run-state.ts";
import { leaveQueue } from "../tasks/task-state.ts";
import { restOf, tasksOf } from "./rests.ts";

const INSERT = `
  insert into holdfast_departures (run_id, epoch, at, namespace, departure, target, shown, rest)
  values (?, ?, ?, ?, ?, ?, ?, ?)`;
const BY_RUN_ID = "select epoch, departure, rest from holdfast_departures where run_id = ?";
const LIST = `
  select run_id as runId, epoch, at, target, shown, rest from holdfast_departures
  where namespace = ? and run_id > ? order by run_id limit ?`;
const ONE =
  "select run_id as runId, epoch, at, target, shown, rest from holdfast_departures where namespace = ? and run_id = ?";
const DELETE = "delete from holdfast_departures where run_id = ? and namespace = ? and epoch = ?";
const OWES_NO_MORE = "update holdfast_runs set ties = ties & ~? where run_id = ?";
const DELETE_TASKS = "delete from holdfast_tasks where run_id = ?";

const IDENTIFY = "insert into holdfast_identity (only_one, store_id) values (1, ?) on conflict do nothing";
const IDENTITY = "select store_id as storeId from holdfast_identity where only_one = 1";

export function identifyStore({ sql }: Call, { storeId }: { readonly storeId: string }): { readonly storeId: string } {
  sql.run(IDENTIFY, uuidBytes(storeId));
  return { storeId: uuidText((sql.get<{ storeId: Uint8Array }>(IDENTITY) as { storeId: Uint8Array }).storeId) };
}

export function departRunIfIdle(call: Call, params: DepartParams): DepartOutcome {
  const { namespace, epoch, commit, delivered, target, to, error } = params;
  const departure = uuidBytes(params.departureId);
  const row = stateOf(call, namespace, params.runId);
  if (!row) return { outcome: "not_found" };
  const { runId, runKey } = row;
  if (isClosedCode(row.status)) {
    const earlier = call.sql.get<{ epoch: number; departure: Uint8Array; rest: string }>(BY_RUN_ID, runId);
    if (earlier?.epoch !== epoch + 1 || row.epoch !== epoch + 1) return { outcome: "changed" };
    if (uuidText(earlier.departure) !== uuidText(departure)) return { outcome: "changed" };
    return { outcome: "departed", rest: readRest(earlier.rest) };
  }
  const tasks = tasksOf(call, row);
  if (row.heldBy !== null || tasks.some(({ heldBy }) => heldBy !== null)) return { outcome: "held" };
  if (row.epoch !== epoch || row.commit !== commit || row.delivered !== delivered) return { outcome: "changed" };
  const found = tieOf(call, row);
  if (found) return { outcome: "tied", tie: found };
  const rest = restOf(call, row, tasks);
  raiseEpoch(call, row);
  for (const task of tasks) if (task.place !== null) leaveQueue(call, task);
  call.sql.run(DELETE_TASKS, runId);
  endRun(call, row, { status: "moved", output: null, error, lastEventAt: lastEventAt(call, runKey) });
  // A run that owes something is not purged.
  tie(call, row, TIES.owes);
  const kept = JSON.stringify(restText(rest));
  call.sql.run(INSERT, runId, epoch + 1, call.now, namespace, departure, target, to, kept);
  return { outcome: "departed", rest };
}

export function listDepartures({ sql }: Call, params: DeparturesParams): Departure[] {
  const { namespace, runId: only, after, limit } = params;
  type Stored = Omit<Departure, "runId" | "rest" | "namespace" | "to"> & {
    readonly runId: Uint8Array;
    readonly rest: string;
    readonly shown: string;
  };
  const behind = after === undefined ? new Uint8Array(new ArrayBuffer(1), 0, 0) : uuidBytes(after);
  const found =
    only === undefined
      ? sql.all<Stored>(LIST, namespace, behind, limit)
      : sql.all<Stored>(ONE, namespace, uuidBytes(only));
  return found.map(({ runId, epoch, at, target, shown, rest }) => {
    return { namespace, runId: uuidText(runId), epoch, target, to: shown, at, rest: readRest(rest) };
  });
}

export function confirmDeparture({ sql }: Call, { namespace, runId, epoch }: TransferParams): void {
  const id = uuidBytes(runId);
  if (sql.run(DELETE, id, namespace, epoch) > 0) sql.run(OWES_NO_MORE, TIES.owes, id);
}

function readRest(text: string): Departure["rest"] {
  return restOfText(JSON.parse(text) as RestText);
}

// Ties ----------------------------------------------------------------------------------------------------------------

const HAS_LOCKS = "select 1 from holdfast_locks where run_key = ? limit 1";
const WATCHES = "select 1 from holdfast_watches where run_id = ? limit 1";
const ASKS = "select 1 from holdfast_updates where reply_run_id = ? limit 1";
const IS_ASKED = "select 1 from holdfast_updates where run_key = ? and reply_run_id is not null limit 1";
/** Children that have not ended, or whose end their parent does not know. */
const HAS_CHILDREN = `
  select 1 from holdfast_children c join holdfast_runs r on r.run_id = c.run_id
  where c.parent_key = ? and c.given_up = 0 and (r.ended_at is null or coalesce(r.ties, 0) & ? <> 0)
  union all
  select 1 from holdfast_children c join holdfast_run_starts s on s.first_run_id = c.run_id
    join holdfast_runs r on r.run_key = s.run_key
  where c.parent_key = ? and c.given_up = 0 and (r.ended_at is null or coalesce(r.ties, 0) & ? <> 0)
  limit 1`;

function tieOf(call: Call, row: StateRow): RunTie | undefined {
  const { sql } = call;
  const { runKey, runId, chainKey, ties } = row;
  const some = (statement: string, ...values: (number | Uint8Array)[]): boolean =>
    sql.columns(statement, ...values) !== undefined;
  if (hasTie(ties, TIES.owes)) return "owes";
  if (hasTie(ties, TIES.locks) && some(HAS_LOCKS, runKey)) return "locks";
  if (hasTie(ties, TIES.watched) && isWatched(call, chainKey)) return "watched";
  if (some(WATCHES, runId)) return "watches";
  if (some(ASKS, runId)) return "asks";
  if (hasTie(ties, TIES.asked) && some(IS_ASKED, runKey)) return "asked";
  if (hasTie(ties, TIES.children) && some(HAS_CHILDREN, runKey, TIES.owes, runKey, TIES.owes)) return "children";
  return hasTie(ties, TIES.lineage) && hasParent(call, runKey) ? "parent" : undefined;
}

function hasParent(call: Call, runKey: number): boolean {
  const { parent } = readLineage(call, runKey);
  const key = newestKey(call, parent.namespace, parent.id);
  if (key === null) return false;
  const { status, ties } = stateByKey(call, key);
  return !isClosedCode(status) || (status !== statusCode("moved") && hasTie(ties, TIES.owes));
}
