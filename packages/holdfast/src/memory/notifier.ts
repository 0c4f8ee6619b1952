import type { Clock } from "../ports/clock.ts";
import type { Hint, Notifier } from "../ports/notifier.ts";

/** Hints within one process. */
export class MemoryNotifier implements Notifier {
  readonly #clock: Clock;
  readonly #listeners = new Set<(hint: Hint) => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  publish(hints: readonly Hint[]): void {
    if (hints.length === 0 || this.#listeners.size === 0) return;
    this.#clock.immediate(() => {
      for (const listener of [...this.#listeners]) for (const hint of hints) listener(hint);
    });
  }

  subscribe(listener: (hint: Hint) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
