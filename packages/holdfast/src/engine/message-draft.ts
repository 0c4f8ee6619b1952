import type { EventDraft } from "../model/event.ts";
import { outcomeMessageId } from "../model/ids.ts";
import type { Message } from "../model/message.ts";
import type { OpTable } from "../replay/op-table.ts";

/** An event that waits for its turn; `number` is that of the message it came from. */
export interface QueuedDraft {
  readonly event: EventDraft;
  readonly number?: number;
}

/** What a message from the inbox becomes in history. */
export function messageDraft(message: Message): QueuedDraft {
  const { messageId, number, payload } = message;
  if (message.kind === "cancel") {
    const reason = message.name === "" ? {} : { reason: message.name };
    return { number, event: { type: "cancel_requested", op: null, meta: { messageId, ...reason } } };
  }
  const event: EventDraft = { ...eventOf(message), meta: { messageId } };
  return { number, event: payload.length === 0 ? event : { ...event, payload } };
}

function eventOf(message: Message): EventDraft {
  const { kind, name } = message;
  if (kind === "signal") return { type: "signal_received", op: name };
  return { type: "step_completed", op: isOwnOutcome(message) ? name : null };
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
export function isOutcome({ event, number }: QueuedDraft): boolean {
  return number !== undefined && event.type === "step_completed" && event.op !== null;
}

/** The outcome of a transaction step says which attempt it was: what history knows of the failed ones, plus one. */
export function withAttempt(draft: QueuedDraft, ops: OpTable): EventDraft {
  const { event } = draft;
  if (!isOutcome(draft)) return event;
  const failed = ops.get(event.op)?.step?.failedAttempts ?? 0;
  return failed === 0 ? event : { ...event, meta: { ...event.meta, attempt: failed + 1 } };
}
