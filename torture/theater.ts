/** What the crash tests share: workers on a store, runs, and the verdict about them. */
import path from "node:path";
import { Driver } from "./driver.ts";
import { type EffectLine, readEffects } from "./effects-file.ts";
import { collectRuns, collectTasks } from "./evidence.ts";
import { examine } from "./examination.ts";
import { Fleet } from "./fleet.ts";
import type { Verdict } from "./judge.ts";
import { createLedger, readLedger } from "./ledger.ts";
import type { Stage } from "./stage.ts";
import { openTortureClient, type TortureClient } from "./torture-client.ts";
import type { TorturedWorker } from "./tortured-worker.ts";
import type { Workload } from "./workload.ts";

export const LEASE_MS = 1_000;
/** Generous: a busy machine is not the engine's fault. */
export const ENDS_WITHIN_MS = 60_000;
export const TEST_MS = 120_000;

/** A place with workers in which runs are started and judged. */
export class Theater {
  readonly stage: Stage;
  readonly torture: TortureClient;
  readonly fleet: Fleet;
  readonly driver: Driver;
  readonly effectsFile: string;
  #runs = 0;

  private constructor(stage: Stage, torture: TortureClient, fleet: Fleet) {
    this.stage = stage;
    this.torture = torture;
    this.fleet = fleet;
    this.driver = new Driver(torture, () => fleet.awake);
    this.effectsFile = effectsFileOf(stage);
  }

  static async open(stage: Stage): Promise<Theater> {
    const torture = await openTortureClient(stage.place);
    await createLedger(stage.place);
    const effectsFile = effectsFileOf(stage);
    const limits = { leaseMs: LEASE_MS, concurrency: 20, gated: false };
    return new Theater(stage, torture, await Fleet.open({ place: stage.place, effectsFile, ...limits }));
  }

  begin(workload: Workload, prefix: string, through?: TorturedWorker): void {
    this.#runs += 1;
    this.driver.begin(workload, this.#runs, `${prefix}:${this.#runs}`, through);
  }

  lines(): EffectLine[] {
    return readEffects(this.effectsFile);
  }

  async verdict(prefix: string): Promise<Verdict> {
    const runs = await collectRuns(this.torture.store, `${prefix}:`);
    const started = this.driver.started.filter(({ id }) => id.startsWith(`${prefix}:`));
    const entries = await readLedger(this.stage.place);
    const { answers } = this.driver;
    const said = this.driver.said.filter(({ id }) => id.startsWith(`${prefix}:`));
    const debts = await this.torture.store.debts.read({ limit: 100 });
    const known = new Set(runs.map(({ run }) => run.runId));
    const rows = (await collectTasks(this.torture.store)).filter(({ runId }) => known.has(runId));
    return examine({ started, runs, lines: this.lines(), entries, rows, answers, said, debts });
  }

  async close(): Promise<void> {
    await this.fleet.close();
    await this.torture.client.close();
    await this.stage.remove();
  }
}

export function effectsFileOf({ folder }: Stage): string {
  return path.join(folder, "effects.jsonl");
}

/** And has registered again under a new id. */
export async function untilDeclaredDead(worker: TorturedWorker): ReturnType<TorturedWorker["ask"]> {
  for (;;) {
    const facts = await worker.ask();
    if (facts.declaredDead > 0 && facts.workerId !== "" && facts.activeRuns === 0) return facts;
  }
}
