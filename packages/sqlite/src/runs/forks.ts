import { COMPENSATE_PREFIX, type ForkOutcome, type ForkParams, takenRunId, timeInHistory } from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { statusCode, TIES } from "../database/codes.ts";
import { uuidBytes } from "../database/uuid.ts";
import { appendEvent, lastEventAt, TAIL } from "../histories.ts";
import { readRow } from "./run-rows.ts";
import { keyOf, newestKey, type StateRow, stateOf } from "./run-state.ts";
import { insertRun } from "./starts.ts";

const COPY_EVENTS = `
  insert into holdfast_events (run_key, seq, type, at, op, meta, payload)
  select ?, seq, type, at, op, meta, payload from holdfast_events where run_key = ? and seq <= ? order by seq`;
const COMPENSATES_SINCE = `
  select 1 from holdfast_events where run_key = ? and seq > ? and substr(op, 1, length(?)) = ? limit 1`;
/** Of a run that is closed, the last event may be with its end. */
const COPY_TAIL = `
  insert into holdfast_events (run_key, seq, type, at, op, meta, payload)
  select ?, ${TAIL.join(", ")} from holdfast_run_ends where run_key = ? and tail_seq <= ?`;
const TAIL_COMPENSATES = `
  select 1 from holdfast_run_ends where run_key = ? and tail_seq > ? and substr(tail_op, 1, length(?)) = ?`;
const SET_FORK = `
  update holdfast_runs set event_count = ?, delivered = ?, consumed = ?, started_at = ?, status = ? where run_key = ?`;
const INSERT_FORK = "insert into holdfast_forks (run_key, created_at, origin_run_id, origin_id) values (?, ?, ?, ?)";
const ID_OF = "select id from holdfast_run_starts where run_key = ?";

export function forkRun(call: Call, params: ForkParams): ForkOutcome {
  const { run, origin: ref } = params;
  const mine = keyOf(call, run);
  if (mine !== null) return { outcome: "forked", run: readRow(call, mine) };
  const origin = stateOf(call, ref.namespace, ref.runId);
  if (!origin || origin.eventCount < params.copied) return { outcome: "not_found", run: null };
  if (mayBeUndone(call, origin, params.judged)) return { outcome: "compensated", run: null };
  const other = newestKey(call, run.namespace, run.id);
  if (other !== null) return { outcome: "exists", run: readRow(call, other) };
  return { outcome: "forked", run: readRow(call, create(call, origin, params)) };
}

function mayBeUndone({ sql }: Call, { runKey, status }: StateRow, judged: number): boolean {
  if (status === statusCode("compensating")) return true;
  return [COMPENSATES_SINCE, TAIL_COMPENSATES].some(
    (text) => sql.columns(text, runKey, judged, COMPENSATE_PREFIX, COMPENSATE_PREFIX) !== undefined,
  );
}

/** Returns the key of the new run. */
function create(call: Call, origin: StateRow, params: ForkParams): number {
  const { run, copied, numberedFrom, event } = params;
  const { sql, now } = call;
  const { startedAt } = origin;
  const inserted = insertRun(call, run, run.version, null, { ties: TIES.forked });
  // The run id belongs to a run of another namespace.
  if (!inserted) throw takenRunId(run.runId);
  const { runKey, createdAt } = inserted;
  sql.run(COPY_EVENTS, runKey, origin.runKey, copied);
  sql.run(COPY_TAIL, runKey, origin.runKey, copied);
  const at = timeInHistory({ createdAt, startedAt }, lastEventAt(call, runKey), now);
  appendEvent(call, runKey, { ...event, seq: copied + 1, at });
  const status = statusCode(startedAt === null ? "pending" : "running");
  sql.run(SET_FORK, copied + 1, numberedFrom, numberedFrom, startedAt, status, runKey);
  const { id } = sql.get<{ id: string }>(ID_OF, origin.runKey) as { id: string };
  sql.run(INSERT_FORK, runKey, createdAt, uuidBytes(params.origin.runId), id);
  return runKey;
}
