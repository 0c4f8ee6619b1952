/**
 * The processes in which a worker executes its tasks. The worker claims, reports and keeps its lease; a process gets one task
 * after the other. A process that has done enough, or has grown too large, is replaced: its successor is ready before it gets
 * its last task.
 */
import type { PortsBundle } from "../../calls/ports-bundle.ts";
import { DEFAULT_LIMITS } from "../../model/limits.ts";
import type { TaskProcesses } from "../../ports/task-processes.ts";
import type { TaskAttempt } from "../tasks/task-attempt.ts";
import { loaderFile } from "./loader-file.ts";
import type { ResolvedPoolOptions } from "./pool-options.ts";
import { PoolStats, type RestartReason, type TaskPoolStatus } from "./pool-stats.ts";
import { PooledProcess, type ProcessEnding, poolFailed } from "./pooled-process.ts";

/** Above this share of the memory limit a process is replaced; above the limit it is killed. */
const REPLACE_SHARE = 0.8;
/** A process that has not loaded its module by then never will. */
const START_MS = 30_000;
const BACKOFF_MS = 200;
const BACKOFF_MS_MAX = 30_000;
/** What an attempt may take to stop when the worker stops. */
const STOP_MS = 1_000;

export interface TaskPoolParams {
  readonly ports: PortsBundle;
  readonly processes: TaskProcesses;
  readonly workerName: string;
  readonly options: ResolvedPoolOptions;
  /** The names of the worker's tasks. */
  readonly tasks: readonly string[];
  /** A slot is free. */
  readonly onFree: () => void;
}

/** An attempt that no process executes yet. */
interface Waiting {
  readonly attempt: TaskAttempt;
  readonly over: () => void;
}

export class TaskPool {
  readonly #params: TaskPoolParams;
  readonly #stats: PoolStats;
  readonly #all = new Set<PooledProcess>();
  /** Those that a starting process replaces. */
  readonly #replaced = new Map<PooledProcess, PooledProcess>();
  /** Those whose successor is starting, or will be. */
  readonly #succeeded = new Set<PooledProcess>();
  readonly #executions = new Map<TaskAttempt, Promise<void>>();
  readonly #waiting: Waiting[] = [];
  #open = false;
  #starts = 0;
  /** Deaths since a process has last finished a task. */
  #deaths = 0;
  /** Processes that were of no use, since one has last loaded its module. */
  #failedStarts = 0;
  #started: { readonly resolve: () => void; readonly reject: (error: unknown) => void } | undefined;
  #emptyWaiters: (() => void)[] = [];

  constructor(params: TaskPoolParams) {
    this.#params = params;
    this.#stats = new PoolStats(params.ports.clock);
  }

