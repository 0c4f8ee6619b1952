import { type ErrorRecord, type ReplyToTell, updateStage } from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { isClosedCode, statusCode } from "../database/codes.ts";
import { uuidText } from "../database/uuid.ts";
import { readEvent } from "../histories.ts";
import type { StateRow } from "../runs/run-state.ts";

/** What a run that has continued has not read belongs to its successor. */
const TO_TELL = `
  select u.number, m.message_id as messageId, m.name, u.reply_namespace as namespace, u.reply_run_id as runId,
    u.reply_op as op, u.answer_seq as seq, u.answer_error as error
  from holdfast_updates u join holdfast_inbox m on m.run_key = u.run_key and m.number = u.number
  where u.run_key = ? and u.reply_run_id is not null and u.number <= ?
    and (? = 1 or u.answer_seq is not null or u.answer_error is not null)
  order by u.number limit ?`;
const FORGET = `
  update holdfast_updates set reply_namespace = null, reply_run_id = null, reply_op = null
  where run_key = ? and number = (select number from holdfast_inbox where chain_key = ? and message_id = ? and run_key = ?)`;

interface StoredReply {
  readonly number: number;
  readonly messageId: string;
  readonly name: string;
  readonly namespace: string;
  readonly runId: Uint8Array;
  readonly op: string;
  readonly seq: number | null;
  readonly error: string | null;
}

/** The updates of a run whose senders are to be told something, in order. */
export function repliesToTell(call: Call, row: StateRow, limit: number): ReplyToTell[] {
  const { runKey, status, consumed } = row;
  const last = status === statusCode("continued") ? consumed : Number.MAX_SAFE_INTEGER;
  const stored = call.sql.all<StoredReply>(TO_TELL, runKey, last, Number(isClosedCode(status)), limit);
  return stored.map(({ number, messageId, name, namespace, runId, op, seq, error }) => ({
    messageId,
    name,
    to: { namespace, runId: uuidText(runId), op },
    stage: updateStage(number, consumed, seq !== null || error !== null),
    event: seq === null ? null : readEvent(call, runKey, seq),
    error: error === null ? null : (JSON.parse(error) as ErrorRecord),
  }));
}

export function forgetSenders({ sql }: Call, { runKey, chainKey }: StateRow, told: readonly string[]): void {
  for (const messageId of told) sql.run(FORGET, runKey, chainKey, messageId, runKey);
}
