/**
 * The runs that a worker holds: claimed ones whose history is on its way, and live ones. Suspended ones move to the cache
 * and come back from it when they are claimed again.
 */
import type { Message } from "../model/message.ts";
import type { Run } from "../model/run.ts";
import type { ExecutorHost } from "./executor-host.ts";
import { readWholeHistory } from "./history-reader.ts";
import { LiveCache } from "./live-cache.ts";
import type { PortsBundle } from "./ports-bundle.ts";
import { RunExecutor } from "./run-executor.ts";
import type { WorkflowCode, WorkflowRegistry } from "./workflow-registry.ts";

export interface HeldRunsParams {
  readonly ports: PortsBundle;
  readonly registry: WorkflowRegistry;
  readonly cacheSize: number;
  readonly host: () => ExecutorHost;
  readonly workerId: () => string;
  /** A run is no longer held, whatever became of it. */
  readonly onLeft: (runId: string) => void;
}

export class HeldRuns {
  readonly #params: HeldRunsParams;
  readonly #live = new Map<string, RunExecutor>();
  readonly #loading = new Set<string>();
  readonly #cache: LiveCache;
  #emptyWaiters: (() => void)[] = [];

  constructor(params: HeldRunsParams) {
    this.#params = params;
    this.#cache = new LiveCache(params.cacheSize);
  }

  get count(): number {
    return this.#live.size + this.#loading.size;
  }

  get loading(): boolean {
    return this.#loading.size > 0;
  }

  get(runId: string): RunExecutor | undefined {
    return this.#live.get(runId);
  }

  has(runId: string): boolean {
    return this.#live.has(runId) || this.#loading.has(runId);
  }

  all(): RunExecutor[] {
    return [...this.#live.values()];
  }

  untilEmpty(): Promise<void> {
    if (this.count === 0) return Promise.resolve();
    return new Promise((resolve) => this.#emptyWaiters.push(resolve));
  }

  /** Starts executing a run that the store says is ours. */
  activate(run: Run, messages: readonly Message[]): void {
    if (this.has(run.runId)) return;
    const cached = this.#cache.take(run.runId);
    if (cached?.matches(run)) {
      this.#live.set(run.runId, cached);
      return cached.reactivate(run, messages);
    }
    cached?.evict();
    const code = this.#params.registry.code(run.workflow, run.version) as WorkflowCode;
    if (run.eventCount === 0) {
      this.#live.set(run.runId, new RunExecutor(this.#params.host(), code, run, [], messages));
      return;
    }
    this.#loading.add(run.runId);
    void this.#load(run, code, messages);
  }

  /** The executor has let its run go. */
  left(executor: RunExecutor): void {
    this.#live.delete(executor.runId);
    if (executor.state === "suspended") this.#cache.put(executor);
    this.#afterLeaving(executor.runId);
  }

  /** Everything that is held belongs to others now. */
  dropAll(): void {
    this.#loading.clear();
    for (const executor of this.all()) executor.drop();
  }

  clearCache(): void {
    this.#cache.clear();
  }

  async #load(run: Run, code: WorkflowCode, messages: readonly Message[]): Promise<void> {
    const { ports } = this.#params;
    const { runId, epoch } = run;
    const workerId = this.#params.workerId();
    const stillOurs = (): boolean => this.#loading.has(runId) && this.#params.workerId() === workerId;
    try {
      const history = await readWholeHistory(ports, run, () => !stillOurs());
      const { workflow } = run;
      ports.telemetry?.count("runs_replayed", 1, { workflow });
      ports.telemetry?.count("events_replayed", history.length, { workflow });
      if (stillOurs()) this.#live.set(runId, new RunExecutor(this.#params.host(), code, run, history, messages));
    } catch (error) {
      ports.log.error({ runId, error: String(error) }, "could not read the history of a claimed run; giving it back");
      await ports.store.releaseRunsIfHeld({ workerId, runs: [{ runId, epoch }] }).catch(() => {});
    }
    this.#loading.delete(runId);
    if (!this.#live.has(runId)) this.#afterLeaving(runId);
  }

  #afterLeaving(runId: string): void {
    if (this.count === 0) for (const resolve of this.#emptyWaiters.splice(0)) resolve();
    this.#params.onLeft(runId);
  }
}
