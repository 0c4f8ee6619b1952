import {
  type ErrorRecord,
  type NewReply,
  type ReadRepliesParams,
  type ReplyAddress,
  type ReplyState,
  updateStage,
} from "holdfast/adapter";
import type { Call } from "./database/call.ts";
import { hasTie, statusName, TIES } from "./database/codes.ts";
import { newUuidBytes, uuidText } from "./database/uuid.ts";
import { chainOf, noteAsked, owe, type TiedRun } from "./debts/debt-state.ts";
import { readEvent } from "./histories.ts";
import { findKey } from "./runs/run-state.ts";

const INSERT_ADDRESS = `
  insert into holdfast_updates (run_key, number, reply_namespace, reply_run_id, reply_op) values (?, ?, ?, ?, ?)`;
const HAND_ON = `
  insert into holdfast_updates (run_key, number, reply_namespace, reply_run_id, reply_op)
  select ?, ?, reply_namespace, reply_run_id, reply_op from holdfast_updates where run_key = ? and number = ?`;
/** The first answer counts. */
const ANSWER = `
  insert into holdfast_updates (run_key, number, answer_seq, answer_error)
  select run_key, number, ?, ? from holdfast_inbox where run_key = ? and number = ? and kind = 'update'
  on conflict (run_key, number) do update set answer_seq = excluded.answer_seq, answer_error = excluded.answer_error
  where answer_seq is null and answer_error is null`;
const IS_AWAITED = "select 1 from holdfast_updates where run_key = ? and number = ? and reply_run_id is not null";
/** The newest one of the chain, even if its run was purged: then only its message id is left. */
const UPDATE = `
  select r.run_key as runKey, r.run_id as runId, r.status, r.consumed, m.number, m.name, u.answer_seq as seq, u.answer_error as error
  from holdfast_inbox m left join holdfast_runs r on r.run_key = m.run_key
  left join holdfast_updates u on u.run_key = m.run_key and u.number = m.number
  where m.chain_key = ? and m.message_id = ? and m.kind = 'update' order by m.message_key desc limit 1`;

interface StoredUpdate {
  readonly runKey: number | null;
  readonly runId: Uint8Array;
  readonly status: number;
  readonly consumed: number;
  readonly number: number;
  readonly name: string;
  readonly seq: number | null;
  readonly error: string | null;
}

/** Who gets the answer to an update, if that is another run. */
export function keepAddress(call: Call, row: TiedRun, number: number, replyTo: ReplyAddress): void {
  const { namespace, runId, op } = replyTo;
  call.sql.run(INSERT_ADDRESS, row.runKey, number, namespace, newUuidBytes(runId), op);
  noteAsked(call, row);
}

/** The same for an update that goes to the successor of its run, where it has a number of its own. */
export function handOnAddress(call: Call, from: UpdatePlace, to: UpdatePlace): void {
  const handedOn = call.sql.run(HAND_ON, to.runKey, to.number, from.runKey, from.number);
  if (handedOn > 0) noteAsked(call, { runKey: to.runKey, ties: null });
}

interface UpdatePlace {
  readonly runKey: number;
  readonly number: number;
}

/** What a commit decides about updates of its run. Returns the ties of the run afterward. */
export function keepReplies(
  call: Call,
  { runKey, runId, ties: before }: TiedRun & { readonly runId: string },
  replies: readonly NewReply[],
): number | null {
  let ties = before;
  for (const { number, seq, error } of replies) {
    if (seq === undefined && error === undefined) continue;
    call.sql.run(ANSWER, seq ?? null, error ? JSON.stringify(error) : null, runKey, number);
    if (hasTie(ties, TIES.asked) && call.sql.columns(IS_AWAITED, runKey, number))
      ties = owe(call, { runKey, ties }, "reply");
  }
  call.hints.push({ type: "replied", runId: runId.toLowerCase() });
  return ties;
}

const UNKNOWN: ReplyState = { runId: null, status: null, name: null, stage: null, event: null, error: null };

export function readReplies(call: Call, params: ReadRepliesParams): ReplyState[] {
  return params.updates.map(({ run, messageId }) => {
    const of = findKey(call, run);
    const update = of === null ? undefined : call.sql.get<StoredUpdate>(UPDATE, chainOf(call, of), messageId);
    if (!update || update.runKey === null) return UNKNOWN;
    const { runKey, runId, status, consumed, number, name, seq, error } = update;
    return {
      runId: uuidText(runId),
      status: statusName(status),
      name,
      stage: updateStage(number, consumed, seq !== null || error !== null),
      event: seq === null ? null : readEvent(call, runKey, seq),
      error: error === null ? null : (JSON.parse(error) as ErrorRecord),
    };
  });
}
