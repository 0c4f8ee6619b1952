/**
 * The long campaign: in each round, runs are started while faults are injected all around them; then the faults stop,
 * all runs must end, and the judge examines the whole round. The first round with findings is the last: its traces are
 * kept.
 */
import { rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { jsonCodec } from "holdfast";
import type { Debt } from "holdfast/adapter";
import { SeededSource } from "holdfast/testing";
import type { Only } from "./command-line.ts";
import { CONVERSATION_WORKLOADS } from "./conversation-workloads.ts";
import { type Disturbances, Disturber, type OwnServer } from "./disturber.ts";
import { Driver } from "./driver.ts";
import { readEffects } from "./effects-file.ts";
import { collectRuns, collectTasks, type Evidence } from "./evidence.ts";
import { examine } from "./examination.ts";
import type { Finding } from "./finding.ts";
import { Fleet } from "./fleet.ts";
import { addConversations, type ConversationCounts, NO_CONVERSATIONS } from "./judge-conversations.ts";
import { addCounts, NO_TASKS, type TaskCounts } from "./judge-tasks.ts";
import { createLedger, emptyLedger, readLedger } from "./ledger.ts";
import { untilQuiet } from "./quiet.ts";
import type { Stage } from "./stage.ts";
import { TASK_WORKLOADS } from "./task-workloads.ts";
import { openTortureClient, type TortureClient } from "./torture-client.ts";
import type { WorkerRole } from "./worker-messages.ts";
import { WORKLOADS } from "./workflows.ts";
import type { Workload } from "./workload.ts";

const LEASE_MS = 2_000;
const ROUND_MS = 40_000;
/** Once the faults have stopped, a run that does not end within this time counts as lost. */
const PEACE_MS = 60_000;
const OPEN_PER_WORKER = 12;
/** The share of starts that go through a worker process, which then holds the run from the first moment. */
const STARTS_THROUGH_WORKERS = 0.4;
/** What the worker processes work on, in turn. */
const ROLES: Readonly<Record<Only | "all", readonly WorkerRole[]>> = {
  all: ["both", "tasks", "workflows", "tasks"],
  tasks: ["both", "tasks", "workflows", "tasks"],
  conversations: ["workflows", "workflows", "client", "workflows"],
};
const WORKLOADS_OF: Readonly<Record<Only | "all", readonly Workload[]>> = {
  all: WORKLOADS,
  tasks: TASK_WORKLOADS,
  conversations: CONVERSATION_WORKLOADS,
};

export interface CampaignParams {
  readonly stage: Stage;
  readonly minutes: number;
  readonly workers: number;
  readonly seed: number;
  /** Only runs of this kind, and mostly points that such runs pass; undefined: all kinds. */
  readonly only: Only | undefined;
  readonly server: OwnServer | undefined;
}

export interface Tally extends Disturbances {
  readonly rounds: number;
  readonly started: number;
  readonly open: number;
  readonly finished: number;
  readonly effects: number;
  readonly cutOff: number;
  /** Runs that were parked after too many deaths of their workers, and resumed by the driver. */
  readonly resumed: number;
  readonly tasks: TaskCounts;
  readonly conversations: ConversationCounts;
  /** Tasks finished with their tokens: how many answers were given, and how many of them were accepted. */
  readonly answers: number;
  readonly accepted: number;
  /** Dead letters that were taken up again because the workers of their tasks died too often. */
  readonly retried: number;
  readonly findings: readonly Finding[];
  /** Processes that ended without being told to, and answers that the driver did not expect. */
  readonly accidents: readonly string[];
}

export class Campaign {
  readonly #params: CampaignParams;
  readonly #fleet: Fleet;
  readonly #disturber: Disturber;
  readonly #random: SeededSource;
  readonly #findings: Finding[] = [];
  #driver: Driver | undefined;
  #rounds = 0;
  #runs = 0;
  #judged = {
    started: 0,
    finished: 0,
    effects: 0,
    cutOff: 0,
    resumed: 0,
    tasks: NO_TASKS,
    conversations: NO_CONVERSATIONS,
    answers: 0,
    accepted: 0,
    retried: 0,
  };
  readonly #complaints: string[] = [];
  #ended = false;

  private constructor(params: CampaignParams, fleet: Fleet) {
    const { stage, server, only } = params;
    this.#params = params;
    this.#random = new SeededSource(params.seed);
    this.#fleet = fleet;
    const random = (): number => this.#random.next();
    this.#disturber = new Disturber({ fleet: this.#fleet, stage, leaseMs: LEASE_MS, random, only, server });
  }

  static async open(params: CampaignParams): Promise<Campaign> {
    const { folder, place } = params.stage;
    const effectsFile = effectsFileOf(folder, 0);
    const limits = { leaseMs: LEASE_MS, concurrency: OPEN_PER_WORKER, gated: false };
    return new Campaign(params, await Fleet.open({ place, effectsFile, ...limits }));
  }

  get tally(): Tally {
    const { started, resumed, ...judged } = this.#judged;
    return {
      ...this.#disturber.disturbances,
      ...judged,
      rounds: this.#rounds,
      started: started + (this.#driver?.started.length ?? 0),
      resumed: resumed + (this.#driver?.resumed ?? 0),
      open: this.#driver?.open ?? 0,
      findings: this.#findings,
      accidents: [...this.#fleet.accidents, ...this.#complaints],
    };
  }

  async run(): Promise<void> {
    const torture = await openTortureClient(this.#params.stage.place);
    const endAt = performance.now() + this.#params.minutes * 60_000;
    try {
      await createLedger(this.#params.stage.place);
      const turn = ROLES[this.#params.only ?? "all"];
      const roles = Array.from({ length: this.#params.workers }, (_, i) => turn[i % turn.length] as WorkerRole);
      await this.#fleet.keep(roles);
      while (!this.#ended && performance.now() < endAt && this.#findings.length === 0) {
        await this.#round(torture, Math.min(ROUND_MS, endAt - performance.now()));
      }
    } finally {
      await this.#fleet.close();
      await torture.client.close();
    }
  }

  /** Starts no new round; the current one runs to its end and is judged. */
  end(): void {
    this.#ended = true;
  }

  /** Stops everything at once; nothing is judged. */
  async abort(): Promise<void> {
    this.end();
    this.#driver?.giveUp();
    await this.#fleet.close();
  }

  async #round(torture: TortureClient, ms: number): Promise<void> {
    await this.#fleet.useEffectsFile(this.#effectsFile());
    const driver = new Driver(torture, () => this.#fleet.awake);
    this.#driver = driver;
    const prefix = `round-${this.#rounds}:`;
    this.#disturber.start();
    const startingUntil = performance.now() + ms;
    while (!this.#ended && performance.now() < startingUntil) {
      const most = this.#params.workers * OPEN_PER_WORKER;
      await driver.untilRoom(most, startingUntil - performance.now());
      if (driver.open < most) this.#begin(driver, prefix);
      await pause(20 * this.#random.next());
    }
    await this.#disturber.stop();
    if (!(await driver.untilEnded(PEACE_MS))) driver.giveUp();
    const debts = await untilQuiet(torture, PEACE_MS);
    // A process that was stopped has done its remaining work by now.
    await Promise.all(this.#fleet.live.map((worker) => worker.ask().catch(() => {})));
    await this.#judge(torture, driver, prefix, debts);
    this.#rounds += 1;
    if (this.#findings.length > 0) return;
    await torture.client.purge({ olderThan: "0s" });
    await emptyLedger(this.#params.stage.place);
  }

  #begin(driver: Driver, prefix: string): void {
    const { awake } = this.#fleet;
    this.#runs += 1;
    const workloads = WORKLOADS_OF[this.#params.only ?? "all"];
    const workload = workloads[Math.floor(this.#random.next() * workloads.length)] as Workload;
    const through = this.#random.next() < STARTS_THROUGH_WORKERS;
    const worker = through ? awake[Math.floor(this.#random.next() * awake.length)] : undefined;
    driver.begin(workload, this.#runs, `${prefix}${this.#runs}`, worker);
  }

  async #judge(torture: TortureClient, driver: Driver, prefix: string, debts: readonly Debt[]): Promise<void> {
    const file = this.#effectsFile();
    const runs = await collectRuns(torture.store, prefix);
    const { place } = this.#params.stage;
    const entries = await readLedger(place);
    const rows = await collectTasks(torture.store);
    const { started, answers, said, resumed, retried } = driver;
    const evidence: Evidence = { started, runs, lines: readEffects(file), entries, rows, answers, said, debts };
    const { runs: judged, findings, finished, effects, cutOff, tasks, conversations } = await examine(evidence);
    const before = this.#judged;
    this.#judged = {
      started: before.started + judged,
      finished: before.finished + finished,
      effects: before.effects + effects,
      cutOff: before.cutOff + cutOff,
      resumed: before.resumed + resumed,
      tasks: addCounts(before.tasks, tasks),
      conversations: addConversations(before.conversations, conversations),
      answers: before.answers + answers.length,
      accepted: before.accepted + answers.filter(({ outcome }) => outcome === "done").length,
      retried: before.retried + retried,
    };
    this.#complaints.push(...driver.complaints);
    this.#driver = undefined;
    this.#findings.push(...findings);
    if (findings.length === 0) rmSync(file);
    else writeTraces(path.join(this.#params.stage.folder, "findings.json"), evidence, findings);
  }

  #effectsFile(): string {
    return effectsFileOf(this.#params.stage.folder, this.#rounds);
  }
}

function effectsFileOf(folder: string, round: number): string {
  return path.join(folder, `effects-${round}.jsonl`);
}

/** Everything known about the runs with findings, for people to read. */
function writeTraces(
  file: string,
  { runs, lines, rows = [], answers = [] }: Evidence,
  findings: readonly Finding[],
): void {
  const ids = new Set(findings.map(({ id }) => id));
  const traces = runs
    .filter(({ run }) => ids.has(run.id))
    .map(({ run, history }) => ({
      run: { ...run, input: decoded(run.input), output: decoded(run.output) },
      history: history.map(({ payload, ...event }) => ({ ...event, value: decoded(payload) })),
      effects: lines.filter((line) => line.run === run.runId),
      tasks: rows.filter(({ runId }) => runId === run.runId),
      answers: answers.filter(({ runId }) => runId === run.runId),
    }));
  writeFileSync(file, JSON.stringify({ findings, traces }, null, 2));
}

function decoded(payload: Uint8Array | null | undefined): unknown {
  return payload === null || payload === undefined ? payload : jsonCodec.decode(payload);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
