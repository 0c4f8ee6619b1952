/** Runs that arrive from another store, or from a file. */
import {
  type ArrivalOutcome,
  type ArrivalRefusal,
  dueTime,
  isClosed,
  isResult,
  judgeArrival,
  type RunImage,
  type TaskImage,
} from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { expiryCode, isClosedCode, statusCode, TIES, taskStatusCode } from "../database/codes.ts";
import { blob, type SqlValue } from "../database/driver.ts";
import { newUuidBytes } from "../database/uuid.ts";
import { insertLineage } from "../debts/debt-state.ts";
import { appendEvent } from "../histories.ts";
import { deleteRun } from "../runs/purges.ts";
import { announceDue, announceInQueue, errorText } from "../runs/run-state.ts";
import { attributesText, indexAttributes } from "../runs/starts.ts";

const SAME = "select status, epoch, lane_id as laneId from holdfast_runs where run_id = ?";
const NOTED = "select epoch, refused from holdfast_arrivals where run_id = ?";
const OTHERS = `
  select r.status, r.created_at as createdAt
  from holdfast_run_starts s join holdfast_runs r on r.run_key = s.run_key
  where s.namespace_key = ? and s.id = ? and r.run_id <> ? order by s.run_key`;
const NOTE = `
  insert into holdfast_arrivals (run_id, epoch, refused) values (?, ?, ?)
  on conflict (run_id) do update set epoch = excluded.epoch, refused = excluded.refused`;
const FORGET_DEPARTURE = "delete from holdfast_departures where run_id = ?";
/** A closed run is older than all other runs of its id, so it gets a smaller key: below every key that anything else has. */
const SMALLEST_KEY = `select min(coalesce((select min(run_key) from holdfast_runs), 0), ${-(2 ** 50)}) - 1`;
const CHAIN = `
  select coalesce(r.chain_key, r.run_key) from holdfast_run_starts s join holdfast_runs r on r.run_key = s.run_key
  where s.namespace_key = ? and s.id = ? and coalesce(s.first_run_id, r.run_id) = ? limit 1`;
const INSERT_RUN = `
  insert into holdfast_runs (run_key, run_id, chain_key, lane_id, namespace_key, workflow_key, status, epoch, commit_no,
    event_count, delivered, consumed, available_at, created_at, started_at, ended_at, deadline_at, deaths, alone_deaths, alone,
    suspect, waiting_for, attributes, parked_by, ties)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?)`;
const INSERT_START = `
  insert into holdfast_run_starts (run_key, namespace_key, id, seed, first_run_id, continued_from, timeout_ms, input)
  values (?, ?, ?, ?, ?, ?, ?, ?)`;
const INSERT_END = `
  insert into holdfast_run_ends (run_key, continued_as, compensation, error, output) values (?, ?, ?, ?, ?)`;
const INSERT_KEY = "insert into holdfast_run_keys (run_key, key) values (?, ?)";
const INSERT_FORK = "insert into holdfast_forks (run_key, created_at, origin_run_id, origin_id) values (?, ?, ?, ?)";
const INSERT_MESSAGE = `
  insert into holdfast_inbox (run_key, number, chain_key, at, kind, name, message_id, payload)
  values (?, ?, ?, ?, ?, ?, ?, ?)`;
/** Under a key that no run has, as a purge leaves them. */
const INSERT_KNOWN = `
  insert into holdfast_inbox (message_key, run_key, number, chain_key, at, kind, name, message_id, payload)
  select n.key, -n.key, 0, ?, ?, ?, '', ?, x''
  from (select coalesce((select max(message_key) from holdfast_inbox), 0) + 1 as key) n`;
const INSERT_UPDATE = `
  insert into holdfast_updates (run_key, number, answer_seq, answer_error) values (?, ?, ?, ?)`;
