/**
 * A worker: claims runs and executes them. It owns which runs it holds; its parts own the rest: lease (may effects start),
 * claimer (fill the slots), committer (write), sweeper (reclaim the runs of dead workers).
 */

import type { Lifetime } from "../../calls/lifetime.ts";
import { type LimitedWait, limitedWait } from "../../calls/limited-wait.ts";
import type { PortsBundle } from "../../calls/ports-bundle.ts";
import type { RunEnds } from "../../calls/run-ends.ts";
import type { StoreTime } from "../../calls/store-time.ts";
import type { AnyWorkflow } from "../../define/definitions.ts";
import type { LiveRun } from "../../model/live-run.ts";
import type { Hint } from "../../ports/notifier.ts";
import type { HeartbeatResult } from "../../ports/store.ts";
import { RepeatedLines } from "../../report/repeated-lines.ts";
import { drainOnSignals } from "../../system/shutdown-signals.ts";
import { Claimer } from "../claim/claimer.ts";
import { HeldRuns } from "../claim/held-runs.ts";
import { InboxReader } from "../claim/inbox-reader.ts";
import { Slots } from "../claim/slots.ts";
import { SoloRule } from "../claim/solo-rule.ts";
import { WorkflowRegistry } from "../code/workflow-registry.ts";
import { Committer } from "../commit/committer.ts";
import { type ExecutorHost, executorHost, type Leaving } from "../execute/executor-host.ts";
import type { HeldRun } from "../execute/held-run.ts";
import { Lease } from "../lease/lease.ts";
import { Reconciler } from "../lease/reconciler.ts";
import { Registration } from "../lease/registration.ts";
import { stopWorker } from "../lease/sign-on.ts";
import { Sweeper } from "../lease/sweeper.ts";
import { announceVersions } from "./announce-versions.ts";
import { Guard } from "./rejection-guard.ts";
import { reportLeaving } from "./report-leaving.ts";
import type { SlotReservation } from "./slot-reservation.ts";
import type { ResolvedWorkerOptions } from "./worker-options.ts";

export interface WorkerParams {
  readonly ports: PortsBundle;
  readonly namespace: string;
  readonly options: ResolvedWorkerOptions;
  readonly storeTime: StoreTime;
  readonly ends: RunEnds;
  readonly life: Lifetime;
  /** It has drained on a signal, and the process must end. */
  readonly onSignaled?: () => void;
}

/** Runs workflows in this process. Made by `hf.worker`. */
export class Worker {
  /** Its given name, or the name of the program and a number: `server-1` for `server.ts`. */
  readonly name: string;
  readonly #params: WorkerParams;
  readonly #registry: WorkflowRegistry;
  readonly #held: HeldRuns;
  readonly #lease: Lease;
  readonly #registration: Registration;
  readonly #claimer: Claimer;
  readonly #committer: Committer;
  readonly #sweeper: Sweeper;
  readonly #inbox: InboxReader;
  readonly #reconciler: Reconciler;
  readonly #slots: Slots;
  readonly #solo: SoloRule;
  readonly #lines: RepeatedLines;
  readonly #host: ExecutorHost;
  #state: "stopped" | "starting" | "running" | "draining" = "stopped";
  /** The start or stop in progress, or the last one. */
  #life: Promise<void> = Promise.resolve();
  #leaving: LimitedWait | undefined;
  #starts = 0;
  #guard: Guard | undefined;
  #cleanups: (() => void)[] = [];

