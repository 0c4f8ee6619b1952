/**
 * The long campaign: in each round, runs are started while faults are injected all around them; then the faults stop,
 * all runs must end, and the judge examines the whole round. The first round with findings is the last: its traces are
 * kept.
 */
import { rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { jsonCodec } from "holdfast";
import { SeededSource } from "holdfast/testing";
import { type Disturbances, Disturber, type OwnServer } from "./disturber.ts";
import { Driver } from "./driver.ts";
import { readEffects } from "./effects-file.ts";
import { collectRuns, type Evidence } from "./evidence.ts";
import { examine } from "./examination.ts";
import { Fleet } from "./fleet.ts";
import type { Finding } from "./judge.ts";
import { createLedger, emptyLedger, readLedger } from "./ledger.ts";
import type { Stage } from "./stage.ts";
import { openTortureClient, type TortureClient } from "./torture-client.ts";
import { WORKLOADS, type Workload } from "./workflows.ts";

const LEASE_MS = 2_000;
const ROUND_MS = 40_000;
/** Once the faults have stopped, a run that does not end within this time counts as lost. */
const PEACE_MS = 60_000;
const OPEN_PER_WORKER = 12;
/** The share of starts that go through a worker process, which then holds the run from the first moment. */
const STARTS_THROUGH_WORKERS = 0.4;

export interface CampaignParams {
  readonly stage: Stage;
  readonly minutes: number;
  readonly workers: number;
  readonly seed: number;
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
  readonly findings: readonly Finding[];
  /** Processes that ended without being told to. */
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
  #judged = { started: 0, finished: 0, effects: 0, cutOff: 0, resumed: 0 };
  #ended = false;

  constructor(params: CampaignParams) {
    const { stage, server } = params;
    this.#params = params;
    this.#random = new SeededSource(params.seed);
    this.#fleet = new Fleet({
      place: stage.place,
      effectsFile: this.#effectsFile(),
      leaseMs: LEASE_MS,
      concurrency: OPEN_PER_WORKER,
      gated: false,
    });
    const random = (): number => this.#random.next();
    this.#disturber = new Disturber({ fleet: this.#fleet, stage, leaseMs: LEASE_MS, random, server });
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
      accidents: this.#fleet.accidents,
    };
  }

  async run(): Promise<void> {
    const torture = await openTortureClient(this.#params.stage.place);
    const endAt = performance.now() + this.#params.minutes * 60_000;
    try {
      await createLedger(this.#params.stage.place);
      await this.#fleet.keep(this.#params.workers);
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
    const driver = new Driver(torture);
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
    // A process that was stopped has done its remaining work by now.
    await Promise.all(this.#fleet.live.map((worker) => worker.ask().catch(() => {})));
    await this.#judge(torture, driver, prefix);
    this.#rounds += 1;
    if (this.#findings.length > 0) return;
    await torture.client.purge({ olderThan: "0s" });
    await emptyLedger(this.#params.stage.place);
  }

  #begin(driver: Driver, prefix: string): void {
    const { awake } = this.#fleet;
    this.#runs += 1;
    const workload = WORKLOADS[Math.floor(this.#random.next() * WORKLOADS.length)] as Workload;
    const through = this.#random.next() < STARTS_THROUGH_WORKERS;
    const worker = through ? awake[Math.floor(this.#random.next() * awake.length)] : undefined;
    driver.begin(workload, this.#runs, `${prefix}${this.#runs}`, worker);
  }

  async #judge(torture: TortureClient, driver: Driver, prefix: string): Promise<void> {
    const file = this.#effectsFile();
    const runs = await collectRuns(torture.store, prefix);
    const { place } = this.#params.stage;
    const entries = await readLedger(place);
    const evidence: Evidence = { started: driver.started, runs, lines: readEffects(file), entries };
    const { findings, finished, effects, cutOff } = await examine(evidence);
    const before = this.#judged;
    this.#judged = {
      started: before.started + driver.started.length,
      finished: before.finished + finished,
      effects: before.effects + effects,
      cutOff: before.cutOff + cutOff,
      resumed: before.resumed + driver.resumed,
    };
    this.#driver = undefined;
    this.#findings.push(...findings);
    if (findings.length === 0) rmSync(file);
    else writeTraces(path.join(this.#params.stage.folder, "findings.json"), evidence, findings);
  }

  #effectsFile(): string {
    return path.join(this.#params.stage.folder, `effects-${this.#rounds}.jsonl`);
  }
}

/** Everything known about the runs with findings, for people to read. */
function writeTraces(file: string, { runs, lines }: Evidence, findings: readonly Finding[]): void {
  const ids = new Set(findings.map(({ id }) => id));
  const traces = runs
    .filter(({ run }) => ids.has(run.id))
    .map(({ run, history }) => ({
      run: { ...run, input: decoded(run.input), output: decoded(run.output) },
      history: history.map(({ payload, ...event }) => ({ ...event, value: decoded(payload) })),
      effects: lines.filter((line) => line.run === run.runId),
    }));
  writeFileSync(file, JSON.stringify({ findings, traces }, null, 2));
}

function decoded(payload: Uint8Array | null | undefined): unknown {
  return payload === null || payload === undefined ? payload : jsonCodec.decode(payload);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
