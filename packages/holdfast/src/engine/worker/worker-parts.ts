/** The parts of a worker, assembled: who knows whom, and what each of them is told when something happens to another. */

import type { Lifetime } from "../../calls/lifetime.ts";
import type { Payer } from "../../calls/payer.ts";
import type { PortsBundle } from "../../calls/ports-bundle.ts";
import type { RunEnds } from "../../calls/run-ends.ts";
import type { StoreTime } from "../../calls/store-time.ts";
import { resumeNote } from "../../model/operator-notes.ts";
import type { WorkerLoad } from "../../model/worker-row.ts";
import type { HeartbeatResult } from "../../ports/store.ts";
import type { RunDeparture } from "../../replay/machine.ts";
import { RepeatedLines } from "../../report/repeated-lines.ts";
import { NearChildren } from "../children/near-ends.ts";
import { RunCaller, type RunCallerParams } from "../children/run-caller.ts";
import { Claimer } from "../claim/claimer.ts";
import { HeldRuns } from "../claim/held-runs.ts";
import { InboxReader } from "../claim/inbox-reader.ts";
import { Slots } from "../claim/slots.ts";
import { SoloRule } from "../claim/solo-rule.ts";
import { WorkflowRegistry } from "../code/workflow-registry.ts";
import { Committer } from "../commit/committer.ts";
import { repliesIn } from "../commit/replies.ts";
import { type ExecutorHost, executorHost } from "../execute/executor-host.ts";
import type { HeldRun, Leaving } from "../execute/held-run.ts";
import { Housekeeper } from "../lead/housekeeper.ts";
import { Leader } from "../lead/leader.ts";
import { Lease } from "../lease/lease.ts";
import { Reconciler } from "../lease/reconciler.ts";
import { Registration } from "../lease/registration.ts";
import { Sweeper } from "../lease/sweeper.ts";
import { WorkerQueries } from "../queries/worker-queries.ts";
import type { LocalTasks } from "../tasks/local-tasks.ts";
import { WorkerTasks } from "../tasks/worker-tasks.ts";
import { Watchdog, type WatchdogParams } from "../watchdog/watchdog.ts";
import { Pace } from "./pace.ts";
import { RateCounter } from "./rate-counter.ts";
import { ReplayCheck } from "./replay-check.ts";
import { type Listeners, reportLeaving } from "./report-leaving.ts";
import type { ResolvedWorkerOptions } from "./worker-options.ts";

export interface WorkerPartsParams {
  readonly ports: PortsBundle;
  readonly namespace: string;
  readonly options: ResolvedWorkerOptions;
  readonly storeTime: StoreTime;
  readonly ends: RunEnds;
  readonly life: Lifetime;
  /** Pays what the runs of this worker come to owe to others. */
  readonly payer: Payer;
  /** The circles of runs that a run is in, or that it waits for. */
  readonly circlesOf: WatchdogParams["circlesOf"];
}

/** What the parts ask and tell the worker itself. */
export interface WorkerSelf {
  readonly draining: () => boolean;
  readonly onHeartbeat: (result: HeartbeatResult) => void;
  /** The store has declared the worker dead. */
  readonly onDead: () => void;
  /** The workers of this process that execute tasks. */
  readonly localTasks: LocalTasks;
  /** A slot of a worker of this process for a run that is about to be started. */
  readonly reserve: RunCallerParams["reserve"];
  readonly reserveDelivery: RunCallerParams["reserveDelivery"];
  readonly onDue: RunCallerParams["onDue"];
}

export class WorkerParts {
  readonly registry: WorkflowRegistry;
  readonly held: HeldRuns;
  readonly lease: Lease;
  readonly registration: Registration;
  readonly claimer: Claimer;
  readonly committer: Committer;
  readonly sweeper: Sweeper;
  readonly leader: Leader;
  readonly reconciler: Reconciler;
  readonly slots: Slots;
  readonly solo: SoloRule;
  readonly lines: RepeatedLines;
  readonly rates: RateCounter;
  readonly pace: Pace;
  readonly housekeeper: Housekeeper;
  readonly tasks: WorkerTasks;
  readonly queries: WorkerQueries;
  /** Undefined unless the worker is to check the runs that end here. */
  readonly replayCheck: ReplayCheck | undefined;
  readonly #params: WorkerPartsParams;
  readonly #self: WorkerSelf;
  readonly #inbox: InboxReader;
  readonly #near: NearChildren;
  readonly #host: ExecutorHost;
  /** Made once: every run leaves. */
  readonly #listeners: Listeners;

