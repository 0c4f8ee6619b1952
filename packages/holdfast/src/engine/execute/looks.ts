/**
 * Looks: an event other than a message that is delivered while the code waits for signals tells it that none has arrived so
 * far. Until that event is durable it can be taken back: a signal that the store has accepted in the meantime is then
 * delivered first.
 */
import { appended, NONE } from "../../model/short-list.ts";
import type { Machine } from "../../replay/machine.ts";
import type { QueuedDraft } from "./message-draft.ts";

export interface Look {
  /** The event that told the code so. */
  readonly seq: number;
  /** How many messages had been delivered before. */
  readonly consumed: number;
  /** The signals that it waited for. */
  readonly names: readonly string[];
}

/** Something is about to be delivered. */
export function withLook(looks: readonly Look[], machine: Machine, consumed: number): readonly Look[] {
  const names = machine.awaitedSignals();
  return names.length === 0 ? looks : appended(looks, { seq: machine.nextSeq, consumed, names });
}

/** The looks that can still be taken back when everything up to `seq` is in the store. */
export function looksAfter(looks: readonly Look[], seq: number): readonly Look[] {
  return looks.length === 0 ? NONE : looks.filter((look) => look.seq > seq);
}

/** The look to take back for the queued signals: the last look for each name counts, and of these the first is returned. */
export function missedLook(looks: readonly Look[], queue: readonly QueuedDraft[]): Look | undefined {
  let first: Look | undefined;
  for (const { type, op } of looks.length === 0 ? NONE : queue) {
    if (type !== "signal_received") continue;
    const last = looks.findLast((look) => look.names.includes(op as string));
    if (last && (!first || last.seq < first.seq)) first = last;
  }
  return first;
}
