import type { RunExecutor } from "../execute/run-executor.ts";

/**
 * Suspended runs that are still in memory; the oldest is evicted first, and those that wait for other runs last: they wake as often
 * as those end, and would be replayed each time. Waking one that no other worker has claimed needs no replay.
 */
export class LiveCache {
  readonly #sizeMax: number;
  readonly #executors = new Map<string, RunExecutor>();
  readonly #parents = new Map<string, RunExecutor>();
  /** The same by the user's ids. */
  readonly #byId = new Map<string, RunExecutor>();

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  get size(): number {
    return this.#executors.size + this.#parents.size;
  }

  put(executor: RunExecutor): void {
    const { runId, machine } = executor;
    this.#executors.delete(runId);
    this.#parents.delete(runId);
    (machine.hasCalls ? this.#parents : this.#executors).set(runId, executor);
    this.#byId.set(executor.run.id, executor);
    for (const kind of [this.#executors, this.#parents])
      for (const [oldest, evicted] of kind) {
        if (this.size <= this.#sizeMax) return;
        kind.delete(oldest);
        this.#forgetId(evicted);
        evicted.evict();
      }
  }

  take(runId: string): RunExecutor | undefined {
    const kind = this.#executors.has(runId) ? this.#executors : this.#parents;
    const executor = kind.get(runId);
    kind.delete(runId);
    if (executor) this.#forgetId(executor);
    return executor;
  }

  look(runId: string): RunExecutor | undefined {
    return this.#executors.get(runId) ?? this.#parents.get(runId);
  }

  lookById(id: string): RunExecutor | undefined {
    return this.#byId.get(id);
  }

  #forgetId(executor: RunExecutor): void {
    // A newer run of the id may have come since.
    if (this.#byId.get(executor.run.id) === executor) this.#byId.delete(executor.run.id);
  }

  clear(): void {
    for (const kind of [this.#executors, this.#parents]) {
      for (const executor of kind.values()) executor.evict();
      kind.clear();
    }
    this.#byId.clear();
  }
}