  /** How many tasks could begin at once. */
  get free(): number {
    let slots = -this.#waiting.length;
    for (const process of this.#all) slots += process.free;
    return Math.max(0, slots);
  }

  status(): TaskPoolStatus {
    return this.#stats.status([...this.#all]);
  }

  /** Resolves when the first process is ready. Rejects if the module cannot be used. */
  start(): Promise<void> {
    this.#open = true;
    this.#starts += 1;
    this.#deaths = 0;
    this.#failedStarts = 0;
    return new Promise<void>((resolve, reject) => {
      this.#started = { resolve, reject };
      for (let i = 0; i < this.#params.options.processes; i++) this.#spawn();
    });
  }

  /** Executes the attempt in a process, as soon as one is free. */
  run(attempt: TaskAttempt): void {
    attempt.begin();
    const over = new Promise<void>((resolve) => {
      this.#waiting.push({ attempt, over: resolve });
    });
    this.#executions.set(attempt, over);
    void over.then(() => this.#executions.delete(attempt));
    attempt.signal.addEventListener("abort", () => this.#abandon(attempt), { once: true });
    this.#assign();
  }

  /** It has not begun. */
  #abandon(attempt: TaskAttempt): void {
    const at = this.#waiting.findIndex((waiting) => waiting.attempt === attempt);
    if (at === -1) return;
    attempt.end({ ok: false, error: attempt.signal.reason });
    this.#waiting.splice(at, 1)[0]?.over();
  }

  /** Calls back when no process executes the attempt any longer. */
  whenOver(attempt: TaskAttempt, callback: () => void): void {
    void Promise.resolve(this.#executions.get(attempt)).then(callback);
  }

  /** All processes end; those that still execute something are killed soon. Resolves when none is left. */
  async stop(): Promise<void> {
    this.#open = false;
    this.#started?.reject(poolFailed("The worker was stopped while its processes started."));
    this.#started = undefined;
    for (const { over } of this.#waiting.splice(0)) over();
    for (const process of this.#all) {
      if (process.state === "starting") process.kill("the worker stops");
      else process.retire();
    }
    if (this.#all.size === 0) return;
    const timer = this.#params.ports.clock.setTimer(STOP_MS, () => {
      for (const process of this.#all) process.kill("the worker stops");
    });
    await new Promise<void>((resolve) => this.#emptyWaiters.push(resolve));
    timer.cancel();
  }

  #assign(): void {
    while (this.#waiting.length > 0) {
      const process = this.#freest();
      if (!process) return;
      const { attempt, over } = this.#waiting.shift() as Waiting;
      process.run(attempt, over);
      const { recycleAfter } = this.#params.options;
      if (process.executed >= recycleAfter) this.#replace(process, "recycled");
    }
  }

  #freest(): PooledProcess | undefined {
    let best: PooledProcess | undefined;
    for (const process of this.#all) if (process.free > (best?.free ?? 0)) best = process;
    return best;
  }

  // Processes ---------------------------------------------------------------------------------------------------------

  #spawn(replaces?: PooledProcess): void {
    const { ports, processes, options } = this.#params;
    const { clock, log, codec, plainCodec = false, limits = DEFAULT_LIMITS } = ports;
    const { module, memoryBytes, execArgv, perProcess, cancelGraceMs } = options;
    const told = { module, limits: plainCodec ? limits : undefined };
    const late = clock.setTimer(START_MS, () =>
      process.kill(`it did not load its module within ${START_MS / 1000} seconds`),
    );
    const process = new PooledProcess({
      ...{ clock, log, codec, perProcess, cancelGraceMs },
      plain: plainCodec,
      start: (events) => processes.start({ ...told, memoryBytes, execArgv, loader: loaderFile() }, events),
      onReady: (ready, tasks) => {
        late.cancel();
        this.#ready(ready, tasks);
      },
      onMeasured: (measured) => this.#measured(measured),
      onFree: (_process, ms) => {
        this.#deaths = 0;
        this.#stats.executed(ms);
        this.#roomMade();
      },
      onEnded: (ended, ending) => {
        late.cancel();
        this.#ended(ended, ending);
      },
    });
    this.#all.add(process);
    if (replaces) this.#replaced.set(process, replaces);
  }

  #ready(process: PooledProcess, tasks: readonly string[]): void {
    const fault = this.#faultOf(process, tasks);
    if (fault !== undefined) return this.#unusable(process, fault);
    this.#failedStarts = 0;
    this.#replaced.get(process)?.retire();
    this.#replaced.delete(process);
    this.#started?.resolve();
    this.#started = undefined;
    if (this.#open) this.#roomMade();
    else process.retire();
  }

  /** What only a person can change. */
  #faultOf({ residentBytes = 0 }: PooledProcess, tasks: readonly string[]): string | undefined {
    const { memoryBytes = Number.POSITIVE_INFINITY } = this.#params.options;
    const missing = this.#params.tasks.filter((name) => !tasks.includes(name)).map((name) => `"${name}"`);
    if (missing.length > 0)
      return `does not export ${missing.length === 1 ? "task" : "the tasks"} ${missing.join(", ")}`;
    if (residentBytes > memoryBytes)
      return `takes ${mib(residentBytes)} of memory when it is loaded, more than the limit of ${mib(memoryBytes)}`;
    return undefined;
  }

  #unusable(process: PooledProcess, fault: string): void {
    const message = `worker: the module of the pool ${fault} (${this.#params.options.module}).`;
    this.#started?.reject(poolFailed(message));
    this.#started = undefined;
    this.#failedStarts += 1;
    process.kill(`its module ${fault}`);
  }

  #roomMade(): void {
    this.#assign();
    if (this.free > 0) this.#params.onFree();
  }

  #measured(process: PooledProcess): void {
    const { memoryBytes } = this.#params.options;
    const bytes = process.residentBytes ?? 0;
    // One that loads its module is judged when it is ready.
    if (memoryBytes === undefined || process.state === "starting") return;
    if (bytes > memoryBytes) {
      process.kill(`it used ${mib(bytes)}, more than its limit of ${mib(memoryBytes)}`);
    } else if (bytes > memoryBytes * REPLACE_SHARE && process.executed > 0) this.#replace(process, "memory");
  }

