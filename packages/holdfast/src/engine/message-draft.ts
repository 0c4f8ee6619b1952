import type { EventDraft } from "../model/event.ts";
import type { Message } from "../model/message.ts";

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
  const event: EventDraft = { type: "signal_received", op: message.name, meta: { messageId } };
  return { number, event: payload.length === 0 ? event : { ...event, payload } };
}
