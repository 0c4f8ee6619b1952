/**
 * Unfinished runs move from one store to another while workers are live on both sides, signals keep arriving, and the mover is
 * killed. Then every run has ended once, as it would have undisturbed, and each of its effects has happened once.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { type Client, isHoldfastError, type TransferResult } from "holdfast";
import type { Stage } from "../stage.ts";
import { openTortureClient, type Place, type TortureClient } from "../torture-client.ts";
import { bundleProgram } from "../worker-bundle.ts";
import { errands, expected, go, KINDS, type Kind } from "./errand.ts";
import type { Death, MoveSetup } from "./moving-process.ts";

export interface MovesParams {
  readonly from: Stage;
  readonly to: Stage;
  readonly runs: number;
  /** The longest walk of a run. */
  readonly napMsMax: number;
  /** How each mover dies; afterward one comes to its end. */
  readonly deaths: readonly Death[];
  /** Of the ids. */
  readonly prefix?: string;
  readonly onProgress?: (text: string) => void;
}

export interface MovesResult {
  readonly runs: number;
  /** How many have ended in the other store. */
  readonly movedRuns: number;
  /** How many movers were killed. */
  readonly kills: number;
  readonly faults: readonly string[];
}

const POLL_MS = 20;
const METHODS = ["departIfIdle", "arrive", "confirm"];

/** Movers that die after up to so many runs. */
export function deathsAtRandom(deaths: number, runsMax: number): Death[] {
  return Array.from({ length: deaths }, () => {
    const method = `transfers.${METHODS[Math.floor(Math.random() * METHODS.length)]}`;
    return { method, side: Math.random() < 0.5 ? "before" : "after", number: 1 + Math.floor(Math.random() * runsMax) };
  });
}

export async function runMoves(params: MovesParams): Promise<MovesResult> {
  const programs = await Promise.all(["moves/errand-process.ts", "moves/moving-process.ts"].map(bundleProgram));
  const stores = await Promise.all([params.from, params.to].map(({ place }) => openTortureClient(place)));
  const [worker, mover] = programs.map(({ file }) => file) as [string, string];
  const campaign = new MoveCampaign(params, stores as [TortureClient, TortureClient], worker, mover);
  try {
    return await campaign.run();
  } finally {
    campaign.end();
    for (const program of programs) program.remove();
    await Promise.all(stores.map(({ client }) => client.close()));
  }
}

class MoveCampaign {
  readonly #params: MovesParams;
  readonly #source: Client;
  readonly #target: Client;
  readonly #worker: string;
  readonly #mover: string;
  readonly #effects: string;
  readonly #children = new Set<ChildProcess>();
  readonly #kinds = new Map<string, Kind>();
  #kills = 0;

  constructor(params: MovesParams, [source, target]: [TortureClient, TortureClient], worker: string, mover: string) {
    this.#params = params;
    this.#source = source.client;
    this.#target = target.client;
    this.#worker = worker;
    this.#mover = mover;
    this.#effects = path.join(params.from.folder, "effects.txt");
  }

