/**
 * A worker: claims runs and executes them. It owns which runs it holds; its parts own the rest: lease (may effects start),
 * claimer (fill the slots), committer (write), sweeper (reclaim the runs of dead workers), leader (fire schedules, if it is the one).
 */

import type { HoldingDelivery } from "../../calls/holding-delivery.ts";
import { type LimitedWait, limitedWait } from "../../calls/limited-wait.ts";
import type { AnyWorkflow } from "../../define/definitions.ts";
import { HoldfastError } from "../../errors/holdfast-error.ts";
import type { LiveRun } from "../../model/live-run.ts";
import type { NewRun } from "../../model/run.ts";
import type { Hint } from "../../ports/notifier.ts";
import type { DeliverMessage, HeartbeatResult } from "../../ports/store.ts";

import { drainOnSignals } from "../../system/shutdown-signals.ts";
import { giveBackGuestRun } from "../claim/give-up-run.ts";
import { stopWorker } from "../lease/sign-on.ts";

import type { TaskPoolStatus } from "../pool/pool-stats.ts";
import type { LocalTasks, TaskReservation } from "../tasks/local-tasks.ts";

import { announceVersions } from "./announce-versions.ts";
import { Guard } from "./rejection-guard.ts";

import type { SlotReservation } from "./slot-reservation.ts";
import { WorkerParts, type WorkerPartsParams } from "./worker-parts.ts";

export interface WorkerParams extends WorkerPartsParams {
  /** The workers of this client. */
  readonly siblings?: () => readonly Worker[];
  /** It has drained on a signal, and the process must end. */
  readonly onSignaled?: () => void;
  /** It is running; what it returns is called when it stops. */
  readonly onRunning?: () => () => void;
}

/** Runs workflows in this process. Made by `hf.worker`. */
export class Worker {
  /** Its given name, or the name of the program and a number: `server-1` for `server.ts`. */
  readonly name: string;
  readonly #params: WorkerParams;
  readonly #parts: WorkerParts;
  #state: "stopped" | "starting" | "running" | "draining" = "stopped";
  /** The start or stop in progress, or the last one. */
  #life: Promise<void> = Promise.resolve();
  #leaving: LimitedWait | undefined;
  #starts = 0;
  #guard: Guard | undefined;
  #cleanups: (() => void)[] = [];

  constructor(params: WorkerParams) {
    this.#params = params;
    this.name = params.options.name;
    this.#parts = new WorkerParts(params, {
      draining: () => this.#isDraining(),
      onHeartbeat: (result) => this.#onHeartbeat(result),
      onDead: () => void this.#onDead(),
      localTasks: {
        reserve: (task) => this.#firstOf((worker) => worker.reserveTask(task)),
        takenBack: (task) => {
          for (const worker of this.#siblings()) worker.takeTaskBack(task);
        },
      },
      reserve: (run) => {
        if (run.namespace !== params.namespace) return undefined;
        return this.#firstOf((worker) => worker.reserve(run));
      },
      reserveDelivery: (messages) => this.#firstOf((worker) => worker.reserveDelivery(messages)),
      onDue: (storeAt) => {
        for (const worker of this.#siblings()) worker.noteDueAt(storeAt);
      },
    });
  }

  /** Tasks that this worker holds right now. */
  get activeTasks(): number {
    return this.#parts.tasks.count;
  }

  /** The state of its task pool: throughput, latency, restarts, processes. Undefined if it has none. */
  get pool(): TaskPoolStatus | undefined {
    return this.#parts.tasks.pool;
  }

  /** Runs that this worker holds right now. */
  get activeRuns(): number {
    return this.#parts.held.count;
  }

  /** @internal */
  holds(runId: string): boolean {
    return this.#parts.held.has(runId);
  }

  /** @internal What is known here of a run that it holds. */
  look(runId: string): LiveRun | undefined {
    return this.#parts.held.look(runId);
  }

  /** @internal How it answers queries. */
  get queries(): Pick<WorkerParts["queries"], "live" | "replayed"> {
    return this.#parts.queries;
  }

