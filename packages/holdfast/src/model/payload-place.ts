import type { MessageKind } from "./message.ts";
import type { Payload } from "./payload.ts";

/** Where a run has values: its input, its output, events, messages in its inbox, what its tasks report with heartbeats. */
export const PAYLOAD_PARTS = ["input", "output", "event", "message", "details"] as const;
export type PayloadPart = (typeof PAYLOAD_PARTS)[number];

/** One value of a run. Places are ordered by their part, then by number. */
export interface PayloadPlace {
  readonly part: PayloadPart;
  /** Of the event, the message, or the event that created the task; 0 for the input and the output. */
  readonly number: number;
}

export interface PlacedPayload extends PayloadPlace {
  readonly payload: Payload;
}

/** Whether the payload of such a message is a value: that of the others is an error record, who sent it, or nothing. */
const IS_VALUE: Readonly<Record<MessageKind, boolean>> = {
  signal: true,
  cancel: false,
  outcome: true,
  task_completed: true,
  task_failed: false,
  child_completed: true,
  child_failed: false,
  watch_completed: true,
  watch_failed: false,
  update: true,
  reply_completed: true,
  reply_failed: false,
  pause: false,
  resume: false,
  lock_granted: false,
  note: false,
};

/** The kinds of messages that carry a value. */
export const MESSAGES_WITH_VALUE: readonly MessageKind[] = (Object.keys(IS_VALUE) as MessageKind[]).filter(
  (kind) => IS_VALUE[kind],
);

/** What decides whether a value may be written in another way. */
export interface PayloadOwner {
  readonly held: boolean;
  readonly consumed: number;
  readonly owes: boolean;
}

/**
 * Whether a process may have read the value in order to write it to another place: the holder makes events of messages that are
 * not consumed, and whoever pays the debts of a run delivers its output and its answers to other runs.
 */
export function isInUse({ held, consumed, owes }: PayloadOwner, { part, number }: PayloadPlace): boolean {
  if (part === "message") return held && number > consumed;
  return owes && (part === "output" || part === "event");
}

/** The numbers of a part that are after a place are greater than this; null if none is. */
export function numbersAfter(part: PayloadPart, after: PayloadPlace | null): number | null {
  if (after === null || PAYLOAD_PARTS.indexOf(after.part) < PAYLOAD_PARTS.indexOf(part)) return -1;
  return after.part === part ? after.number : null;
}

/** The first values of a list, up to a number of values, and up to the one with which they have that many bytes. */
export function payloadPage(
  payloads: readonly PlacedPayload[],
  { limitPerRun, bytesPerRun }: { readonly limitPerRun: number; readonly bytesPerRun: number },
): readonly PlacedPayload[] {
  let bytes = 0;
  let count = 0;
  for (const { payload } of payloads) {
    if (count === limitPerRun || bytes >= bytesPerRun) break;
    bytes += payload.length;
    count += 1;
  }
  return payloads.slice(0, count);
}
