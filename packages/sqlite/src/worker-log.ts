/** What is kept of workers besides their rows: their lives, and what they have counted. */
import type {
  AddRatesParams,
  RateRow,
  ReadRatesParams,
  ReadWorkerLogParams,
  WorkerLogRow,
  WorkerMoment,
  WorkerRef,
} from "holdfast/adapter";
import type { Call } from "./database/call.ts";
import { OFFLINE } from "./database/codes.ts";
import { uuidBytes, uuidText } from "./database/uuid.ts";

const LOG = `
  insert into holdfast_worker_log (namespace, worker_id, name, type, at)
  select namespace, worker_id, name, ?, ? from holdfast_workers where worker_key = ?`;
const READ_LOG = `
  select entry_no as entryNo, namespace, worker_id as workerId, name, type, at from holdfast_worker_log
  where namespace = ? and entry_no < ?`;
const NEWEST_FIRST = "order by entry_no desc limit ?";
const ADD = `
  insert into holdfast_rates (namespace, at, workflow, started, ended, failed, retried) values (?, ?, ?, ?, ?, ?, ?)
  on conflict (namespace, at, workflow) do update set started = started + excluded.started, ended = ended + excluded.ended,
    failed = failed + excluded.failed, retried = retried + excluded.retried`;

export function logMoment({ sql, now }: Call, workerKey: number, type: WorkerMoment): void {
  sql.run(LOG, type, now, workerKey);
}

export function readWorkerLog({ sql }: Call, params: ReadWorkerLogParams): WorkerLogRow[] {
  const { namespace, workerId, before, limit } = params;
  const below = before ?? Number.MAX_SAFE_INTEGER;
  type Stored = Omit<WorkerLogRow, "workerId"> & { readonly workerId: Uint8Array };
  const rows =
    workerId === undefined
      ? sql.all<Stored>(`${READ_LOG} ${NEWEST_FIRST}`, namespace, below, limit)
      : sql.all<Stored>(`${READ_LOG} and worker_id = ? ${NEWEST_FIRST}`, namespace, below, uuidBytes(workerId), limit);
  return rows.map((row) => ({ ...row, workerId: uuidText(row.workerId) }));
}

const OF_WORKER = `
  select worker_key as workerKey, status, rates_no as ratesNo from holdfast_workers where worker_id = ? and namespace = ?`;

interface Found {
  readonly workerKey: number;
  readonly status: number;
  readonly ratesNo: number;
}

export function askToDrain({ sql }: Call, params: WorkerRef): { outcome: "asked" | "offline" | "not_found" } {
  const worker = sql.get<Found>(OF_WORKER, uuidBytes(params.workerId), params.namespace);
  if (!worker) return { outcome: "not_found" };
  if (worker.status === OFFLINE) return { outcome: "offline" };
  sql.run("update holdfast_workers set drain_asked = 1 where worker_key = ?", worker.workerKey);
  return { outcome: "asked" };
}

export function addRates({ sql }: Call, params: AddRatesParams): void {
  const worker = sql.get<Found>(OF_WORKER, uuidBytes(params.workerId), params.namespace);
  if (!worker || worker.status === OFFLINE || worker.ratesNo + 1 !== params.no) return;
  sql.run("update holdfast_workers set rates_no = ? where worker_key = ?", params.no, worker.workerKey);
  for (const { from, workflow, started, ended, failed, retried } of params.rates)
    sql.run(ADD, params.namespace, from, workflow, started, ended, failed, retried);
}

const READ_RATES = `
  select at - at % ? as "from", workflow, sum(started) as started, sum(ended) as ended, sum(failed) as failed, sum(retried) as retried
  from holdfast_rates where namespace = ? and at >= ? and at < ?`;
const IN_ORDER = "group by 1, 2 order by 1, 2";

export function readRates({ sql }: Call, params: ReadRatesParams): RateRow[] {
  const { namespace, from, to, grainMs, workflow } = params;
  return workflow === undefined
    ? sql.all<RateRow>(`${READ_RATES} ${IN_ORDER}`, grainMs, namespace, from, to)
    : sql.all<RateRow>(`${READ_RATES} and workflow = ? ${IN_ORDER}`, grainMs, namespace, from, to, workflow);
}

/** The oldest entries come first: if they are not old, none is. */
const FORGET_LOG = `
  delete from holdfast_worker_log where entry_no in (
    select entry_no from (select entry_no, at from holdfast_worker_log order by entry_no limit ?2) where at < ?1)`;
const FORGET_RATES = `
  delete from holdfast_rates where (namespace, at, workflow) in
    (select namespace, at, workflow from holdfast_rates where at < ? order by at limit ?)`;
const FORGET_WORKERS = `
  delete from holdfast_workers where worker_key in
    (select worker_key from holdfast_workers where emptied = 1 and stopped_at < ? limit ?)`;

export function forgetWorkers(
  { sql }: Call,
  { before, limit }: { readonly before: number; readonly limit: number },
): { more: boolean } {
  const forgotten = [FORGET_LOG, FORGET_RATES, FORGET_WORKERS].map((statement) => sql.run(statement, before, limit));
  return { more: forgotten.some((count) => count >= limit) };
}