  /** Whether it takes work: it has started, is registered, and does not drain. */
  get ready(): boolean {
    return this.#state === "running" && this.#parts.lease.workerId !== "";
  }

  /** Whether it was started, and has left since: it drains, or has stopped. */
  get left(): boolean {
    return this.#starts > 0 && (this.#state === "stopped" || this.#state === "draining");
  }

  /** What it can run. */
  get workflows(): readonly AnyWorkflow[] {
    return this.#parts.registry.all;
  }

  /** Its id in the store; a worker that registers again gets a new one. */
  get workerId(): string {
    return this.#parts.lease.workerId;
  }

  // Life --------------------------------------------------------------------------------------------------------------

  /** Registers the worker and starts claiming runs. */
  start(): Promise<void> {
    if (this.#state === "stopped") this.#life = this.#start();
    else if (this.#state === "draining") this.#life = this.#life.then(() => this.start());
    return this.#life;
  }

  /** Claims nothing new, lets running steps finish (up to `drainTimeout`), releases all runs, and stops. */
  drain(): Promise<void> {
    return this.#windDown(this.#params.options.drainTimeoutMs);
  }

  /** Aborts running steps, releases all runs at once, and stops; cuts a drain short. */
  stop(): Promise<void> {
    this.#leaving?.cut();
    return this.#windDown(0);
  }

  /** @internal It has drained on a signal. */
  leave(): void {
    this.#params.onSignaled?.();
  }

  async #start(): Promise<void> {
    const { ports, namespace, options, life } = this.#params;
    life.assertOpen();
    this.#state = "starting";
    this.#starts += 1;
    try {
      if (ports.environment?.inPool) throw workerInPool(this.name);
      await this.#parts.tasks.openPool();
      await announceVersions({ ...ports, life }, namespace, this.#parts.registry.all, options.onChangedCode);
      await this.#register(false);
    } catch (error) {
      const unwanted = this.#isDraining();
      await this.#parts.tasks.closePool();
      this.#state = "stopped";
      if (unwanted) return;
      throw error;
    }
    const guard = new Guard(ports.log);
    this.#guard = guard;
    this.#cleanups.push(() => guard.end());
    this.#cleanups.push(ports.notifier.subscribe((hint) => this.#onHint(hint)));
    if (options.handleSignals) this.#cleanups.push(drainOnSignals(this, ports));
    if (this.#isDraining()) return this.#shutDown();
    this.#state = "running";
    if (this.#params.onRunning) this.#cleanups.push(this.#params.onRunning());
    this.#parts.sweeper.start();
    this.#parts.leader.start();
    // Once this resolves, the fixed code has taken up the runs that it can.
    const claiming = this.#parts.claimer.start();
    this.#parts.tasks.start();
    await claiming;
    const tasks = this.#parts.tasks.names;
    const workflows = this.#parts.offers();
    // One that only executes tasks says nothing about workflows, and the other way round.
    const offers = tasks.length === 0 ? { workflows } : workflows.length === 0 ? { tasks } : { workflows, tasks };
    this.#tell("worker started", { queues: options.queues, ...offers, store: ports.place });
  }

  /** A call while it is in progress waits for the same end. */
  #windDown(waitMs: number): Promise<void> {
    if (this.#state === "stopped") return Promise.resolve();
    if (this.#state === "running") this.#life = this.#drain(waitMs);
    // Its processes may never be ready.
    else if (this.#state === "starting") void this.#parts.tasks.closePool();
    this.#state = "draining";
    return this.#life;
  }

  async #drain(waitMs: number): Promise<void> {
    this.#state = "draining";
    const { names, count } = this.#parts.tasks;
    const inProgress = { runs: this.#parts.held.count, ...(names.length > 0 ? { tasks: count } : {}) };
    this.#tell(waitMs > 0 ? "worker draining" : "worker stopping", inProgress);
    this.#parts.claimer.stop();
    this.#parts.sweeper.stop();
    const alerts = this.#parts.leader.stop();
    this.#parts.tasks.close();
    this.#parts.pokeAll();
    if (waitMs > 0) {
      if (this.#parts.held.count + this.#parts.tasks.count > 0) this.#parts.lease.report();
      this.#leaving = limitedWait(this.#params.ports.clock, this.#untilEmpty(), waitMs);
      await this.#leaving.over;
    }
    // Finished steps are recorded before anything is dropped.
    await this.#untilFlushed();
    await alerts;
    await this.#shutDown();
  }

  async #shutDown(): Promise<void> {
    const { ports } = this.#params;
    const workerId = this.#parts.lease.workerId;
    this.#parts.held.dropAll();
    await this.#parts.tasks.stop(this.#params.options.drainTimeoutMs);
    // What was in flight before the drop is still written, as far as the fence allows.
    await this.#untilFlushed();
    this.#parts.committer.abandon();
    const idle = Promise.all([this.#params.payer.untilIdle(), this.#parts.replayCheck?.stop()]).then(() => {});
    await limitedWait(ports.clock, idle, this.#params.options.drainTimeoutMs).over;
    // Includes what was claimed in the meantime: from here on, answers to claims find no worker.
    this.#parts.held.dropAll();
    await limitedWait(ports.clock, this.#sendRates(), this.#params.options.drainTimeoutMs).over;
    this.#parts.lease.end();
    this.#parts.claimer.abandon();
    this.#parts.held.clearCache();
    this.#parts.solo.reset();
    for (const cleanup of this.#cleanups.splice(0)) cleanup();
    await stopWorker(ports, { namespace: this.#params.namespace, workerId });
    this.#state = "stopped";
    this.#parts.lines.flush(true);
    this.#parts.reportLevels();
    this.#tell("worker stopped", {});
  }

  async #untilEmpty(): Promise<void> {
    await Promise.all([this.#parts.held.untilEmpty(), this.#parts.tasks.untilEmpty()]);
    await this.#parts.replayCheck?.untilIdle();
  }

  #untilFlushed(): Promise<void> {
    return limitedWait(this.#params.ports.clock, this.#parts.committer.untilIdle(), this.#params.options.drainTimeoutMs)
      .over;
  }

  #sendRates(): Promise<void> {
    return this.#parts.rates.send(this.#params.namespace, this.#parts.lease.workerId);
  }

  #tell(message: string, fields: object): void {
    this.#params.ports.log.info({ worker: this.name, ...fields }, message);
  }

  #isDraining(): boolean {
    return this.#state === "draining";
  }

  /** `again`: it was declared dead although it is alive. */
  #register(again: boolean): Promise<void> {
    const starts = this.#starts;
    const unwanted = (): boolean => this.#starts !== starts || !["starting", "running"].includes(this.#state);
    return this.#parts.registration.register(again, unwanted);
  }

  /** The store has declared this worker dead: its runs have been reclaimed. It starts over under a new id. */
  async #onDead(): Promise<void> {
    if (this.#state !== "running" && this.#state !== "draining") return;
    this.#params.ports.log.warn(
      { workerId: this.#parts.lease.workerId, held: this.#parts.held.count },
      "the store declared this worker dead; its runs were reclaimed, and it registers again under a new id",
    );
    this.#params.ports.telemetry?.count("leases_lost", 1, { reason: "dead" });
    this.#params.ports.environment?.workerIds.delete(this.#parts.lease.workerId);
    this.#parts.lease.end();
    this.#parts.leader.told(undefined);
    this.#parts.held.dropAll();
    this.#parts.tasks.lose();
    this.#parts.claimer.abandon();
    this.#parts.committer.abandon();
    this.#parts.solo.reset();
    await this.#registerAgain();
  }

  /** Never gives up: a worker without an id is of no use. */
  async #registerAgain(): Promise<void> {
    if (this.#state !== "running" || this.workerId !== "") return;
    const { clock, log } = this.#params.ports;
    try {
      await this.#register(true);
      this.#parts.claimer.poke();
      this.#parts.tasks.poke();
    } catch (error) {
      log.error({ error: String(error) }, "the store refuses to register this worker again; retrying");
      clock.setTimer(this.#params.options.leaseMs / 3, () => void this.#registerAgain()).unref?.();
    }
  }

  // Slots ---------------------------------------------------------------------------------------------------------------

  /** @internal A slot for a run that is about to be started here; undefined if none is free. */
  reserve({ runId, workflow, version, queue }: NewRun): SlotReservation | undefined {
    const fits = this.#parts.registry.has(workflow, version) && this.#params.options.queues.includes(queue);
    return fits && this.#state === "running" ? this.#parts.slots.reserve(runId) : undefined;
  }

  /** @internal Slots for runs that rest here, for messages that are about to be sent to them. */
  reserveDelivery(messages: readonly DeliverMessage[]): HoldingDelivery | undefined {
    return this.#state === "running" ? this.#parts.slots.reserveDelivery(messages) : undefined;
  }

  /** @internal A slot for a task that a run of this process schedules; undefined if this worker cannot start it now. */
  reserveTask(task: Parameters<LocalTasks["reserve"]>[0]): TaskReservation | undefined {
    return this.#parts.tasks.reserve(task);
  }

  /** @internal A run of this process has taken the task back. */
  takeTaskBack(task: Parameters<LocalTasks["takenBack"]>[0]): void {
    this.#parts.tasks.takenBack(task);
  }

  #siblings(): readonly Worker[] {
    return this.#params.siblings?.() ?? [this];
  }

  /** What the first worker of this client gives that gives anything. */
  #firstOf<T>(ask: (worker: Worker) => T | undefined): T | undefined {
    for (const worker of this.#siblings()) {
      const given = ask(worker);
      if (given !== undefined) return given;
    }
    return undefined;
  }

  /** @internal A run started here becomes due later. */
  noteDueAt(storeAt: number): void {
    this.#parts.claimer.noteDueAt(storeAt);
  }

  /** @internal A guest waits for a run. */
  pokeForGuest(): void {
    this.#parts.claimer.poke();
  }

  /** @internal Gives a run back whose guest has gone. `died`: see `ReleaseRunsParams`. */
  async giveBack(runId: string, died?: { readonly alone: boolean }): Promise<void> {
    const executor = this.#parts.held.live(runId);
    const { parkAfter } = this.#params.options.tuning;
    if (executor) await giveBackGuestRun(this.#params.ports, this.workerId, executor, parkAfter, died);
  }

  // Hints and heartbeats ------------------------------------------------------------------------------------------------

  #onHint(hint: Hint): void {
    const { namespace, options } = this.#params;
    this.#parts.leader.onHint(hint);
    if (hint.type === "due") {
      if (hint.namespace !== namespace || !options.queues.includes(hint.queue)) return;
      if (hint.at === undefined) this.#parts.claimer.poke();
      else this.#parts.claimer.noteDueAt(hint.at);
    } else if (hint.type === "task_due") {
      if (hint.namespace === namespace && options.queues.includes(hint.queue)) this.#parts.tasks.noteDue(hint.at);
    } else if (hint.type === "asked") {
      if (hint.namespace === namespace) this.#parts.queries.asked();
    } else if (hint.type === "task") this.#parts.tasks.onHint(hint);
    else if (hint.type === "inbox") this.#parts.held.pull(hint.runId);
    else if (hint.type === "taken" && hint.workerId === this.#parts.lease.workerId) this.#parts.held.taken(hint.runId);
  }

  #onHeartbeat(result: HeartbeatResult): void {
    this.#parts.lines.flush();
    this.#parts.reportLevels();
    this.#guard?.report();
    this.#parts.leader.told(result.leads);
    this.#parts.housekeeper.told(result.leads !== undefined && this.#state === "running");
    for (const runId of result.behind) this.#parts.held.pull(runId);
    void this.#parts.reconciler.compare(result.heldCount);
    this.#parts.tasks.onHeartbeat(result);
    void this.#sendRates();
    if (result.drain && this.#state === "running") {
      this.#params.ports.log.info({ worker: this.name }, "this worker was asked to drain");
      void this.drain();
    }
  }
}

function workerInPool(name: string): HoldfastError {
  return new HoldfastError(
    "task_pool_failed",
    `Worker "${name}" was started in a process of a task pool. The module of the pool must only define tasks: start workers elsewhere.`,
  );
}