const INSERT_TASK = `
  insert into holdfast_tasks (run_id, seq, lane_id, status, epoch, attempt, available_at, expires_at, expires, began_at, created_at,
    canceled, deaths, alone_deaths, alone, suspect, external, fail_on_crash, timeout_ms, start_timeout_ms, total_timeout_ms,
    heartbeat_ms, input_seq, op, secret, finish_id, failures, details, key)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

export function arriveRun(
  call: Call,
  { image }: { readonly image: RunImage },
): { readonly outcome: Exclude<ArrivalOutcome, "busy"> } {
  const { sql, catalog } = call;
  const { namespace, id, status, epoch, createdAt } = image.run;
  const runId = newUuidBytes(image.run.runId);
  const closed = isClosed(status);
  const same = sql.get<{ status: number; epoch: number; laneId: number }>(SAME, runId);
  const noted = sql.get<{ epoch: number; refused: ArrivalRefusal | null }>(NOTED, runId);
  const others = sql.all<{ status: number; createdAt: number }>(OTHERS, catalog.nameKey(namespace), id, runId);
  const newest = others.at(-1);
  const moved = same?.status === statusCode("moved") && catalog.lane(same.laneId).namespace === namespace;
  const judged = judgeArrival(
    { closed, epoch, createdAt },
    {
      same: same && { moved, epoch: same.epoch },
      noted,
      newest: newest && { closed: isClosedCode(newest.status), createdAt: newest.createdAt },
      oldest: others[0],
    },
  );
  const refused = judged === "exists" || judged === "id_taken" ? judged : null;
  if (!closed && (!noted || noted.epoch < epoch)) sql.run(NOTE, runId, epoch, refused);
  if (refused || judged === "arrived") return { outcome: refused ?? "arrived" };
  if (same) {
    deleteRun(call, runId);
    sql.run(FORGET_DEPARTURE, runId);
  }
  insertImage(call, image, runId);
  return { outcome: "arrived" };
}

function insertImage(call: Call, image: RunImage, runId: Uint8Array): void {
  const { sql } = call;
  const { run, events, messages, rest } = image;
  const closed = isClosed(run.status);
  const { runKey, chainKey } = insertRow(call, image, runId);
  if (closed || run.error !== null || run.output !== null || run.compensation !== null) {
    const continuedAs = run.continuedAs === null ? null : newUuidBytes(run.continuedAs);
    const output = run.output === null ? null : blob(run.output);
    sql.execute(INSERT_END, runKey, continuedAs, run.compensation, errorText(run.error), output);
  }
  indexAttributes(call, runKey, run.attributes);
  if (run.key !== undefined) sql.execute(INSERT_KEY, runKey, run.key);
  if (run.lineage) insertLineage(call, { runKey, createdAt: run.createdAt }, run.lineage);
  if (run.forkedFrom)
    sql.execute(INSERT_FORK, runKey, run.createdAt, newUuidBytes(run.forkedFrom.runId), run.forkedFrom.id);
  for (const event of events) appendEvent(call, runKey, event);
  for (const { number, at, kind, name, messageId, payload } of messages)
    sql.execute(
      INSERT_MESSAGE,
      ...[runKey, number, isResult(kind) ? null : chainKey, at, kind, name, messageId, blob(payload)],
    );
  for (const { messageId, kind } of rest.knownIds) sql.execute(INSERT_KNOWN, chainKey, call.now, kind, messageId);
  for (const { number, seq, error } of rest.updates) sql.execute(INSERT_UPDATE, runKey, number, seq, errorText(error));
  if (!closed) for (const task of rest.tasks) insertTask(call, run.namespace, runId, task);
}

function insertRow(
  call: Call,
  { run, rest }: RunImage,
  runId: Uint8Array,
): { readonly runKey: number; readonly chainKey: number } {
  const { sql, catalog } = call;
  const closed = isClosed(run.status);
  const namespaceKey = catalog.nameKey(run.namespace);
  const laneId = catalog.laneId(run, run.version);
  const firstRunId = newUuidBytes(run.firstRunId);
  const [chain = null] = sql.columns(CHAIN, namespaceKey, run.id, firstRunId) ?? [];
  const [smallest] = closed ? (sql.columns(SMALLEST_KEY) as [number]) : [null];
  const availableAt = closed ? null : dueTime(run.availableAt, run.deadlineAt, call.now);
  const ties =
    (run.lineage ? TIES.lineage : 0) | (run.forkedFrom ? TIES.forked : 0) | (run.key === undefined ? 0 : TIES.key);
  const waitingFor = run.waitingFor.length > 0 ? JSON.stringify(run.waitingFor) : null;
  const row: SqlValue[] = [
    ...[smallest, runId, chain, laneId, namespaceKey, catalog.nameKey(run.workflow), statusCode(run.status)],
    ...[run.epoch, run.commit, run.eventCount, run.delivered, run.consumed, availableAt, run.createdAt, run.startedAt],
    ...[run.endedAt, run.deadlineAt, run.deaths, run.aloneDeaths, Number(run.suspect), waitingFor],
    ...[attributesText(run.attributes), closed ? null : rest.parkedBy, ties === 0 ? null : ties],
  ];
  const runKey = sql.insert(INSERT_RUN, ...row);
  const continuedFrom = run.continuedFrom === null ? null : newUuidBytes(run.continuedFrom);
  sql.execute(
    INSERT_START,
    ...[runKey, namespaceKey, run.id, run.seed, run.firstRunId === run.runId ? null : firstRunId, continuedFrom],
    ...[run.timeoutMs, blob(run.input)],
  );
  if (availableAt !== null) announceDue(call, laneId, availableAt);
  return { runKey, chainKey: (chain as number | null) ?? runKey };
}

function insertTask(call: Call, namespace: string, runId: Uint8Array, task: TaskImage): void {
  const laneId = call.catalog.taskLaneId(namespace, task);
  const { seq, epoch, attempt, availableAt, expiresAt, beganAt, createdAt, deaths, aloneDeaths, failures } = task;
  call.sql.execute(
    INSERT_TASK,
    ...[runId, seq, laneId, taskStatusCode(task.status), epoch, attempt, availableAt, expiresAt],
    ...[expiryCode(task.expires), beganAt, createdAt, Number(task.canceled), deaths, aloneDeaths, Number(task.suspect)],
    ...[Number(task.external), Number(task.failOnCrash), task.timeoutMs, task.startTimeoutMs, task.totalTimeoutMs],
    ...[task.heartbeatMs, task.inputSeq, task.op, task.secret, task.finishId],
    ...[failures.length === 0 ? null : JSON.stringify(failures), task.details === null ? null : blob(task.details)],
    task.key,
  );
  if (availableAt !== null) announceInQueue(call, call.catalog.taskLane(laneId), availableAt, "task_due");
}
