/**
 * Runs that move between stores: two or three stores, each with workers and faults of its own, and movers between them that die
 * at any call, while everything that has ended is deleted soon. The same checkers judge it, over all stores together.
 */
import process from "node:process";
import type { RetentionRules } from "../../packages/holdfast/src/model/retention.ts";
import { isClosed } from "../../packages/holdfast/src/model/run.ts";
import type { Logger } from "../../packages/holdfast/src/ports/logger.ts";
import { SimTime } from "../clock.ts";
import type { Configuration } from "../configuration.ts";
import type { Skills } from "../crew.ts";
import { Dice } from "../dice.ts";
import type { Evidence } from "../evidence.ts";
import { SimNotifier } from "../notifier.ts";
import { drawPlan, type Plan } from "../plan.ts";
import { SimProcess } from "../process.ts";
import { SimStore } from "../store/sim-store.ts";
import type { Trace } from "../trace.ts";
import { TroubleMaker } from "../trouble.ts";
import { watchdogOf } from "../watchdog.ts";
import { programWorkflow } from "../workload/index.ts";
import { World } from "../world.ts";
import { Courier } from "./courier.ts";
import { Hauler, type Yard } from "./hauler.ts";
import { movingWorkload } from "./moving-workload.ts";
import { Whereabouts } from "./whereabouts.ts";

const LIVENESS_MS_MAX = 20 * 60_000;
const TASKS_MAX = 600_000;
/** Longer than a late copy of a call is on its way. */
const KEPT_MS_MIN = 6_000;
const KEPT_MS_MAX = 20_000;
const ENDS = ["completed", "failed", "canceled", "terminated", "timed_out", "continued"] as const;
const SKILLS: Skills = { workflows: true, tasks: false, half: false, queues: ["default"], labels: {} };

/** A store with its workers. */
interface Site extends Yard {
  workers: SimProcess[];
  readonly trouble: TroubleMaker;
}

export interface MoveOutcome {
  readonly evidence: Evidence;
  readonly counts: Readonly<Record<string, number>>;
}

export class MoveScenario {
  readonly #configuration: Configuration;
  readonly #time: SimTime;
  readonly #trace: Trace;
  readonly #dice: Dice;
  readonly #plan: Plan;
  readonly #world: World;
  readonly #sites: readonly Site[];
  readonly #whereabouts: Whereabouts;
  readonly #hauler: Hauler;
  readonly #courier: Courier<Site>;
  readonly #processes = new Map<number, SimProcess>();
  readonly #complaints: string[] = [];
  #names = 0;
  #healed = false;
  #listening = true;