  constructor(params: WorkerPartsParams, self: WorkerSelf) {
    const { ports, namespace, options } = params;
    const { clock, random, store, log } = ports;
    this.#params = params;
    this.#self = self;
    this.registry = new WorkflowRegistry(options.workflows, ports.environment, ports.codec.name);
    this.replayCheck = options.verifyReplay && new ReplayCheck(ports, this.registry, options.verifyReplay);
    this.solo = new SoloRule(clock);
    this.lines = new RepeatedLines(ports);
    this.pace = new Pace(() => clock.monotonic());
    this.rates = new RateCounter({ store, log, storeTime: params.storeTime });
    this.housekeeper = new Housekeeper({ store, log, storeTime: params.storeTime });
    const { ends, storeTime } = params;
    this.#listeners = { ports, ends, storeTime, lines: this.lines, rates: this.rates };
    this.held = new HeldRuns({
      ports,
      registry: this.registry,
      cacheSize: options.cacheSize,
      now: () => storeTime.now(),
      host: () => this.#host,
      workerId: () => this.lease.workerId,
      onLeft: (runId) => this.#onLeft(runId),
      onBegun: ({ workflow, continuedFrom }) => {
        if (continuedFrom === null) this.rates.started(workflow);
      },
    });
    this.#near = new NearChildren((runId) => this.held.has(runId));
    this.sweeper = this.#makeSweeper();
    this.#inbox = new InboxReader({ clock, random, store, log });
    this.leader = this.#makeLeader();
    this.lease = this.#makeLease();
    const { lease, sweeper, leader, registry, held, solo } = this;
    const tasks = options.tasks.map(({ name }) => name);
    this.registration = new Registration({ ...params, workflows: this.offers(), tasks, lease, sweeper, leader });
    this.committer = this.#makeCommitter();
    this.claimer = this.#makeClaimer();
    const { claimer } = this;
    const concurrency = (): number => registry.guests?.capacity() ?? options.concurrency;
    this.slots = new Slots({ ports, concurrency, registry, held, lease, claimer, solo });
    const workerId = (): string => this.lease.workerId;
    const askingSince = (): number | undefined => this.slots.askingSince;
    this.reconciler = new Reconciler({ clock, store, log, held, namespace, workerId, askingSince });
    this.tasks = this.#makeTasks();
    const active = (): boolean => lease.workerId !== "" && !self.draining();
    this.queries = new WorkerQueries({ ports, namespace, registry, held, active });
    this.#host = this.#makeHost();
  }

  /** What it can run, as `name@version`. */
  offers(): string[] {
    return this.registry.all.map(({ name, version }) => `${name}@${version}`);
  }

  /** How much it holds, for telemetry. */
  reportLevels(): void {
    const { ports, options } = this.#params;
    const labels = { worker: options.name };
    ports.telemetry?.level?.("runs_held", this.held.count, labels);
    ports.telemetry?.level?.("tasks_held", this.tasks.count, labels);
  }

  pokeAll(): void {
    for (const executor of this.held.all()) executor.poke();
  }

  #left(executor: HeldRun, leaving: Leaving): void {
    executor.machine.left(departure(leaving));
    this.queries.left(executor.runId);
    this.held.left(executor, leaving);
    this.#near.left(executor);
    if (leaving.how === "suspended" && leaving.availableAt !== null) this.claimer.noteDueAt(leaving.availableAt);
    // Its successor is due: no hint is needed here.
    if (leaving.how === "closed" && leaving.transition.type === "continue") this.claimer.poke();
    this.#host.stretches?.end(executor.runId, leaving);
    reportLeaving(executor, leaving, this.#listeners);
    if (this.replayCheck && leaving.how === "closed" && leaving.transition.type !== "park")
      this.replayCheck.ended(executor.run);
  }

