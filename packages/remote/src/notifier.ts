/** Hints from the server. After a gap, everybody who waits is told to look: nothing may depend on a hint, but nobody should wait for long. */
import type { Clock, Hint, Notifier } from "holdfast/adapter";
import type { Interest } from "./interest.ts";

export class RemoteNotifier implements Notifier {
  readonly #clock: Clock;
  readonly #interest: Interest;
  readonly #listeners = new Set<(hint: Hint) => void>();

  constructor(clock: Clock, interest: Interest) {
    this.#clock = clock;
    this.#interest = interest;
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

  watch(runIds: readonly string[]): () => void {
    return this.#interest.watch(runIds);
  }

  /** Hints may have been lost. */
  lookEverywhere(): void {
    const hints: Hint[] = [];
    for (const { namespace, queues } of this.#interest.workers) {
      hints.push({ type: "asked", namespace });
      for (const queue of queues) hints.push({ type: "due", namespace, queue }, { type: "task_due", namespace, queue });
    }
    // Whoever waits for a run goes by its run id alone.
    for (const runId of this.#interest.runs) hints.push({ type: "ended", namespace: "", runId });
    this.publish(hints);
  }

  close(): void {
    this.#listeners.clear();
  }
}
