import { eventRole } from "../../model/event.ts";
import type { Message } from "../../model/message.ts";
import type { Run } from "../../model/run.ts";
import { appended, NONE } from "../../model/short-list.ts";
import type { Machine } from "../../replay/machine.ts";
import { missedDeadline } from "./due-times.ts";
import { type Look, looksAfter, missedLook, withLook } from "./looks.ts";
import { messageDraft, type QueuedDraft } from "./message-draft.ts";

/** What has happened to one run and is still to be delivered to its code: results, timers, messages, in the order they came. */
export class DeliveryQueue {
  #drafts: QueuedDraft[] = [];
  /** The number of the last message that was delivered, and of the last one that was taken in. */
  #consumed: number;
  #queuedMessages: number;
  /** Those that are not durable. */
  #looks: readonly Look[] = NONE;

  constructor(consumed: number) {
    this.#consumed = consumed;
    this.#queuedMessages = consumed;
  }

  get length(): number {
    return this.#drafts.length;
  }

  get consumed(): number {
    return this.#consumed;
  }

  get queuedMessages(): number {
    return this.#queuedMessages;
  }

  push(draft: QueuedDraft): void {
    this.#drafts = appended(this.#drafts, draft);
  }

  /** Takes in the messages that come next; whether there are any. */
  take(messages: readonly Message[]): boolean {
    const before = this.#queuedMessages;
    for (const message of messages) {
      if (message.number !== this.#queuedMessages + 1) continue;
      this.#queuedMessages = message.number;
      this.push(messageDraft(message));
    }
    return this.#queuedMessages > before;
  }

  /** The next one for this machine, which gets it at once; undefined when there is none. */
  next(machine: Machine): QueuedDraft | undefined {
    // Whatever comes for a run that continues as new is for its successor: the store hands on what is not consumed.
    if (machine.outcome?.type === "continued") this.#drafts = [];
    const draft = this.#drafts.shift();
    if (!draft) return undefined;
    if (draft.number !== undefined) this.#consumed = draft.number;
    else if (!machine.outcome && draft.type !== "deadline_reached" && eventRole(draft.type) !== "note")
      this.#looks = withLook(this.#looks, machine, this.#consumed);
    return draft;
  }

  /** What ends the run without a call of its code: a cancel, or a deadline that had passed before it could begin. */
  endUnstarted(run: Run, begun: boolean): QueuedDraft | undefined {
    // A cancel only of a run that nobody has ever held: one that was may have done something that wants cleaning up.
    const place = run.epoch === 1 ? this.#drafts.findIndex(({ type }) => type === "cancel_requested") : -1;
    const cancel = this.#drafts[place];
    if (!cancel && (begun || !missedDeadline(run))) return undefined;
    const draft: QueuedDraft = cancel ?? { type: "deadline_reached", op: null };
    const end: QueuedDraft = { ...draft, meta: { ...draft.meta, neverCalled: true } };
    if (cancel) this.#drafts[place] = end;
    else this.push(end);
    return end;
  }

  /** Whether a look in vain can still be taken back. */
  get hasLooks(): boolean {
    return this.#looks.length > 0;
  }

  /** The look to take back for the signals that are queued. */
  missedLook(): Look | undefined {
    return missedLook(this.#looks, this.#drafts);
  }

  /** Everything up to here is in the store. */
  durable(seq: number): void {
    this.#looks = looksAfter(this.#looks, seq);
  }

  takeBack(look: Look): void {
    this.#looks = this.#looks.filter((other) => other.seq < look.seq);
  }

  /** Empties the queue. Messages after that many are to be taken in once more. */
  restart(consumed: number): void {
    this.#drafts = [];
    this.#consumed = consumed;
    this.#queuedMessages = consumed;
  }

  /** Messages after that many were delivered in vain: they are still in the inbox. */
  unconsume(consumed: number): void {
    this.#consumed = consumed;
  }
}
