import type { EventDraft } from "../model/event.ts";
import { outcomeMessageId } from "../model/ids.ts";
import type { Message } from "../model/message.ts";
import type { OpTable } from "../replay/op-table.ts";

/** An event that waits for its turn; `number` is that of the message it came from. */
export interface QueuedDraft extends EventDraft {
  readonly number?: number;
}

/** What a message from the inbox becomes in history. */
export function messageDraft(message: Message): QueuedDraft {
  const { messageId, number, payload } = message;
  if (message.kind === "cancel") {
    const meta = message.name === "" ? { messageId } : { messageId, reason: message.name };
    return { type: "cancel_requested", op: null, meta, number };
  }
  const isSignal = message.kind === "signal";
  const type = isSignal ? "signal_received" : "step_completed";
  const op = isSignal || isOwnOutcome(message) ? message.name : null;
  const meta = { messageId };
  return payload.length === 0 ? { type, op, meta, number } : { type, op, payload, meta, number };
}

/** The successor of a run inherits its inbox, but has nothing to do with what its predecessor's steps have come to. */
function isOwnOutcome({ kind, name, messageId, runId }: Message): boolean {
  return kind === "outcome" && messageId === outcomeMessageId(runId, name);
}

/** The steps of the run whose outcomes are among the messages. */
export function ownOutcomes(messages: readonly Message[]): Set<string> | undefined {
  const outcomes = messages.filter(isOwnOutcome);
  return outcomes.length === 0 ? undefined : new Set(outcomes.map(({ name }) => name));
}

/** Whether it is what a transaction step of the run has come to, from the inbox. */
export function isOutcome({ type, op, number }: QueuedDraft): boolean {
  return number !== undefined && type === "step_completed" && op !== null;
}

/** The outcome of a transaction step says which attempt it was: what history knows of the failed ones, plus one. */
export function withAttempt(draft: QueuedDraft, ops: OpTable): EventDraft {
  if (!isOutcome(draft)) return draft;
  const failed = ops.get(draft.op)?.step?.failedAttempts ?? 0;
  return failed === 0 ? draft : { ...draft, meta: { ...draft.meta, attempt: failed + 1 } };
}
