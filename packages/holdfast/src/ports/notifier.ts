/**
 * A hint that something may be worth looking at. Hints may be lost, late or duplicated: the store is the source of truth,
 * and the sweep finds what no hint announced.
 */
export type Hint =
  /** Runs of this queue are due now, or from `at` on, by the store's clock. */
  | { readonly type: "due"; readonly namespace: string; readonly queue: string; readonly at?: number }
  /** The same for tasks. */
  | { readonly type: "task_due"; readonly namespace: string; readonly queue: string; readonly at?: number }
  /** A run that this worker holds has new messages. */
  | { readonly type: "inbox"; readonly runId: string; readonly workerId: string }
  /** An operator took a run from the worker that held it. */
  | { readonly type: "taken"; readonly runId: string; readonly workerId: string }
  /** A task that this worker holds was canceled, or taken from it. */
  | { readonly type: "task"; readonly runId: string; readonly seq: number; readonly workerId: string }
  /** A run has ended or was parked: callers that wait for its result should look. */
  | { readonly type: "ended"; readonly namespace: string; readonly runId: string }
  /** Updates of this run were accepted or answered. */
  | { readonly type: "replied"; readonly runId: string }
  /** A query waits for a worker that has the code of its run. */
  | { readonly type: "asked"; readonly namespace: string }
  /** That query has its answer. */
  | { readonly type: "answered"; readonly askId: string }
  /** A schedule was created or changed: the leader should look. */
  | { readonly type: "schedule" }
  /** It was changed how long runs are kept: the leader should look. */
  | { readonly type: "retention" }
  /** The leader has stepped down: another worker may take its place. */
  | { readonly type: "leaderless" };

export interface Notifier {
  /** Called after a commit; must not throw and must not block. */
  publish(hints: readonly Hint[]): void;
  /** Returns the function that ends the subscription. Listeners are called in a later macrotask. */
  subscribe(listener: (hint: Hint) => void): () => void;
  /**
   * Somebody wants the `ended` and `replied` hints of these runs, until the returned function is called. Only a notifier that
   * would otherwise have to send them to everybody has it; all others pass on every hint.
   */
  watch?(runIds: readonly string[]): () => void;
}