  /** Its successor is ready before it retires. */
  #replace(process: PooledProcess, reason: RestartReason): void {
    if (!this.#open || this.#succeeded.has(process) || process.state !== "ready" || process.killed) return;
    this.#succeeded.add(process);
    this.#noteRestart(process, reason);
    this.#spawn(process);
  }

  #ended(process: PooledProcess, { why, was, tasks }: ProcessEnding): void {
    this.#all.delete(process);
    const replaces = this.#replaced.get(process);
    this.#replaced.delete(process);
    const succeeded = this.#succeeded.delete(process);
    if (this.#all.size === 0) for (const resolve of this.#emptyWaiters.splice(0)) resolve();
    if (!this.#open) return;
    if (was === "retiring") {
      // It was counted, and replaced, before.
      if (tasks > 0) this.#log(process, process.killed ? "killed" : "crashed", why);
      return;
    }
    if (was === "starting" && this.#started) return this.#startFailed(why);
    this.#noteRestart(process, process.killed ? "killed" : "crashed", why);
    if (was === "starting") this.#failedStarts += 1;
    // Unless its successor is about to take its place.
    if (!succeeded) this.#spawnLater(replaces);
  }

  /** At once, unless processes die one after the other and finish nothing. */
  #spawnLater(replaces: PooledProcess | undefined): void {
    this.#deaths += 1;
    // One that does not even load its module is no better because others still finish tasks.
    const deaths = Math.max(this.#deaths, this.#failedStarts);
    const delay = BACKOFF_MS * 2 ** Math.min(deaths - 2, 20);
    const waitMs = deaths <= this.#params.options.processes ? 0 : Math.min(BACKOFF_MS_MAX, delay);
    if (waitMs > 0) this.#giveBackWaiting();
    const starts = this.#starts;
    this.#params.ports.clock.setTimer(waitMs, () => {
      if (this.#open && this.#starts === starts) this.#spawn(replaces?.state === "ready" ? replaces : undefined);
    });
  }

  /** Other workers may be able to execute them: while no process can, nobody knows for how long. */
  #giveBackWaiting(): void {
    for (const { state } of this.#all) if (state === "ready") return;
    for (const { attempt, over } of this.#waiting.splice(0)) {
      const message = "No process could be started for it";
      attempt.end({ ok: false, died: { begun: false, alone: false, innocent: true, message } });
      over();
    }
  }

  #startFailed(why: string): void {
    const { module } = this.#params.options;
    this.#started?.reject(
      poolFailed(`worker: a process of the pool ended before it had loaded its module (${module}): it ${why}.`),
    );
    this.#started = undefined;
  }

  #noteRestart(process: PooledProcess, reason: RestartReason, why?: string): void {
    const { ports, workerName } = this.#params;
    this.#stats.restarted(reason);
    ports.telemetry?.count("pool_restarts", 1, { worker: workerName, reason });
    this.#log(process, reason, why);
  }

  #log(process: PooledProcess, reason: RestartReason, why: string | undefined): void {
    const { ports, workerName } = this.#params;
    const about = {
      worker: workerName,
      pid: process.pid,
      tasks: process.executed,
      residentBytes: process.residentBytes,
    };
    if (why === undefined) ports.log.info({ ...about, reason }, "a process of the task pool is replaced");
    else ports.log.warn({ ...about, reason, why }, "a process of the task pool has died; another one takes its place");
  }
}

function mib(bytes: number): string {
  return `${Math.round(bytes / 1024 / 1024)} MiB`;
}
