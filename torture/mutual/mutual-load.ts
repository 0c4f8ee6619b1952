/**
 * Whether the order of locks holds: two worker processes whose runs start each other's children, signal each other and wait for
 * each other's results, many at once. The server must not count a deadlock, no error may mention one, and runs must go on ending.
 */
import { type ChildProcess, fork } from "node:child_process";
import { query, type Stage } from "../stage.ts";
import { openTortureClient, type TortureClient } from "../torture-client.ts";
import { Warden } from "../warden.ts";
import { bundleProgram, type WorkerBundle } from "../worker-bundle.ts";
import { pairOf, RUNS_PER_PAIR, SIDES } from "./pair.ts";
import type { SideFacts, SideSetup } from "./side-process.ts";

const CONCURRENCY = 400;
const PAIRS_PER_START = 25;
/** Once nothing is started any more, everything must have ended within this time. */
const PEACE_MS = 120_000;

export interface MutualParams {
  readonly stage: Stage;
  readonly ms: number;
  /** In each of these, at least one run must end. */
  readonly intervalMs: number;
  /** How many pairs are open at once. */
  readonly pairs: number;
  readonly onProgress?: (progress: MutualProgress) => void;
}

export interface MutualProgress {
  readonly elapsedMs: number;
  readonly started: number;
  readonly finished: number;
  readonly deadlocks: number;
}

export interface MutualResult extends MutualProgress {
  /** The fewest runs that ended in an interval. */
  readonly fewest: number;
  readonly intervals: number;
  readonly commitsPerFlush: number;
  /** Commits that change no row, and messages that have taken their run: the two kinds of calls with locks of their own. */
  readonly appends: number;
  readonly taken: number;
  readonly busy: number;
  /** What the server counts in this database, while it ran. */
  readonly serverDeadlocks: number;
  /** Runs that have not completed. */
  readonly unfinished: number;
  readonly debts: number;
  readonly complaints: readonly string[];
}

/** What is wrong with it, if anything is. */
export function faultsOf(result: MutualResult): string[] {
  const { serverDeadlocks, deadlocks, fewest, unfinished, debts } = result;
  return [
    ...(serverDeadlocks > 0 ? [`the server has counted ${serverDeadlocks} deadlocks`] : []),
    ...(deadlocks > 0 ? [`${deadlocks} errors or lines of the log mention a deadlock`] : []),
    ...(fewest === 0 ? ["there was an interval in which no run ended"] : []),
    ...(unfinished > 0 ? [`${unfinished} runs have not completed`] : []),
    ...(debts > 0 ? [`${debts} debts are left`] : []),
  ];
}

export async function runMutual(params: MutualParams): Promise<MutualResult> {
  const { stage } = params;
  const bundle = await bundleProgram("mutual/side-process.ts");
  const torture = await openTortureClient(stage.place);
  const sides = SIDES.map((side) => new SideProcess(bundle, { place: stage.place, side, concurrency: CONCURRENCY }));
  try {
    await Promise.all(sides.map(({ ready }) => ready));
    return await new MutualLoad(params, torture, sides).run();
  } finally {
    for (const side of sides) side.end();
    bundle.remove();
    await torture.client.close();
  }
}

class SideProcess {
  readonly ready: Promise<unknown>;
  readonly #child: ChildProcess;
  readonly #warden = new Warden();
  #answer: { readonly resolve: (message: unknown) => void; readonly reject: (error: Error) => void } | undefined;
  #stderr = "";

  constructor({ file }: WorkerBundle, setup: SideSetup) {
    this.#child = fork(file, [JSON.stringify(setup)], { stdio: ["ignore", "ignore", "pipe", "ipc"], execArgv: [] });
    this.#warden.watch(this.#child.pid ?? 0);
    this.#child.stderr?.on("data", (data) => {
      this.#stderr += String(data);
    });
    this.#child.on("message", (message) => this.#answer?.resolve(message));
    this.#child.on("exit", () => this.#answer?.reject(new Error(`a process has ended: ${this.#stderr}`)));
    this.ready = this.#next();
  }

  ask(): Promise<SideFacts> {
    const answer = this.#next();
    this.#child.send("ask", () => {});
    return answer as Promise<SideFacts>;
  }

  end(): void {
    this.#child.kill("SIGKILL");
    this.#warden.close();
  }

  #next(): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#answer = { resolve, reject };
    });
  }
}

