/**
 * The runs that a worker holds: claimed ones whose history is still being read, and live ones. Suspended runs move to the
 * cache and return from it when they are claimed again.
 */

import { HistoryReader } from "../../calls/history-reader.ts";
import type { PortsBundle } from "../../calls/ports-bundle.ts";
import { SegmentPacker } from "../../calls/segments/segment-packer.ts";
import type { LiveRun } from "../../model/live-run.ts";
import type { Message } from "../../model/message.ts";
import { PassingMap } from "../../model/passing-map.ts";
import { type Run, runOf } from "../../model/run.ts";
import type { RunRef } from "../../ports/store.ts";
import type { WorkflowCode, WorkflowRegistry } from "../code/workflow-registry.ts";
import type { ExecutorHost } from "../execute/executor-host.ts";
import type { HeldRun, Leaving } from "../execute/held-run.ts";
import { RunExecutor } from "../execute/run-executor.ts";
import { giveUpRun } from "./give-up-run.ts";
import { LiveCache } from "./live-cache.ts";

export interface HeldRunsParams {
  readonly ports: PortsBundle;
  readonly registry: WorkflowRegistry;
  readonly cacheSize: number;
  /** The store's time. */
  readonly now: () => number;
  readonly host: () => ExecutorHost;
  readonly workerId: () => string;
  /** A run is no longer held, for any reason. */
  readonly onLeft: (runId: string) => void;
  /** Nobody has held the run before. */
  readonly onBegun: (run: Run) => void;
}

/** Under what a worker holds a run. */
type Hold = Pick<Run, "epoch" | "heldBy" | "claimId">;

interface Claimed {
  readonly run: Run;
  readonly messages: readonly Message[];
}

export class HeldRuns {
  readonly #params: HeldRunsParams;
  readonly #live = new PassingMap<string, RunExecutor>();
  readonly #loading = new PassingMap<string, Run>();
  /** Claimed again while a write of the live executor is still in flight. */
  readonly #next = new PassingMap<string, Claimed>();
  /** Runs that messages arrived for while they could not be notified. */
  readonly #behind = new Set<string>();
  readonly #cache: LiveCache;
  readonly #histories: HistoryReader;
  #packer: SegmentPacker;
  #emptyWaiters: (() => void)[] = [];

  constructor(params: HeldRunsParams) {
    this.#params = params;
    this.#cache = new LiveCache(params.cacheSize, params.now);
    this.#packer = new SegmentPacker(params.ports);
    this.#histories = new HistoryReader(params.ports, () => this.#loading.size === 0);
  }

  get count(): number {
    return this.#live.size + this.#loading.size;
  }

  has(runId: string): boolean {
    return this.#live.has(runId) || this.#loading.has(runId) || this.#next.has(runId);
  }

  look(runId: string): LiveRun | undefined {
    return this.#live.get(runId)?.look();
  }

  /** The executor of a run that is held and live. */
  live(runId: string): RunExecutor | undefined {
    return this.#live.get(runId);
  }

  /** The executor of a run that was suspended here, if nothing has happened to it since. */
  resting(run: Run): RunExecutor | undefined {
    const executor = this.#cache.look(run.runId);
    return executor?.matches(run, 0) && !executor.machine.spoiled ? executor : undefined;
  }

  /** The run that a message is for, if it was suspended here and is not known to have moved since. */
  restingFor(to: RunRef): { readonly runId: string; readonly epoch: number } | undefined {
    const executor = "runId" in to ? this.#cache.look(to.runId) : this.#cache.lookById(to.id);
    if (!executor?.suspended || executor.machine.spoiled || executor.run.namespace !== to.namespace) return undefined;
    return { runId: executor.runId, epoch: executor.run.epoch };
  }

  /** The store has taken a resting run for us, as it was; false if it does not rest here any more. */
  wake(runId: string, hold: Hold, messages: readonly Message[]): boolean {
    const executor = this.#cache.look(runId);
    if (!executor?.suspended || executor.machine.spoiled || executor.run.epoch !== hold.epoch - 1) return false;
    this.#cache.take(runId);
    const status = executor.machine.compensating ? "compensating" : "running";
    const delivered = messages.at(-1)?.number ?? executor.run.delivered;
    const { run } = executor;
    executor.reactivate(Object.assign(runOf(run, run), hold, { status, delivered }), messages);
    this.#enter(executor);
    // Messages from before may be unread.
    if (executor.isBehind(delivered)) this.#params.host().inbox.pull(executor);
    return true;
  }

