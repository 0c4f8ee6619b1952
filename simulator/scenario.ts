/** One simulator run: a seed becomes a configuration, the configuration a scenario with faults, healing and an end. */
import process from "node:process";
import { isClosed } from "../packages/holdfast/src/model/run.ts";
import type { Logger } from "../packages/holdfast/src/ports/logger.ts";
import { Auditor } from "./auditor.ts";
import { Clerk } from "./clerk.ts";
import { SimTime } from "./clock.ts";
import type { Configuration } from "./configuration.ts";
import { crewOf, knownTasks, type Skills } from "./crew.ts";
import { Dice } from "./dice.ts";
import { Driver } from "./driver.ts";
import type { Evidence, Quiet } from "./evidence.ts";
import { withoutForks } from "./forked-runs.ts";
import { untilSettled } from "./liveness.ts";
import { SimNotifier } from "./notifier.ts";
import { Operator } from "./operator.ts";
import { drawPlan, type Plan } from "./plan.ts";
import { type AroundStore, SimProcess } from "./process.ts";
import { Steward } from "./steward.ts";
import { SimStore } from "./store/sim-store.ts";
import { TaskWorld } from "./task-world.ts";
import { TIMED, Timekeeper } from "./timekeeper.ts";
import { Trace } from "./trace.ts";
import { TroubleMaker } from "./trouble.ts";
import { watchdogOf } from "./watchdog.ts";
import { programWorkflow } from "./workload/index.ts";
import { executedTasks } from "./workload/task-definitions.ts";
import { World } from "./world.ts";

const TASKS_MAX = 600_000;

export interface Outcome {
  readonly evidence: Evidence;
  readonly trace: Trace;
  readonly counts: Readonly<Record<string, number>>;
  readonly virtualMs: number;
}

export class Scenario {
  readonly #configuration: Configuration;
  readonly #around: AroundStore | undefined;
  readonly #time: SimTime;
  readonly #trace = new Trace();
  readonly #store: SimStore;
  readonly #notifier: SimNotifier;
  readonly #world: World;
  readonly #taskWorld: TaskWorld;
  readonly #clerk: Clerk;
  readonly #driver: Driver;
  readonly #operator: Operator;
  readonly #auditor: Auditor;
  readonly #timekeeper: Timekeeper;
  readonly #steward: Steward;
  readonly #trouble: TroubleMaker;
  readonly #plan: Plan;
  readonly #dice: Dice;
  readonly #complaints: string[] = [];
  #workers: SimProcess[] = [];
  #clients: SimProcess[] = [];
  #names = 0;
  /** By process id, including those that are gone. */
  readonly #processes = new Map<number, SimProcess>();
  #generation = 0;
  #healed = false;
  #healedAt = 0;
  #listening = true;