  async run(): Promise<MovesResult> {
    const { from, to, runs, deaths, onProgress } = this.#params;
    await this.#start();
    await Promise.all([from, to].map(({ place }) => this.#startWorker(place)));
    const talking = this.#talk();
    for (const death of deaths) {
      await this.#move(death);
      onProgress?.(`${this.#kills} of ${deaths.length} movers killed`);
    }
    const faults: string[] = [];
    for (let left = -1; left !== 0; ) {
      const result = await this.#move(null);
      left = result?.skipped.length ?? 1;
      for (const { id, code } of result?.skipped ?? []) faults.push(`${id} was skipped: ${code}`);
    }
    await talking;
    const movedRuns = await this.#judge(faults);
    return { runs, movedRuns, kills: this.#kills, faults };
  }

  end(): void {
    for (const child of this.#children) child.kill("SIGKILL");
    this.#children.clear();
  }

  async #start(): Promise<void> {
    const { runs, napMsMax, prefix = "" } = this.#params;
    const { errand } = errands(() => {});
    const requests = Array.from({ length: runs }, (_, i) => {
      const kind = KINDS[i % KINDS.length] as Kind;
      const id = `errand ${prefix}${i}`;
      this.#kinds.set(id, kind);
      // Nobody is back before half of the time: until then there is something to move.
      const napMs = Math.ceil((0.5 + Math.random() / 2) * napMsMax);
      return { workflow: errand, input: { kind, napMs }, options: { id } };
    });
    await this.#source.startMany(requests);
  }

  async #startWorker({ url, schema = "" }: Place): Promise<void> {
    const args = [this.#worker, url, schema, this.#effects];
    const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
    this.#children.add(child);
    const ended = once(child, "exit").then(() => {
      throw new Error("a worker process ended");
    });
    ended.catch(() => {});
    await Promise.race([once(child.stdout, "data"), ended]);
  }

  /** Undefined if the mover was killed. */
  async #move(death: Death | null): Promise<TransferResult | undefined> {
    const setup: MoveSetup = { from: this.#params.from.place, to: this.#params.to.place, death };
    const args = [this.#mover, JSON.stringify(setup)];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    this.#children.add(child);
    const lines: string[] = [];
    createInterface({ input: child.stdout }).on("line", (line) => lines.push(line));
    const [code, signal] = (await once(child, "close")) as [number | null, string | null];
    this.#children.delete(child);
    if (signal === "SIGKILL") this.#kills += 1;
    else if (code !== 0) throw new Error(`the mover ended with code ${code}`);
    return signal === null ? (JSON.parse(lines[0] ?? "") as TransferResult) : undefined;
  }

  /** Signals and persons, until all runs have had theirs: at whichever store they are by then. Each signal is sent twice. */
  async #talk(): Promise<void> {
    const waiting = [...this.#kinds].filter(([, kind]) => kind === "signal").map(([id]) => id);
    const signals = waiting.map(async (id) => {
      await pause(Math.random() * this.#params.napMsMax);
      for (let i = 0; i < 2; i++) await this.#reach(id, (client) => client.get(id).signal(go, "go", { id: "go" }));
    });
    const persons = [...this.#kinds].filter(([, kind]) => kind === "person").map(([id]) => this.#finishTask(id));
    await Promise.all([...signals, ...persons]);
  }

  /** Tries both stores in turn while the run is in neither, which is while it is on its way. */
  async #reach(id: string, act: (client: Client) => Promise<void>): Promise<void> {
    for (let i = 0; ; i++) {
      try {
        return await act(i % 2 === 0 ? this.#source : this.#target);
      } catch (error) {
        const gone = ["run_moved", "run_not_found", "run_closed", "task_closed", "task_not_found"] as const;
        if (!gone.some((code) => isHoldfastError(error, code))) throw error;
        // A second signal may find that the run has ended.
        if (isHoldfastError(error, "run_closed")) return;
        if (i % 2 === 1) await pause(POLL_MS);
      }
      if (i > 10_000) throw new Error(`${id} cannot be reached`);
    }
  }

  /** With the token as it was first seen, in whichever store the task is by then. */
  async #finishTask(id: string): Promise<void> {
    for (;;) {
      const token = (await this.#tokenIn(this.#source, id)) ?? (await this.#tokenIn(this.#target, id));
      if (token === undefined) {
        await pause(POLL_MS * 10);
        continue;
      }
      await pause(Math.random() * 1_000);
      return this.#reach(id, (client) => client.tasks.complete(token, "done"));
    }
  }

  async #tokenIn(client: Client, id: string): Promise<string | undefined> {
    const run = await client
      .get(id)
      .describe()
      .catch(() => undefined);
    if (!run || run.status === "moved") return undefined;
    const { tasks } = await client.tasks.list({ runId: run.runId });
    return tasks.find(({ name, token }) => name === "person" && token !== undefined)?.token;
  }

  async #judge(faults: string[]): Promise<number> {
    let movedRuns = 0;
    const wanted = new Map<string, number>();
    for (const [id, kind] of this.#kinds) {
      const { output, effects } = expected(id, kind);
      for (const line of effects) wanted.set(line, 1);
      const status = await this.#source.get(id).status();
      if (status === "moved") movedRuns += 1;
      const where = status === "moved" ? this.#target : this.#source;
      const got = await where
        .get(id)
        // It may have fallen asleep just now.
        .result({ timeout: `${this.#params.napMsMax + 60_000}ms` })
        .catch((error: unknown) => String(error));
      if (got !== output) faults.push(`${id} ended with ${JSON.stringify(got)} instead of ${output}`);
    }
    const done = new Map<string, number>();
    for (const line of readFileSync(this.#effects, "utf8").trim().split("\n"))
      done.set(line, (done.get(line) ?? 0) + 1);
    for (const line of new Set([...wanted.keys(), ...done.keys()]))
      if (done.get(line) !== wanted.get(line)) faults.push(`"${line}" happened ${done.get(line) ?? 0} times`);
    return movedRuns;
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