  #onLeft(runId: string): void {
    const { solo, claimer } = this;
    const cleared = solo.cleared(runId);
    if (cleared || (solo.wants("run") && this.held.count === 0)) claimer.poke();
    claimer.slotFreed();
    if (cleared || solo.wants("task")) this.tasks.poke();
  }

  #makeSweeper(): Sweeper {
    const { ports, options } = this.#params;
    const { clock, store, log, telemetry } = ports;
    const { leaseMs, tuning } = options;
    const { suspectAfter, parkAfter } = tuning;
    return new Sweeper({
      clock,
      store,
      log,
      telemetry,
      leaseMs,
      suspectAfter,
      parkAfter,
      probe: () => this.lease.probe(),
      onSwept: ({ nextTaskExpiryAt, owes }) => {
        // Those who should have paid have died.
        if (owes) this.#params.payer.noteAny();
        // Workers with the old code may have parked runs since.
        this.claimer.lookForParked();
        if (nextTaskExpiryAt !== null) this.tasks.noteLimit(nextTaskExpiryAt);
      },
    });
  }

  #makeLeader(): Leader {
    const { ports, options, storeTime, payer } = this.#params;
    return new Leader({
      ...ports,
      storeTime,
      coordinates: options.coordinate,
      beat: () => this.lease.report(),
      onOwing: (run) => payer.note(run),
      watchdog: this.#makeWatchdog(),
    });
  }

  #makeWatchdog(): Watchdog | undefined {
    const { options } = this.#params;
    if (!options.watchdog) return undefined;
    return new Watchdog({ ...this.#params, options: options.watchdog, workerId: () => this.lease.workerId });
  }

  #makeLease(): Lease {
    const { ports, namespace, options, storeTime } = this.#params;
    const { clock, store, log, telemetry } = ports;
    return new Lease({
      clock,
      store,
      storeTime,
      log,
      telemetry,
      namespace,
      leaseMs: options.leaseMs,
      coordinates: options.coordinate,
      draining: this.#self.draining,
      load: (loopDelayMs) => this.#load(loopDelayMs),
      onHeartbeat: this.#self.onHeartbeat,
      onOutage: () => {
        this.sweeper.noteOutage();
        this.tasks.noteOutage();
      },
      onRegained: () => this.pokeAll(),
      onDead: this.#self.onDead,
    });
  }

  #load(loopDelayMs: number): WorkerLoad | undefined {
    const ofProcess = this.#params.ports.environment?.load?.();
    if (!ofProcess) return undefined;
    return { runs: this.held.count, tasks: this.tasks.count, loopDelayMs, ...ofProcess, pace: this.pace.take() };
  }

  #makeCommitter(): Committer {
    const { ports, options, storeTime } = this.#params;
    const { clock, random, store, telemetry } = ports;
    const { flushesInFlightMax, runsPerFlushMax, eventsPerFlushMax } = options.tuning;
    return new Committer({
      clock,
      random,
      store,
      storeTime,
      flushesInFlightMax: Math.min(flushesInFlightMax, ports.commitsInFlightMax ?? flushesInFlightMax),
      runsPerFlushMax,
      eventsPerFlushMax,
      telemetry,
    });
  }

  #makeClaimer(): Claimer {
    const { ports, namespace, options, storeTime } = this.#params;
    const { clock, random, store, log, telemetry } = ports;
    const { handlers } = this.registry;
    return new Claimer({
      clock,
      random,
      store,
      storeTime,
      log,
      fallbackMs: options.tuning.claimFallbackMs,
      telemetry,
      base: () => ({ workerId: this.lease.workerId, namespace, queues: options.queues, handlers }),
      takingUp: resumeNote({ by: `worker ${options.name}`, reason: "other code took the run up" }),
      freeSlots: () => this.slots.free,
      mayTakeSuspect: () => this.solo.wants("run") && this.slots.allFree && this.tasks.allFree,
      onSuspectDue: () => this.solo.want("run"),
      onClaimed: (run, messages) => this.held.activate(run, messages),
      onSoloAsked: () => this.solo.asked(),
      onSoloAnswered: (runId) => this.solo.claimed(runId),
      onDead: this.#self.onDead,
    });
  }

  #makeTasks(): WorkerTasks {
    return new WorkerTasks({
      ...this.#params,
      lease: this.lease,
      solo: this.solo,
      noRuns: () => this.slots.allFree && this.claimer.asking === 0,
      draining: this.#self.draining,
      onLeft: (freed) => {
        if (freed || this.solo.wants("run")) this.claimer.poke();
      },
      onDead: this.#self.onDead,
      lines: this.lines,
      pace: this.pace,
    });
  }

  #makeHost(): ExecutorHost {
    return executorHost({
      ...this.#params,
      lines: this.lines,
      pace: this.pace,
      committer: this.committer,
      lease: this.lease,
      inbox: this.#inbox,
      localTasks: this.#self.localTasks,
      others: new RunCaller({
        ...this.#params,
        reserve: this.#self.reserve,
        reserveDelivery: this.#self.reserveDelivery,
        hasChildren: (runId) => this.#near.knows(runId),
        onDue: this.#self.onDue,
        onOwing: (run, debt) => this.#params.payer.note(run, debt),
      }),
      near: this.#near,
      noteTaskLimit: (storeAt) => this.tasks.noteLimit(storeAt),
      draining: this.#self.draining,
      retried: ({ workflow }) => this.rates.retried(workflow),
      replied: (commit, machine) => {
        for (const reply of repliesIn(commit, machine)) this.#params.ends.publishReply(reply);
      },
      progressed: (executor) => {
        this.#params.ends.publishProgress(executor.runId);
        if (!this.solo.cleared(executor.runId)) return;
        this.claimer.poke();
        this.tasks.poke();
      },
      kept: (executor) => this.queries.kept(executor.runId),
      left: (executor, leaving) => this.#left(executor, leaving),
    });
  }
}

function departure(leaving: Leaving): RunDeparture {
  if (leaving.how !== "closed") return leaving.how;
  return leaving.transition.type === "park" ? "parked" : "ended";
}
