import { updateStage } from "../model/decisions/delivery.ts";
import type { ReplyAddress } from "../model/message.ts";
import type { CarriedMessage, NewReply, ReadRepliesParams, ReplyState } from "../ports/store.ts";
import { owe } from "./debts/debt-state.ts";
import { findRun, type MemoryState, type RunRecord } from "./state.ts";

/** The newest message of the run is an update. */
export function noteUpdate(
  state: MemoryState,
  row: RunRecord,
  { name, messageId }: Pick<CarriedMessage, "name" | "messageId">,
  replyTo: ReplyAddress | undefined,
): void {
  const update = { runId: row.runId, number: row.delivered, name, replyTo, reply: undefined };
  const updates = state.updates.get(row.firstRunId);
  if (updates) updates.set(messageId, update);
  else state.updates.set(row.firstRunId, new Map([[messageId, update]]));
}

export function replyAddress(state: MemoryState, row: RunRecord, messageId: string): ReplyAddress | undefined {
  return state.updates.get(row.firstRunId)?.get(messageId)?.replyTo;
}

/** What a commit decides about updates of its run. */
export function keepReplies(state: MemoryState, row: RunRecord, replies: readonly NewReply[], now: number): void {
  for (const reply of replies) {
    if (reply.seq === undefined && reply.error === undefined) continue;
    const message = state.inbox.get(row.runId)?.find(({ number }) => number === reply.number);
    const update = message && state.updates.get(row.firstRunId)?.get(message.messageId);
    if (update?.runId !== row.runId) continue;
    update.reply ??= reply;
    if (update.replyTo) owe(state, row, "reply", now);
  }
  state.hints.push({ type: "replied", runId: row.runId });
}

const UNKNOWN: ReplyState = { runId: null, status: null, name: null, stage: null, event: null, error: null };

export function readReplies(state: MemoryState, params: ReadRepliesParams): ReplyState[] {
  return params.updates.map(({ run, messageId }) => {
    const chain = findRun(state, run)?.firstRunId;
    const update = chain === undefined ? undefined : state.updates.get(chain)?.get(messageId);
    // Of a chain, the run that had it may have been purged.
    const row = update && state.runs.get(update.runId);
    if (!row) return UNKNOWN;
    const { number, name, reply } = update;
    const event = reply?.seq === undefined ? undefined : state.events.get(row.runId)?.[reply.seq - 1];
    return {
      runId: row.runId,
      status: row.status,
      name,
      stage: updateStage(number, row.consumed, reply !== undefined),
      event: event ?? null,
      error: reply?.error ?? null,
    };
  });
}
