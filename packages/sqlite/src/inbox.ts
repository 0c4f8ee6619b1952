import {
  type CarriedMessage,
  type DeliverMessage,
  type DeliverMessagesParams,
  type DeliverMessagesResult,
  type DeliverOutcome,
  isTaskResult,
  judgeDelivery,
  type Message,
  type MessageKind,
  type Payload,
  type ReadInboxParams,
  type RunRef,
  wakes,
  wakeTime,
} from "holdfast/adapter";
import type { Call } from "./database/call.ts";
import { isClosedCode, statusCode, statusName } from "./database/codes.ts";
import { blob } from "./database/driver.ts";
import { uuidText } from "./database/uuid.ts";
import { announceIfDue, findState, keyOf, type StateRow, stateByKey } from "./runs/run-state.ts";

const INSERT = `
  insert into holdfast_inbox (run_key, number, chain_key, at, kind, name, message_id, payload)
  values (?, ?, ?, ?, ?, ?, ?, ?)`;
const DELETE = "delete from holdfast_inbox where run_key = ? and number = ?";
const IS_KNOWN = "select 1 from holdfast_inbox where chain_key = ? and message_id = ? limit 1";
const UNCONSUMED = `
  select r.run_id as runId, m.number, m.kind, m.name, m.message_id as messageId, m.payload, m.at
  from holdfast_inbox m join holdfast_runs r on r.run_key = m.run_key
  where m.run_key = ? and m.number > ? order by m.number`;
/** The runs of an id, newest first, until one belongs to the chain: nearly always the first. */
const LAST_OF_CHAIN = `
  select r.run_key as runKey from holdfast_run_starts me
  join holdfast_run_starts s on s.namespace_key = me.namespace_key and s.id = me.id
  join holdfast_runs r on r.run_key = s.run_key
  where me.run_key = ? and coalesce(r.chain_key, r.run_key) = ? order by s.run_key desc limit 1`;

const CONTINUED = statusCode("continued");

interface StoredMessage {
  readonly runId: Uint8Array;
  readonly number: number;
  readonly kind: MessageKind;
  readonly name: string;
  readonly messageId: string;
  readonly payload: Payload;
  readonly at: number;
}

export function deliverMessages(call: Call, params: DeliverMessagesParams): DeliverMessagesResult {
  return { outcomes: params.messages.map((message) => deliver(call, message, params.inboxMax)) };
}

function deliver(call: Call, message: DeliverMessage, inboxMax: number): DeliverOutcome {
  const row = addressee(call, message.to);
  if (!row) return { outcome: "not_found", runId: null, status: null };
  const { delivered, consumed } = row;
  const isKnown = (): boolean => call.sql.get(IS_KNOWN, row.chainKey, message.messageId) !== undefined;
  const receiver = { closed: isClosedCode(row.status), delivered, consumed };
  const outcome = judgeDelivery(receiver, message.kind, isKnown, inboxMax);
  if (outcome === "delivered") accept(call, row, message);
  return { outcome, runId: uuidText(row.runId), status: statusName(row.status) };
}

/** Follows a run that continued as new; finds no run if the end of the chain was purged. */
function addressee(call: Call, to: RunRef): StateRow | undefined {
  const row = findState(call, to);
  if (row?.status !== CONTINUED) return row;
  const found = call.sql.get<{ runKey: number }>(LAST_OF_CHAIN, row.runKey, row.chainKey);
  const last = found && stateByKey(call, found.runKey);
  return last?.status === CONTINUED ? undefined : last;
}

/**
 * The message's number is the new value of the counter, which the holder compares when it suspends or ends the run. Also for
 * results of tasks.
 */
export function accept(call: Call, row: StateRow, message: CarriedMessage): void {
  const { sql, now, hints } = call;
  const number = row.delivered + 1;
  appendMessage(call, row.runKey, row.chainKey, number, message);
  const parked = row.status === statusCode("parked");
  if (row.heldBy === null && wakes({ parked, startedAt: row.startedAt }, message.kind)) {
    const availableAt = wakeTime(row.availableAt, now);
    sql.run(
      "update holdfast_runs set delivered = ?, available_at = ? where run_key = ?",
      ...[number, availableAt, row.runKey],
    );
    announceIfDue(call, row.laneId, availableAt);
    return;
  }
  sql.execute("update holdfast_runs set delivered = ? where run_key = ?", number, row.runKey);
  if (row.heldBy !== null)
    hints.push({ type: "inbox", runId: uuidText(row.runId), workerId: call.catalog.workerId(row.heldBy) });
}

/** The result of a task is sent once and has no chain, so it is found by no search for duplicates. */
export function appendMessage(
  { sql, now }: Call,
  runKey: number,
  chainKey: number,
  number: number,
  { kind, name, messageId, payload }: CarriedMessage,
): void {
  sql.execute(INSERT, runKey, number, isTaskResult(kind) ? null : chainKey, now, kind, name, messageId, blob(payload));
}

export function unconsumed({ sql }: Call, runKey: number, after: number): Message[] {
  return sql.all<StoredMessage>(UNCONSUMED, runKey, after).map((row) => ({ ...row, runId: uuidText(row.runId) }));
}

/** Results of tasks that have become events. */
export function deleteResults({ sql }: Call, runKey: number, numbers: readonly number[]): void {
  for (const number of numbers) sql.execute(DELETE, runKey, number);
}

export function readInbox(call: Call, params: ReadInboxParams): Message[] {
  return params.runs.flatMap(({ namespace, runId, after }) => {
    const runKey = keyOf(call, { namespace, runId });
    return runKey === null ? [] : unconsumed(call, runKey, after);
  });
}