class MutualLoad {
  readonly #params: MutualParams;
  readonly #torture: TortureClient;
  readonly #sides: readonly SideProcess[];
  readonly #startedAt = performance.now();
  #pairs = 0;
  #facts: readonly SideFacts[] = [];

  constructor(params: MutualParams, torture: TortureClient, sides: readonly SideProcess[]) {
    this.#params = params;
    this.#torture = torture;
    this.#sides = sides;
  }

  async run(): Promise<MutualResult> {
    const { ms, intervalMs, stage, onProgress } = this.#params;
    const before = await serverDeadlocks(stage);
    const perInterval: number[] = [];
    let finished = 0;
    for (let interval = 1; this.#elapsedMs < ms; interval++) {
      while (this.#elapsedMs < Math.min(ms, interval * intervalMs)) await this.#fill();
      await this.#look();
      if (this.#elapsedMs >= interval * intervalMs) perInterval.push(this.#sum("finished") - finished);
      finished = this.#sum("finished");
      onProgress?.(this.#progress());
    }
    await this.#untilFinished();
    const unfinished = this.#pairs * RUNS_PER_PAIR - (await this.#torture.client.count({ status: "completed" }));
    const debts = await this.#torture.store.debts.read({ limit: 100 });
    return {
      ...this.#progress(),
      fewest: Math.min(...perInterval),
      intervals: perInterval.length,
      commitsPerFlush: this.#sum("commits") / Math.max(1, this.#sum("flushes")),
      appends: this.#sum("appends"),
      taken: this.#sum("taken"),
      busy: this.#sum("busy"),
      serverDeadlocks: (await serverDeadlocks(stage)) - before,
      unfinished,
      debts: debts.length,
      complaints: this.#facts.map(({ complaint }) => complaint).filter(Boolean),
    };
  }

  /** Starts more pairs if there is room for them. */
  async #fill(): Promise<void> {
    await this.#look();
    const open = this.#pairs - this.#sum("finished") / RUNS_PER_PAIR;
    if (open > this.#params.pairs) return pause(20);
    const numbers = Array.from({ length: PAIRS_PER_START }, (_, i) => this.#pairs + i);
    this.#pairs += PAIRS_PER_START;
    await this.#torture.client.startMany(numbers.flatMap((n) => pairOf(`pair-${n}`)));
  }

  async #untilFinished(): Promise<void> {
    const endAt = performance.now() + PEACE_MS;
    for (;;) {
      await this.#look();
      const open = await this.#torture.client.count({ status: ["pending", "running", "sleeping", "waiting"] });
      const debts = await this.#torture.store.debts.read({ limit: 1 });
      if ((open === 0 && debts.length === 0) || performance.now() > endAt) return this.#look();
      await pause(50);
    }
  }

  async #look(): Promise<void> {
    this.#facts = await Promise.all(this.#sides.map((side) => side.ask()));
  }

  #sum(name: "finished" | "flushes" | "commits" | "appends" | "taken" | "busy" | "deadlocks"): number {
    return this.#facts.reduce((sum, facts) => sum + facts[name], 0);
  }

  #progress(): MutualProgress {
    const started = this.#pairs * RUNS_PER_PAIR;
    const [finished, deadlocks] = [this.#sum("finished"), this.#sum("deadlocks")];
    return { elapsedMs: this.#elapsedMs, started, finished, deadlocks };
  }

  get #elapsedMs(): number {
    return performance.now() - this.#startedAt;
  }
}

async function serverDeadlocks({ place }: Stage): Promise<number> {
  const counter = "select deadlocks from pg_stat_database where datname = current_database()";
  const [row] = await query(place.url, counter);
  return Number(row?.deadlocks);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
