import type { DeliverMessage, DeliverMessagesParams, DeliverOutcome } from "holdfast/adapter";
import type { Call } from "./database/call.ts";
import { CLOSED_FROM, statusCode, statusName } from "./database/codes.ts";
import { blob, type SqlValue } from "./database/driver.ts";
import { sharedUuidBytes } from "./database/uuid.ts";
import { holdRuns } from "./runs/holds.ts";
import { isOf } from "./runs/run-state.ts";
import type { StoredWorker } from "./workers.ts";

const [PARKED, COMPENSATING, RUNNING] = [statusCode("parked"), statusCode("compensating"), statusCode("running")];

/**
 * A run as its worker has suspended it, free for any claim, with room for a message that it has not had: see mayTake and judgeDelivery in
 * model/decisions/delivery.ts. One that has something to do with other runs may wait for a place.
 */
const FREE = `
  select r.run_key, r.lane_id, r.status, r.commit_no, r.event_count, r.delivered, r.deadline_at, coalesce(r.chain_key, r.run_key),
    r.deaths + r.alone_deaths + (r.parked_by is not null)
  from holdfast_runs r
  where r.run_id = ? and r.epoch = ? and r.held_by is null and r.suspect = 0 and r.ties is null and r.status <> ${PARKED}
    and r.status < ${CLOSED_FROM} and r.delivered - r.consumed < ? and not exists (
      select 1 from holdfast_inbox m where m.chain_key = coalesce(r.chain_key, r.run_key) and m.message_id = ?)`;
/** An id is that of the only run of it that is open. */
const FREE_OF_ID = `${FREE} and (select s.id from holdfast_run_starts s where s.run_key = r.run_key) = ?`;

type FreeColumns = readonly [
  ...[runKey: number, laneId: number, status: number, commit: number, eventCount: number, delivered: number],
  ...[deadlineAt: number | null, chainKey: number, marks: number],
];

const COLUMNS = 8;
const ROWS_PER_INSERT = 8;
const ROW = "(?, ?, ?, ?, ?, ?, ?, ?)";
export const INSERT = `
  insert into holdfast_inbox (run_key, number, chain_key, at, kind, name, message_id, payload)
  values ${ROW}`;
const INSERT_MANY = `${INSERT}${`, ${ROW}`.repeat(ROWS_PER_INSERT - 1)}`;

/**
 * Signals and updates that each take a run of their own for the worker that sends them, as nearly all do that are sent to resting runs. They
 * are written together: the fixed cost of a statement is larger than its cost per row. Undefined if there is any other message among
 * them; then nothing has changed.
 */
export function deliverTaking(
  call: Call,
  { messages, inboxMax }: DeliverMessagesParams,
  holding: StoredWorker,
  claimId: string,
): DeliverOutcome[] | undefined {
  const runIds = new Set<string>();
  for (const { to, from, kind, hold, replyTo, epoch } of messages) {
    if (!hold || to.namespace !== holding.namespace || ("runId" in to && to.runId !== hold.runId)) return undefined;
    if ((kind !== "signal" && kind !== "update") || from !== undefined || replyTo || epoch !== undefined)
      return undefined;
    runIds.add(hold.runId);
  }
  if (runIds.size < messages.length) return undefined;
  const runs: FreeColumns[] = [];
  for (const message of messages) {
    const run = freeRun(call, message, holding, inboxMax);
    if (!run) return undefined;
    runs.push(run);
  }
  insertAll(call, messages, runs);
  holdRuns(
    call,
    runs.map(([runKey]) => runKey),
    ...([holding.workerKey, claimId, { messages: 1 }] as const),
  );
  const workerId = call.catalog.workerId(holding.workerKey);
  return messages.map(({ hold }, i): DeliverOutcome => {
    const { runId, epoch } = hold as NonNullable<typeof hold>;
    const [runKey, laneId, before, commit, eventCount, delivered, deadlineAt, , marks] = runs[i] as FreeColumns;
    const { namespace, taken } = holding;
    const number = delivered + 1;
    const status = before === COMPENSATING ? COMPENSATING : RUNNING;
    const known = { runKey, namespace, workerId, taken, epoch: epoch + 1, commit, delivered: number, eventCount };
    // Its holder mostly writes to it at once (known-holds.ts).
    call.holds.note(runId, { ...known, status, laneId, deadlineAt, plain: marks === 0 });
    return { outcome: "delivered", runId, status: statusName(before), held: { number, at: call.now } };
  });
}

function freeRun(
  call: Call,
  { to, hold, messageId }: DeliverMessage,
  { namespace }: StoredWorker,
  inboxMax: number,
): FreeColumns | undefined {
  const { runId, epoch } = hold as NonNullable<typeof hold>;
  const id = sharedUuidBytes(runId);
  const columns =
    "runId" in to
      ? call.sql.columns(FREE, id, epoch, inboxMax, messageId)
      : call.sql.columns(FREE_OF_ID, id, epoch, inboxMax, messageId, to.id);
  const free = columns as FreeColumns | undefined;
  return free && isOf(call, free[1], namespace) ? free : undefined;
}

function insertAll({ sql, now }: Call, messages: readonly DeliverMessage[], runs: readonly FreeColumns[]): void {
  for (let at = 0; at < messages.length; at += ROWS_PER_INSERT) {
    const values: SqlValue[] = [];
    for (let i = at; i < Math.min(at + ROWS_PER_INSERT, messages.length); i++) {
      const { kind, name, messageId, payload } = messages[i] as DeliverMessage;
      const [runKey, , , , , delivered, , chainKey] = runs[i] as FreeColumns;
      values.push(runKey, delivered + 1, chainKey, now, kind, name, messageId, blob(payload));
    }
    if (values.length === COLUMNS * ROWS_PER_INSERT) sql.execute(INSERT_MANY, ...values);
    else for (let i = 0; i < values.length; i += COLUMNS) sql.execute(INSERT, ...values.slice(i, i + COLUMNS));
  }
}
