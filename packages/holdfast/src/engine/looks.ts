import { appended, NONE } from "../model/short-list.ts";
import type { SignalBuffer } from "../replay/signal-buffer.ts";
import type { QueuedDraft } from "./message-draft.ts";

/** Something other than a message is delivered while the code waits for signals: it is told that there is none so far. */
export interface Look {
  /** The event that told it so. */
  readonly seq: number;
  /** Messages that had been delivered before. */
  readonly consumed: number;
  readonly names: readonly string[];
}

/**
 * The looks of one run that are not durable yet. As long as they are not, they can be taken back: a signal that the store has
 * accepted in the meantime is then delivered first.
 */
export class Looks {
  #looks: readonly Look[] = NONE;

  get any(): boolean {
    return this.#looks.length > 0;
  }

  note(signals: SignalBuffer, seq: number, consumed: number): void {
    const names = signals.waitedFor();
    if (names.length > 0) this.#looks = appended(this.#looks, { seq, consumed, names });
  }

  /** Everything up to here is in the store. */
  durable(seq: number): void {
    if (this.any) this.#looks = this.#looks.filter((look) => look.seq > seq);
  }

  /** The look to take back for the signals in the queue: for each name the last one counts, and of these the first. */
  missed(queue: readonly QueuedDraft[]): Look | undefined {
    let first: Look | undefined;
    for (const { type, op } of this.any ? queue : NONE) {
      if (type !== "signal_received") continue;
      const last = this.#looks.findLast((look) => look.names.includes(op as string));
      if (last && (!first || last.seq < first.seq)) first = last;
    }
    return first;
  }

  takeBack(look: Look): void {
    this.#looks = this.#looks.filter((other) => other.seq < look.seq);
  }
}