  constructor(params: WorkerParams) {
    const { ports, namespace, options, storeTime } = params;
    const { clock, random, store, log } = ports;
    this.#params = params;
    this.name = options.name;
    this.#registry = new WorkflowRegistry(options.workflows, ports.environment);
    this.#held = new HeldRuns({
      ports,
      registry: this.#registry,
      cacheSize: options.cacheSize,
      host: () => this.#host,
      workerId: () => this.#lease.workerId,
      onLeft: (runId) => this.#onLeft(runId),
    });
    this.#solo = new SoloRule(clock);
    this.#lines = new RepeatedLines(ports);
    const { leaseMs, tuning } = options;
    this.#sweeper = new Sweeper({
      clock,
      store,
      log,
      leaseMs,
      suspectAfter: tuning.suspectAfter,
      parkAfter: tuning.parkAfter,
      probe: () => this.#lease.probe(),
      // Workers with the old code may have parked runs since.
      onSwept: () => this.#claimer.lookForParked(),
    });
    this.#inbox = new InboxReader({ clock, random, store, log });
    this.#lease = new Lease({
      clock,
      store,
      storeTime,
      log,
      namespace,
      leaseMs,
      draining: () => this.#isDraining(),
      onHeartbeat: (result) => this.#onHeartbeat(result),
      onOutage: () => this.#sweeper.noteOutage(),
      onRegained: () => this.#pokeAll(),
      onDead: () => void this.#onDead(),
    });
    const [lease, sweeper] = [this.#lease, this.#sweeper];
    this.#registration = new Registration({ ...params, workflows: this.#offers(), lease, sweeper });
    const { flushesInFlightMax, runsPerFlushMax, eventsPerFlushMax } = tuning;
    this.#committer = new Committer({
      clock,
      random,
      store,
      storeTime,
      flushesInFlightMax: Math.min(flushesInFlightMax, ports.commitsInFlightMax ?? flushesInFlightMax),
      runsPerFlushMax,
      eventsPerFlushMax,
      telemetry: ports.telemetry,
    });
    this.#claimer = this.#makeClaimer();
    const [registry, held, claimer, solo] = [this.#registry, this.#held, this.#claimer, this.#solo];
    this.#slots = new Slots({ ports, concurrency: options.concurrency, registry, held, lease, claimer, solo });
    const workerId = (): string => this.#lease.workerId;
    const askingSince = (): number | undefined => this.#slots.askingSince;
    this.#reconciler = new Reconciler({ clock, store, log, held, namespace, workerId, askingSince });
    this.#host = this.#makeHost();
  }

  /** Runs that this worker holds right now. */
  get activeRuns(): number {
    return this.#held.count;
  }

  /** @internal */
  holds(runId: string): boolean {
    return this.#held.has(runId);
  }

  /** @internal What is known here of a run that it holds. */
  look(runId: string): LiveRun | undefined {
    return this.#held.look(runId);
  }

  /** What it can run. */
  get workflows(): readonly AnyWorkflow[] {
    return this.#registry.all;
  }

  /** Its id in the store; a worker that registers again gets a new one. */
  get workerId(): string {
    return this.#lease.workerId;
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
      await announceVersions({ ...ports, life }, namespace, this.#registry.all, options.onChangedCode);
      await this.#register(false);
    } catch (error) {
      const unwanted = this.#isDraining();
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
    this.#sweeper.start();
    // Once this resolves, the fixed code has taken up the runs that it can.
    await this.#claimer.start();
    this.#tell("worker started", { queues: options.queues, workflows: this.#offers(), store: ports.place });
  }

  /** A call while it is in progress waits for the same end. */
  #windDown(waitMs: number): Promise<void> {
    if (this.#state === "stopped") return Promise.resolve();
    if (this.#state === "running") this.#life = this.#drain(waitMs);
    this.#state = "draining";
    return this.#life;
  }

  async #drain(waitMs: number): Promise<void> {
    this.#state = "draining";
    this.#tell(waitMs > 0 ? "worker draining" : "worker stopping", { runs: this.#held.count });
    this.#claimer.stop();
    this.#sweeper.stop();
    this.#pokeAll();
    if (waitMs > 0) {
      if (this.#held.count > 0) this.#lease.report();
      this.#leaving = limitedWait(this.#params.ports.clock, this.#held.untilEmpty(), waitMs);
      await this.#leaving.over;
    }
    // Finished steps are recorded before anything is dropped.
    await this.#untilFlushed();
    await this.#shutDown();
  }

  async #shutDown(): Promise<void> {
    const { ports } = this.#params;
    const workerId = this.#lease.workerId;
    this.#held.dropAll();
    // What was in flight before the drop is still written, as far as the fence allows.
    await this.#untilFlushed();
    this.#committer.abandon();
    // Includes what was claimed in the meantime: from here on, answers to claims find no worker.
    this.#held.dropAll();
    this.#lease.end();
    this.#claimer.abandon();
    this.#held.clearCache();
    this.#solo.reset();
    for (const cleanup of this.#cleanups.splice(0)) cleanup();
    await stopWorker(ports, { namespace: this.#params.namespace, workerId });
    this.#state = "stopped";
    this.#lines.flush(true);
    this.#tell("worker stopped", {});
  }

  #untilFlushed(): Promise<void> {
    return limitedWait(this.#params.ports.clock, this.#committer.untilIdle(), this.#params.options.drainTimeoutMs).over;
  }

  #tell(message: string, fields: object): void {
    this.#params.ports.log.info({ worker: this.name, ...fields }, message);
  }

  #offers(): string[] {
    return this.#registry.all.map(({ name, version }) => `${name}@${version}`);
  }

  #isDraining(): boolean {
    return this.#state === "draining";
  }

  /** `again`: it was declared dead although it is alive. */
  #register(again: boolean): Promise<void> {
    const starts = this.#starts;
    const unwanted = (): boolean => this.#starts !== starts || !["starting", "running"].includes(this.#state);
    return this.#registration.register(again, unwanted);
  }

  /** The store has declared this worker dead: its runs have been reclaimed. It starts over under a new id. */
  async #onDead(): Promise<void> {
    if (this.#state !== "running" && this.#state !== "draining") return;
    this.#params.ports.log.warn(
      { workerId: this.#lease.workerId, held: this.#held.count },
      "the store declared this worker dead; its runs were reclaimed, and it registers again under a new id",
    );
    this.#params.ports.environment?.workerIds.delete(this.#lease.workerId);
    this.#lease.end();
    this.#held.dropAll();
    this.#claimer.abandon();
    this.#committer.abandon();
    this.#solo.reset();
    await this.#registerAgain();
  }

  /** Never gives up: a worker without an id is of no use. */
  async #registerAgain(): Promise<void> {
    if (this.#state !== "running" || this.workerId !== "") return;
    const { clock, log } = this.#params.ports;
    try {
      await this.#register(true);
      this.#claimer.poke();
    } catch (error) {
      log.error({ error: String(error) }, "the store refuses to register this worker again; retrying");
      clock.setTimer(this.#params.options.leaseMs / 3, () => void this.#registerAgain()).unref?.();
    }
  }

  // Slots ---------------------------------------------------------------------------------------------------------------

  /** @internal A slot for a run that is about to be started here; undefined if none is free. */
  reserve(workflow: string, version: string, queue: string): SlotReservation | undefined {
    const fits = this.#registry.has(workflow, version) && this.#params.options.queues.includes(queue);
    return fits && this.#state === "running" ? this.#slots.reserve() : undefined;
  }

  /** @internal A run started here becomes due later. */
  noteDueAt(storeAt: number): void {
    this.#claimer.noteDueAt(storeAt);
  }

  #left(executor: HeldRun, leaving: Leaving): void {
    this.#held.left(executor);
    if (leaving.how === "suspended" && leaving.availableAt !== null) this.#claimer.noteDueAt(leaving.availableAt);
    // Its successor is due: no hint is needed here.
    if (leaving.how === "closed" && leaving.transition.type === "continue") this.#claimer.poke();
    reportLeaving(executor, leaving, { ...this.#params, lines: this.#lines });
  }

  #onLeft(runId: string): void {
    if (this.#solo.cleared(runId) || (this.#solo.wanted && this.#held.count === 0)) this.#claimer.poke();
    this.#claimer.slotFreed();
  }

  // Hints and heartbeats ------------------------------------------------------------------------------------------------

  #onHint(hint: Hint): void {
    const { namespace, options } = this.#params;
    if (hint.type === "due") {
      if (hint.namespace !== namespace || !options.queues.includes(hint.queue)) return;
      if (hint.at === undefined) this.#claimer.poke();
      else this.#claimer.noteDueAt(hint.at);
    } else if (hint.type === "inbox") this.#held.pull(hint.runId);
    else if (hint.type === "taken" && hint.workerId === this.#lease.workerId) this.#held.taken(hint.runId);
  }

  #onHeartbeat(result: HeartbeatResult): void {
    this.#lines.flush();
    this.#guard?.report();
    for (const runId of result.behind) this.#held.pull(runId);
    void this.#reconciler.compare(result.heldCount);
  }

  #pokeAll(): void {
    for (const executor of this.#held.all()) executor.poke();
  }

  // Assembly --------------------------------------------------------------------------------------------------------------

  #makeClaimer(): Claimer {
    const { ports, namespace, options, storeTime } = this.#params;
    const { clock, random, store, log } = ports;
    const { handlers } = this.#registry;
    return new Claimer({
      clock,
      random,
      store,
      storeTime,
      log,
      fallbackMs: options.tuning.claimFallbackMs,
      telemetry: ports.telemetry,
      base: () => ({ workerId: this.#lease.workerId, namespace, queues: options.queues, handlers }),
      freeSlots: () => this.#slots.free,
      mayTakeSuspect: () => this.#solo.wanted && this.#slots.allFree,
      onSuspectDue: () => this.#solo.want(),
      onClaimed: (run, messages) => this.#held.activate(run, messages),
      onSoloAnswered: (runId) => this.#solo.claimed(runId),
      onDead: () => void this.#onDead(),
    });
  }

  #makeHost(): ExecutorHost {
    return executorHost({
      ...this.#params,
      lines: this.#lines,
      committer: this.#committer,
      lease: this.#lease,
      inbox: this.#inbox,
      draining: () => this.#isDraining(),
      progressed: (executor) => {
        if (this.#solo.cleared(executor.runId)) this.#claimer.poke();
      },
      left: (executor, leaving) => this.#left(executor, leaving),
    });
  }
}