  /** It is not what its history says any more. */
  forgetResting(executor: RunExecutor): void {
    if (this.#cache.look(executor.runId) === executor) this.#cache.take(executor.runId)?.evict();
  }

  all(): RunExecutor[] {
    return [...this.#live.values()];
  }

  untilEmpty(): Promise<void> {
    if (this.count === 0) return Promise.resolve();
    return new Promise((resolve) => this.#emptyWaiters.push(resolve));
  }

  /** Starts executing a run that the store says we hold. */
  activate(run: Run, messages: readonly Message[]): void {
    const { runId, epoch } = run;
    const live = this.#live.get(runId);
    const known = live?.run ?? this.#loading.get(runId);
    if (known && epoch <= known.epoch) return;
    if (live) return this.#replace(live, { run, messages });
    const cached = this.#cache.take(runId);
    if (cached?.matches(run, 1) && !cached.machine.spoiled) {
      cached.reactivate(run, messages);
      return this.#enter(cached);
    }
    cached?.evict();
    const code = this.#params.registry.code(run.workflow, run.version) as WorkflowCode;
    if (run.eventCount === 0)
      return this.#enter(new RunExecutor(this.#params.host(), code, { run, history: [], messages }));
    this.#loading.set(runId, run);
    void this.#load(run, code, messages);
  }

  /** Messages have arrived for a run. */
  pull(runId: string): void {
    const executor = this.#live.get(runId);
    if (executor?.isBehind(Number.POSITIVE_INFINITY)) this.#params.host().inbox.pull(executor);
    if (this.#loading.has(runId) || this.#next.has(runId)) this.#behind.add(runId);
  }

  /** The store says that this worker no longer holds the run. */
  taken(runId: string): void {
    this.#next.delete(runId);
    this.#live.get(runId)?.drop();
    if (this.#loading.delete(runId)) this.#afterLeaving(runId);
  }

  /** The run's executor has suspended or released it. */
  left({ runId }: HeldRun, leaving: Leaving): void {
    const executor = this.#live.get(runId);
    this.#live.delete(runId);
    if (executor?.suspended) this.#cache.put(executor, leaving.how === "suspended" ? leaving.availableAt : null);
    this.#afterLeaving(runId);
  }

  /** Every held run has been reclaimed. */
  dropAll(): void {
    this.#loading.clear();
    this.#next.clear();
    this.#behind.clear();
    for (const executor of this.all()) executor.drop();
  }

  /** The worker has stopped. */
  clearCache(): void {
    this.#cache.clear();
    this.#packer.close();
    this.#packer = new SegmentPacker(this.#params.ports);
  }

  /** `replayingSince`: from when on its history was read, if it was. */
  #enter(executor: RunExecutor, replayingSince?: number): void {
    this.#live.set(executor.runId, executor);
    if (executor.run.epoch === 1) this.#params.onBegun(executor.run);
    this.#params.host().stretches?.begin(executor.run, replayingSince);
    if (this.#behind.delete(executor.runId)) this.#params.host().inbox.pull(executor);
  }

  /**
   * The store has returned a run that is live here: the fence refuses what the old executor still tries to write. If its
   * last write is in flight, wait for the answer, so that a run never has two executors.
   */
  #replace(live: RunExecutor, next: Claimed): void {
    this.#next.set(live.runId, next);
    if (!live.writing) live.drop();
  }

  async #load(run: Run, code: WorkflowCode, messages: readonly Message[]): Promise<void> {
    const { ports } = this.#params;
    const { runId, workflow } = run;
    const workerId = this.#params.workerId();
    const stillOurs = (): boolean => this.#loading.get(runId) === run && this.#params.workerId() === workerId;
    const since = ports.clock.monotonic();
    let executor: RunExecutor | undefined;
    try {
      const read = await this.#histories.read(run);
      // It was claimed under an id that has been declared dead since: the claim is gone, and another worker has the run.
      if (stillOurs()) {
        const history = read.events;
        ports.telemetry?.count("runs_replayed", 1, { workflow });
        ports.telemetry?.count("events_replayed", history.length, { workflow });
        executor = new RunExecutor(this.#params.host(), code, { run, history, messages });
        this.#packer.offer(run, read);
      }
    } catch (error) {
      if (stillOurs()) await giveUpRun(ports, workerId, run, error);
    }
    if (this.#loading.get(runId) !== run) return;
    this.#loading.delete(runId);
    if (executor) this.#enter(executor, since);
    else this.#afterLeaving(runId);
  }

  #afterLeaving(runId: string): void {
    const next = this.#next.get(runId);
    this.#next.delete(runId);
    if (next) this.activate(next.run, next.messages);
    if (this.count === 0) for (const resolve of this.#emptyWaiters.splice(0)) resolve();
    this.#params.onLeft(runId);
  }
}
