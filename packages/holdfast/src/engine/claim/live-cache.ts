import type { RunExecutor } from "../execute/run-executor.ts";

/**
 * Suspended runs that are still in memory; the oldest is evicted first. Waking one that no other worker has claimed needs no
 * replay.
 */
export class LiveCache {
  readonly #sizeMax: number;
  readonly #executors = new Map<string, RunExecutor>();

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  get size(): number {
    return this.#executors.size;
  }

  put(executor: RunExecutor): void {
    this.#executors.delete(executor.runId);
    this.#executors.set(executor.runId, executor);
    for (const [runId, oldest] of this.#executors) {
      if (this.#executors.size <= this.#sizeMax) break;
      this.#executors.delete(runId);
      oldest.evict();
    }
  }

  take(runId: string): RunExecutor | undefined {
    const executor = this.#executors.get(runId);
    this.#executors.delete(runId);
    return executor;
  }

  clear(): void {
    for (const executor of this.#executors.values()) executor.evict();
    this.#executors.clear();
  }
}