  constructor(given: Configuration, trace: Trace) {
    const configuration = movingWorkload(given);
    const { seed, clocks, worker, moves } = configuration;
    this.#configuration = configuration;
    this.#trace = trace;
    this.#dice = new Dice(`moves ${seed}`);
    this.#time = new SimTime(new Dice(`order of moves ${seed}`));
    this.#time.onCrash = (error) => this.#complain(`a task threw ${error}`);
    this.#plan = drawPlan(configuration);
    const toleranceMs = 2 * clocks.driftMax * worker.leaseMs + 2;
    this.#world = new World(trace, new Dice(`moving world ${seed}`), toleranceMs);
    this.#sites = Array.from({ length: moves.stores }, (_, i) => this.#addSite(`store ${i + 1}`));
    this.#whereabouts = new Whereabouts(this.#sites);
    for (const { store } of this.#sites) store.onApplied = (method) => this.#whereabouts.note(method);
    const outside = { time: this.#time, trace, complain: (text: string) => this.#complain(text) };
    this.#hauler = new Hauler({
      ...outside,
      dice: new Dice(`movers ${seed}`),
      yards: this.#sites,
      addProcess: (at) => this.#addProcess("mover", at, undefined, () => {}),
    });
    this.#courier = new Courier({
      ...outside,
      dice: new Dice(`couriers ${seed}`),
      places: this.#sites,
      whereabouts: this.#whereabouts,
      anybody: (site) => this.#anybody(site),
    });
  }

  async run(): Promise<MoveOutcome> {
    const { safetyMs, workers, moves } = this.#configuration;
    const onRejection = (reason: unknown): void => this.#complain(`unhandled rejection: ${reason}`);
    process.on("unhandledRejection", onRejection);
    for (const site of this.#sites) {
      for (let i = 0; i < Math.min(workers, 2); i++) site.workers.push(this.#addWorker(site));
      site.trouble.start();
    }
    this.#courier.begin(this.#plan.runs);
    this.#hauler.begin(moves.movers, () => this.#healed);
    if (moves.retention) this.#keepHouse();
    await this.#time.run(() => this.#time.elapsedMs >= safetyMs || this.#exhausted());
    this.#heal();
    const limit = this.#time.elapsedMs + LIVENESS_MS_MAX;
    await this.#time.run(() => this.#isDone() || this.#time.elapsedMs >= limit || this.#exhausted());
    const settled = this.#isDone();
    this.#listening = false;
    process.off("unhandledRejection", onRejection);
    for (const { workers: all } of this.#sites) for (const one of all) one.end();
    return this.#outcome(settled);
  }

  #heal(): void {
    this.#healed = true;
    this.#trace.add(this.#time.elapsedMs, "trouble", undefined, "all is well");
    this.#world.mended = true;
    for (const { notifier, trouble } of this.#sites) {
      notifier.settings = { lost: 0, doubled: 0, late: 0, lateMs: 0 };
      trouble.heal();
    }
    // Movers that are still at it come to their end first, or are given up.
    const finish = (): void => {
      if (this.#hauler.busy) this.#time.at(500, finish);
      else this.#hauler.finish();
    };
    finish();
    this.#courier.tend(() => this.#isDone());
  }

  #isDone(): boolean {
    if (!this.#healed || this.#hauler.busy || !this.#hauler.finished || this.#courier.unfinished.length > 0)
      return false;
    return this.#sites.every(({ store }) =>
      [...store.memory.state.runs.values()].every(({ status }) => isClosed(status)),
    );
  }

  #exhausted(): boolean {
    return this.#time.tasks > TASKS_MAX;
  }

  /** Rules are set again and again, each time others: the leader of a store begins a round whenever they change. */
  #keepHouse(): void {
    const dice = new Dice(`housekeeping ${this.#configuration.seed}`);
    const look = (): void => {
      if (!this.#listening) return;
      const site = dice.pick(this.#sites);
      const kept = ENDS.filter(() => dice.chance(0.7)).map((status) => [status, dice.int(KEPT_MS_MIN, KEPT_MS_MAX)]);
      const rules = { ...Object.fromEntries(kept), moved: KEPT_MS_MIN } as RetentionRules;
      const somebody = this.#anybody(site);
      somebody?.ports.store.retention.set({ namespace: "default", rules }).catch(() => {});
      this.#time.at(dice.between(500, 4_000), look);
    };
    look();
  }

  // Stores and processes ------------------------------------------------------------------------------------------------

  #addSite(name: string): Site {
    const { seed, hints, store: settings } = this.#configuration;
    const notifier = new SimNotifier(this.#time, hints, new Dice(`hints ${seed} ${name}`));
    const store = new SimStore(this.#time, notifier, settings, new Dice(`${name} ${seed}`), this.#trace);
    store.purgeWatch.keptMsMin = KEPT_MS_MIN;
    store.watchdogWatch.expect(this.#configuration.workload);
    const workers: SimProcess[] = [];
    const trouble = new TroubleMaker(
      this.#configuration,
      {
        store,
        processes: () => site.workers,
        clients: () => [],
        deploy: () => {},
        offerSecond: (one) => void one.light(1),
        note: (text) => this.#trace.add(this.#time.elapsedMs, name, undefined, text),
      },
      new Dice(`trouble ${seed} ${name}`),
    );
    const site: Site = { name, store, notifier, workers, trouble };
    return site;
  }

  #addProcess(
    kind: string,
    { store, notifier }: Yard,
    skills: Skills | undefined,
    onKilled: (one: SimProcess) => void,
  ) {
    const { seed, clocks, segments } = this.#configuration;
    this.#names += 1;
    const name = `${kind}${this.#names}`;
    const params = {
      name,
      role: name,
      pid: this.#names,
      isGone: (pid: number) => this.#processes.get(pid)?.dead ?? true,
      ...{ time: this.#time, store, notifier, log: this.#log, seed: `moves ${seed}` },
      eventsPerSegment: segments.eventsPerSegment,
      rate: 1 + this.#dice.between(-1, 1) * clocks.driftMax,
      skewMs: Math.floor(this.#dice.between(-1, 1) * clocks.skewMsMax),
      generation: 0,
      offersSecond: true,
      skills,
    };
    const one = new SimProcess(params, onKilled);
    this.#processes.set(one.pid, one);
    return one;
  }

  #addWorker(site: Site): SimProcess {
    const one = this.#addProcess("p", site, SKILLS, (dead) => this.#onKilled(site, dead));
    const stage = this.#world.stage(one);
    const { worker, workload } = this.#configuration;
    one.makeWorker({
      workflows: this.#plan.programs.map((program) => programWorkflow(program, stage)),
      name: one.role,
      concurrency: worker.concurrency,
      cacheSize: worker.cacheSize,
      lease: { milliseconds: worker.leaseMs },
      watchdog: watchdogOf(workload),
      drainTimeout: { milliseconds: worker.drainMs },
      tuning: {
        flushesInFlightMax: worker.flushesInFlightMax,
        runsPerFlushMax: worker.runsPerFlushMax,
        eventsPerFlushMax: worker.eventsPerFlushMax,
        eventsPerHoldMax: worker.eventsPerHoldMax === 0 ? Number.POSITIVE_INFINITY : worker.eventsPerHoldMax,
        windUpMs: worker.windUpMs,
        claimFallbackMs: worker.claimFallbackMs,
        suspectAfter: worker.suspectAfter,
        parkAfter: worker.parkAfter,
      },
    });
    this.#boot(one);
    return one;
  }

  #boot(one: SimProcess): void {
    if (one.dead) return;
    one.worker?.start().catch(() => void this.#time.at(500, () => this.#boot(one)));
  }

  #onKilled(site: Site, dead: SimProcess): void {
    this.#trace.add(this.#time.elapsedMs, dead.name, undefined, "dies");
    const afterMs = this.#healed ? 200 : this.#dice.between(0, 2) * this.#configuration.worker.leaseMs;
    this.#time.at(afterMs, () => {
      if (!this.#listening) return;
      const fresh = this.#addWorker(site);
      site.workers = site.workers.map((one) => (one === dead ? fresh : one));
    });
  }

  #anybody({ workers }: Site): SimProcess | undefined {
    const alive = workers.filter((one) => !one.dead);
    return alive.length === 0 ? undefined : this.#dice.pick(alive);
  }

  // Evidence ------------------------------------------------------------------------------------------------------------

  readonly #log: Logger = {
    debug() {},
    info() {},
    warn() {},
    error: (fields, message) => {
      if (!/run parked|claimed run|restarts a run no more/.test(message))
        this.#complain(`${message} ${JSON.stringify(fields)}`);
    },
  };

  #complain(text: string): void {
    if (!this.#listening) return;
    this.#complaints.push(text);
    this.#trace.add(this.#time.elapsedMs, "engine", undefined, `complains: ${text.slice(0, 200)}`);
  }

  #outcome(settled: boolean): MoveOutcome {
    const runs = this.#whereabouts.close(settled);
    const stores = this.#sites.map(({ store }) => store);
    const commits = stores.flatMap(({ recorder }) => recorder.commits).sort((a, b) => a.at - b.at);
    const evidence: Evidence = {
      runs,
      settled,
      inboxes: new Map(runs.map(({ run, inbox }) => [run.runId, inbox])),
      effects: this.#world.effects,
      ledger: this.#world.ledger,
      commits,
      acks: this.#courier.acks,
      letters: this.#courier.letters,
      moveFaults: this.#whereabouts.faults,
      purgeFaults: stores.flatMap(({ purgeWatch }) => purgeWatch.faults),
      watchdogFaults: stores.flatMap(({ watchdogWatch }) => watchdogWatch.faults),
      complaints: [...this.#complaints, ...stores.flatMap(({ complaints }) => complaints)],
      programs: new Map(this.#plan.programs.map((one) => [`${one.workflow}@${one.version}`, one])),
      unfinished: this.#courier.unfinished,
    };
    const counts = {
      movingRuns: runs.length,
      moved: this.#hauler.moved,
      moverDeaths: this.#hauler.deaths,
      arrivals: this.#whereabouts.arrivals,
      purged: stores.reduce((sum, { purgeWatch }) => sum + purgeWatch.purged.length, 0),
    };
    return { evidence, counts };
  }
}
