/** Hints of the store, for the sessions that want them. One subscription, however many sessions. */
import type { Clock, Hint, Notifier } from "holdfast/adapter";

/** How long hints about runs are remembered, for sessions that ask for them a moment too late. */
const REMEMBERED_MS = 5_000;
const REMEMBERED_MAX = 10_000;

export interface HintReceiver {
  wants(hint: Hint): boolean;
  hint(hint: Hint): void;
}

export class HintHub {
  readonly #clock: Clock;
  readonly #receivers = new Set<HintReceiver>();
  /** Runs that hints were about, the oldest first: two halves, of which the older is dropped as a whole. */
  #recent = new Map<string, Hint>();
  #older = new Map<string, Hint>();
  #turnedAt: number;
  readonly #unsubscribe: () => void;

  constructor(notifier: Notifier, clock: Clock) {
    this.#clock = clock;
    this.#turnedAt = clock.monotonic();
    this.#unsubscribe = notifier.subscribe((hint) => this.#pass(hint));
  }

  add(receiver: HintReceiver): () => void {
    this.#receivers.add(receiver);
    return () => this.#receivers.delete(receiver);
  }

  /**
   * What was hinted about these runs just now. A caller learns which run it has sent an update to from the answer, and the run may
   * have replied by then.
   */
  recentAbout(runIds: readonly string[]): readonly Hint[] {
    if (runIds.length === 0) return [];
    this.#turn();
    return runIds.flatMap((runId) => this.#recent.get(runId) ?? this.#older.get(runId) ?? []);
  }

  close(): void {
    this.#unsubscribe();
    this.#receivers.clear();
  }

  #pass(hint: Hint): void {
    if (hint.type === "ended" || hint.type === "replied") {
      this.#turn();
      this.#recent.set(hint.runId, hint);
    }
    for (const receiver of this.#receivers) if (receiver.wants(hint)) receiver.hint(hint);
  }

  #turn(): void {
    const now = this.#clock.monotonic();
    if (now - this.#turnedAt < REMEMBERED_MS && this.#recent.size < REMEMBERED_MAX) return;
    this.#older = now - this.#turnedAt < 2 * REMEMBERED_MS ? this.#recent : new Map();
    this.#recent = new Map();
    this.#turnedAt = now;
  }
}
