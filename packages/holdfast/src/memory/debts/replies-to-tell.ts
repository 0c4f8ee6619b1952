import type { ReplyToTell } from "../../model/debt.ts";
import { updateStage } from "../../model/decisions/delivery.ts";
import { isClosed } from "../../model/run.ts";
import type { MemoryState, RunRecord } from "../state.ts";

/** The updates of a run whose senders are to be told something. What it has handed on belongs to its successor. */
export function repliesToTell(state: MemoryState, row: RunRecord): ReplyToTell[] {
  const { runId, firstRunId, status, consumed } = row;
  const closed = isClosed(status);
  const told: ReplyToTell[] = [];
  for (const [messageId, update] of state.updates.get(firstRunId) ?? []) {
    const { replyTo: to, reply, number } = update;
    if (update.runId !== runId || !to || !(closed || reply)) continue;
    const name = state.inbox.get(runId)?.find((message) => message.number === number)?.name ?? "";
    const event = reply?.seq === undefined ? undefined : state.events.get(runId)?.[reply.seq - 1];
    const stage = updateStage(number, consumed, reply !== undefined);
    told.push({ messageId, name, to, stage, event: event ?? null, error: reply?.error ?? null });
  }
  return told;
}

export function forgetSenders(state: MemoryState, { runId, firstRunId }: RunRecord, told: readonly string[]): void {
  for (const messageId of told) {
    const update = state.updates.get(firstRunId)?.get(messageId);
    if (update?.runId === runId) update.replyTo = undefined;
  }
}
