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
import * as binary from "./database/binary-array.ts";
import type { Server } from "./database/server.ts";
import { callOf, queryOf } from "./database/server-call.ts";

const WORKER = {
  p_namespace: ({ namespace }: WorkerRef) => namespace,
  p_worker: ({ workerId }: WorkerRef) => workerId,
};

const ASK_TO_DRAIN = callOf<WorkerRef>("ask_to_drain", WORKER, "c as outcome");

const ADD_RATES = callOf<AddRatesParams>("add_rates", {
  ...WORKER,
  p_no: ({ no }) => no,
  p_at: ({ rates }) => binary.timeArray(rates, ({ from }) => from),
  p_workflow: ({ rates }) => binary.textArray(rates, ({ workflow }) => workflow),
  p_started: ({ rates }) => binary.int4Array(rates, ({ started }) => started),
  p_ended: ({ rates }) => binary.int4Array(rates, ({ ended }) => ended),
  p_failed: ({ rates }) => binary.int4Array(rates, ({ failed }) => failed),
  p_retried: ({ rates }) => binary.int4Array(rates, ({ retried }) => retried),
});

const FORGET = callOf<{ readonly before: number; readonly limit: number }>(
  "forget_workers",
  { p_before: ({ before }) => before, p_limit: ({ limit }) => limit },
  "c as more",
);

const READ_LOG = queryOf<ReadWorkerLogParams>(
  "read_worker_log",
  (at) => `
    select l.* from ${at}.worker_log l
     where l.namespace = $namespace and l.entry_no < $before and ($worker::uuid is null or l.worker_id = $worker)
     order by l.entry_no desc limit $limit`,
  {
    namespace: ({ namespace }) => namespace,
    before: ({ before }) => before ?? Number.MAX_SAFE_INTEGER,
    worker: ({ workerId }) => workerId ?? null,
    limit: ({ limit }) => limit,
  },
);

const READ_RATES = queryOf<ReadRatesParams>(
  "read_rates",
  (at) => `
    select r.at - r.at % $grain::bigint as "from", r.workflow, sum(r.started)::bigint as started, sum(r.ended)::bigint as ended,
           sum(r.failed)::bigint as failed, sum(r.retried)::bigint as retried
      from ${at}.rates r
     where r.namespace = $namespace and r.at >= $since and r.at < $until and ($workflow::text is null or r.workflow = $workflow)
     group by 1, 2 order by 1, 2`,
  {
    grain: ({ grainMs }) => grainMs,
    namespace: ({ namespace }) => namespace,
    since: ({ from }) => from,
    until: ({ to }) => to,
    workflow: ({ workflow }) => workflow ?? null,
  },
);

export async function askToDrain(server: Server, params: WorkerRef) {
  const row = await server.writeOne(ASK_TO_DRAIN, params);
  return { outcome: row.outcome as "asked" | "offline" | "not_found" };
}

export async function readWorkerLog(server: Server, params: ReadWorkerLogParams): Promise<readonly WorkerLogRow[]> {
  const rows = await server.read(READ_LOG, params);
  return rows.map((row) => ({
    entryNo: row.entry_no as number,
    namespace: row.namespace as string,
    workerId: row.worker_id as string,
    name: row.name as string,
    type: row.type as WorkerMoment,
    at: row.at as number,
  }));
}

export async function addRates(server: Server, params: AddRatesParams): Promise<void> {
  await server.writeOne(ADD_RATES, params);
}

export async function readRates(server: Server, params: ReadRatesParams): Promise<readonly RateRow[]> {
  const rows = await server.read(READ_RATES, params);
  return rows.map((row) => ({
    from: row.from as number,
    workflow: row.workflow as string,
    started: row.started as number,
    ended: row.ended as number,
    failed: row.failed as number,
    retried: row.retried as number,
  }));
}

export async function forgetWorkers(
  server: Server,
  params: { readonly before: number; readonly limit: number },
): Promise<{ readonly more: boolean }> {
  return { more: (await server.writeOne(FORGET, params)).more as boolean };
}