  constructor(configuration: Configuration, around?: AroundStore) {
    const { seed, clocks, worker } = configuration;
    this.#configuration = configuration;
    this.#around = around;
    this.#dice = new Dice(`scenario ${seed}`);
    this.#time = new SimTime(new Dice(`order ${seed}`));
    this.#time.onCrash = (error) => this.#complain(`a task threw ${describe(error)}`);
    this.#notifier = new SimNotifier(this.#time, configuration.hints, new Dice(`hints ${seed}`));
    this.#store = new SimStore(this.#time, this.#notifier, configuration.store, new Dice(`store ${seed}`), this.#trace);
    const toleranceMs = 2 * clocks.driftMax * worker.leaseMs + 2;
    this.#world = new World(this.#trace, new Dice(`world ${seed}`), toleranceMs);
    this.#taskWorld = new TaskWorld(this.#store, this.#trace, toleranceMs);
    this.#plan = drawPlan(configuration);
    const outside = {
      time: this.#time,
      trace: this.#trace,
      anybody: () => this.#anybody(),
      complain: (text: string) => this.#complain(text),
    };
    const { state } = this.#store.memory;
    this.#driver = new Driver({ ...outside, state, dice: new Dice(`driver ${seed}`) });
    this.#operator = new Operator({ ...outside, state, dice: new Dice(`operations ${seed}`) });
    this.#store.watchdogWatch.expect(configuration.workload);
    this.#store.operationWatch.onParked = (row) => this.#operator.look(row);
    this.#auditor = new Auditor({ ...outside, store: this.#store, dice: new Dice(`auditor ${seed}`) });
    this.#timekeeper = new Timekeeper({ ...outside, state, dice: new Dice(`timekeeper ${seed}`) });
    this.#steward = new Steward({ ...outside, dice: new Dice(`steward ${seed}`) });
    const over = (): boolean => this.#healed && this.#isDone();
    this.#clerk = new Clerk({ ...outside, store: this.#store, dice: new Dice(`clerk ${seed}`), over });
    this.#trouble = new TroubleMaker(
      configuration,
      {
        store: this.#store,
        processes: () => this.#workers,
        clients: () => this.#clients,
        deploy: () => this.#deploy(),
        offerSecond: (one) => this.#replace(one, true),
        note: (text) => this.#trace.add(this.#time.elapsedMs, "trouble", undefined, text),
      },
      new Dice(`trouble ${seed}`),
    );
  }

  async run(): Promise<Outcome> {
    const { safetyMs } = this.#configuration;
    const onRejection = (reason: unknown): void => this.#complain(`unhandled rejection: ${describe(reason)}`);
    process.on("unhandledRejection", onRejection);
    for (const skills of crewOf(this.#configuration)) this.#workers.push(this.#addWorker(false, skills));
    this.#clients.push(this.#addProcess("client", false));
    this.#driver.begin(this.#plan.runs);
    if (this.#plan.tasks.length > 0) this.#clerk.begin();
    if (this.#configuration.workload.talks) this.#driver.talkers.mingle(() => this.#healed);
    const { operatorMs, forksMs } = this.#configuration.workload;
    const cancelable = new Set(this.#plan.runs.flatMap(({ id, cancelAtMs }) => (cancelAtMs === undefined ? [] : [id])));
    if (operatorMs > 0) this.#operator.begin(operatorMs, cancelable, () => this.#healed);
    if (forksMs > 0)
      this.#operator.beginForks(forksMs, new Dice(`forks ${this.#configuration.seed}`), () => this.#healed);
    const { segments, limits } = this.#configuration;
    if (segments.eventsPerSegment > 0 && segments.auditMs > 0) this.#auditor.begin(segments, () => this.#healed);
    this.#timekeeper.begin(() => this.#healed);
    if (limits.keys > 0) this.#steward.begin(this.#configuration, () => this.#healed);
    this.#trouble.start();
    await this.#time.run(() => this.#time.elapsedMs >= safetyMs || this.#exhausted());
    this.#heal();
    await untilSettled(this.#time, this.#store.memory.state, () => this.#isDone() || this.#exhausted());
    const settled = this.#isDone();
    const quiet = settled ? await this.#watchQuiet() : undefined;
    this.#store.lockWatch.close(settled);
    this.#store.limitWatch.close(settled);
    this.#listening = false;
    process.off("unhandledRejection", onRejection);
    for (const one of [...this.#workers, ...this.#clients]) one.end();
    return this.#outcome(settled, quiet);
  }

  #exhausted(): boolean {
    return this.#time.tasks > TASKS_MAX;
  }

  #heal(): void {
    this.#healed = true;
    this.#healedAt = this.#time.elapsedMs;
    this.#trace.add(this.#time.elapsedMs, "trouble", undefined, "all is well");
    this.#world.mended = true;
    this.#taskWorld.mended = true;
    this.#clerk.mended = true;
    this.#notifier.settings = { lost: 0, doubled: 0, late: 0, lateMs: 0 };
    this.#trouble.heal();
    // At least one worker has all the code; the others stay as they are.
    const alive = this.#workers.filter((one) => !one.dead && one.skills?.workflows);
    if (alive[0] && !alive.some((one) => one.offersSecond)) this.#replace(alive[0], true);
    this.#driver.tend(this.#plan.runs, () => this.#isDone());
  }

  #isDone(): boolean {
    if (this.#driver.unfinished.length > 0 || this.#clerk.busy || this.#operator.busy) return false;
    if (this.#timekeeper.busy || this.#auditor.busy || this.#steward.busy) return false;
    for (const row of this.#store.memory.state.runs.values())
      if (row.namespace !== TIMED && (!isClosed(row.status) || this.#driver.isToBeRetried(row))) return false;
    return true;
  }

  /** When nothing is left to do, next to nothing may happen. */
  async #watchQuiet(): Promise<Quiet> {
    const { leaseMs, claimFallbackMs } = this.#configuration.worker;
    // Earlier calls may still arrive, and their effects be put right.
    const settleAt = Math.max(this.#time.elapsedMs, this.#healedAt + 20_000) + 4 * leaseMs;
    await this.#time.run(() => this.#time.elapsedMs >= settleAt || this.#exhausted());
    const { calls } = this.#store.memory;
    const before = { ...calls };
    const ms = 8 * leaseMs;
    const until = this.#time.elapsedMs + ms;
    await this.#time.run(() => this.#time.elapsedMs >= until || this.#exhausted());
    const made = Object.entries(calls).map(([name, count]) => [name, count - ((before as never)[name] ?? 0)]);
    return {
      ms,
      workers: this.#workers.length,
      leaseMs,
      fallbackMs: claimFallbackMs,
      calls: Object.fromEntries(made) as Record<string, number>,
    };
  }

  // Processes -----------------------------------------------------------------------------------------------------------

  /** `role`: the name of its worker; a replacement process keeps it. */
  #addProcess(kind: string, offersSecond: boolean, skills?: Skills, role?: string): SimProcess {
    const { seed, clocks } = this.#configuration;
    this.#names += 1;
    const name = `${kind}${this.#names}`;
    const one = new SimProcess(
      {
        name,
        role: role ?? name,
        pid: this.#names,
        isGone: (pid) => this.#processes.get(pid)?.dead ?? true,
        time: this.#time,
        store: this.#store,
        notifier: this.#notifier,
        log: this.#log,
        seed: `${seed}`,
        eventsPerSegment: this.#configuration.segments.eventsPerSegment,
        rate: 1 + this.#dice.between(-1, 1) * clocks.driftMax,
        skewMs: Math.floor(this.#dice.between(-1, 1) * clocks.skewMsMax),
        generation: this.#generation,
        offersSecond,
        skills,
        around: this.#around,
      },
      (killed) => this.#onKilled(killed),
    );
    this.#processes.set(one.pid, one);
    return one;
  }

  #addWorker(offersSecond: boolean, skills: Skills, role?: string): SimProcess {
    const one = this.#addProcess("p", offersSecond, skills, role);
    const stage = this.#world.stage(one);
    const programs = skills.workflows ? this.#plan.programs : [];
    const offered = programs.filter((program) => offersSecond || program.version === "1");
    const tasks = executedTasks(knownTasks(skills, this.#plan.tasks), this.#taskWorld.work(one, skills));
    const { worker, workload } = this.#configuration;
    one.makeWorker({
      workflows: offered.map((program) => programWorkflow(program, stage)),
      tasks,
      queues: skills.queues,
      labels: skills.labels,
      name: one.role,
      taskConcurrency: worker.taskConcurrency,
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
        taskHoldMs: worker.taskHoldMs,
      },
    });
    this.#boot(one);
    return one;
  }

  #boot(one: SimProcess): void {
    if (one.dead) return;
    // A worker that cannot reach the store for long gives up, and its supervisor starts it again.
    one.worker?.start().catch(() => void this.#time.at(500, () => this.#boot(one)));
  }

  /** Acts as the supervisor: a process that dies comes back. */
  #onKilled(dead: SimProcess): void {
    this.#trace.add(this.#time.elapsedMs, dead.name, undefined, "dies");
    const isClient = this.#clients.includes(dead);
    const afterMs = this.#healed ? 200 : this.#dice.between(0, 2) * this.#configuration.worker.leaseMs;
    this.#time.at(afterMs, () => {
      if (!this.#listening) return;
      if (isClient)
        this.#clients = this.#clients.map((one) => (one === dead ? this.#addProcess("client", false) : one));
      else
        this.#workers = this.#workers.map((one) =>
          one === dead ? this.#again(dead, dead.offersSecond || this.#healed) : one,
        );
    });
  }

  /** The same worker in a new process. */
  #again({ skills, role }: SimProcess, offersSecond: boolean): SimProcess {
    return this.#addWorker(offersSecond, skills as Skills, role);
  }

  /** Stops or kills the process and starts it again with other code. */
  #replace(old: SimProcess, offersSecond: boolean): void {
    const swap = (): void => {
      if (!this.#workers.includes(old) || !this.#listening) return;
      const fresh = this.#again(old, offersSecond);
      this.#workers = this.#workers.map((one) => (one === old ? fresh : one));
      old.end();
    };
    if (old.dead) return;
    if (this.#dice.chance(0.5)) return swap();
    old.thaw();
    old.connection.reconnect();
    void Promise.race([old.worker?.drain(), this.#time.wait(10_000)]).then(swap);
  }

  /** Deploys new code everywhere at once: no process keeps the old code. */
  #deploy(): void {
    if (this.#generation > 0) return;
    this.#generation = 1;
    for (const old of [...this.#workers]) {
      old.end();
      const fresh = this.#again(old, old.offersSecond);
      this.#workers = this.#workers.map((one) => (one === old ? fresh : one));
    }
  }

  #anybody(): SimProcess | undefined {
    const alive = [...this.#workers, ...this.#clients].filter((one) => !one.dead);
    return alive.length === 0 ? undefined : this.#dice.pick(alive);
  }

  // Evidence ------------------------------------------------------------------------------------------------------------

  readonly #log: Logger = {
    debug() {},
    info() {},
    warn() {},
    error: (fields, message) => {
      if (message.startsWith("the packed copy of")) return this.#store.segmentWatch.reported(fields as never);
      if (!/run parked|claimed run|restarts a run no more/.test(message))
        this.#complain(`${message} ${JSON.stringify(fields)}`);
    },
  };

  #complain(text: string): void {
    if (!this.#listening) return;
    this.#complaints.push(text);
    this.#trace.add(this.#time.elapsedMs, "engine", undefined, `complains: ${text.slice(0, 200)}`);
  }

  #outcome(settled: boolean, quiet: Quiet | undefined): Outcome {
    const { state } = this.#store.memory;
    const untimed = [...state.runs.values()].filter(({ namespace }) => namespace !== TIMED);
    const all = untimed.map((run) => ({ run, history: state.events.get(run.runId) ?? [] }));
    const { acks, letters, talkers, unfinished } = this.#driver;
    const { runs, own, forks } = withoutForks(all);
    const evidence: Evidence = {
      runs,
      forks: {
        runs: forks,
        effects: this.#world.effects.filter((one) => !own(one)),
        commits: this.#store.recorder.commits.filter((one) => !own(one)),
      },
      settled,
      inboxes: state.inbox,
      effects: this.#world.effects.filter(own),
      ledger: this.#world.ledger.filter(own),
      commits: this.#store.recorder.commits.filter(own),
      executions: this.#taskWorld.executions.filter(own),
      taskChanges: this.#store.taskWatch.changes.filter(own),
      taskAccounts: this.#store.taskWatch.accounts.filter(own),
      tokenAnswers: this.#clerk.answers,
      births: this.#store.talkWatch.births
        .filter(own)
        .filter(({ runId }) => state.runs.get(runId)?.namespace !== TIMED),
      openDebts: quiet ? this.#store.talkWatch.open : [],
      updateAnswers: talkers.updates,
      queryAnswers: talkers.queries.filter(({ sketch }) => own(sketch)),
      meddlings: talkers.meddlings,
      segmentFaults: [...this.#store.segmentWatch.faults, ...this.#auditor.faults],
      ...this.#store.seen,
      operationFaults: [...this.#store.operationWatch.faults, ...this.#operator.faults],
      acks,
      letters,
      ...(quiet ? { quiet } : {}),
      complaints: [...this.#complaints, ...this.#store.complaints],
      programs: new Map(this.#plan.programs.map((one) => [`${one.workflow}@${one.version}`, one])),
      unfinished,
    };
    const events = runs.reduce((sum, { history }) => sum + history.length, 0);
    const counts = { runs: runs.length, events, ...this.#counts() };
    return { evidence, trace: this.#trace, counts, virtualMs: this.#time.elapsedMs };
  }

  #counts(): Outcome["counts"] {
    const { talkers } = this.#driver;
    return {
      effects: this.#world.effects.length,
      executions: this.#taskWorld.executions.length,
      tokens: this.#clerk.answers.length,
      updates: talkers.updates.length,
      queries: talkers.queries.length,
      operations: this.#operator.count,
      audits: this.#auditor.count,
      troubles: this.#trouble.count,
      tasks: this.#time.tasks,
      ...this.#store.counts,
    };
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? `${error.stack ?? error}` : String(error);
}
