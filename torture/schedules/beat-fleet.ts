/** The worker processes of a campaign, and what is done to them. Those that die are replaced. */
import { type ChildProcess, fork } from "node:child_process";
import type { StoreMethod } from "holdfast/adapter";
import { Warden } from "../warden.ts";
import { bundleProgram, type WorkerBundle } from "../worker-bundle.ts";
import type { BeatSetup, Doom } from "./beat-process.ts";

/** How long a process may take to reach the call around which it is to die; after that it is killed where it is. */
const REACH_MS = 2_000;
const FATAL: readonly StoreMethod[] = [
  "schedules.due",
  "schedules.putIfRevision",
  "schedules.putIfRevision",
  "inbox.deliver",
  "runs.terminate",
  "runs.read",
  "workers.heartbeat",
];

class BeatWorker {
  readonly #child: ChildProcess;
  readonly ready: Promise<void>;
  readonly exited: Promise<void>;
  workerId: string | undefined;
  stopped = false;
  stderr = "";
  /** Nothing else is to be done to it. */
  doomed = false;

  constructor(file: string, setup: BeatSetup, warden: Warden) {
    const child = fork(file, [JSON.stringify(setup)], { stdio: ["ignore", "ignore", "pipe", "ipc"], execArgv: [] });
    this.#child = child;
    warden.watch(child.pid ?? 0);
    child.stderr?.on("data", (data) => {
      this.stderr += String(data);
    });
    this.ready = new Promise((resolve) => {
      child.once("exit", () => resolve());
      child.once("message", (workerId) => {
        this.workerId = String(workerId);
        resolve();
      });
    });
    this.exited = new Promise((resolve) => {
      child.once("exit", () => {
        warden.forget(child.pid ?? 0);
        resolve();
      });
    });
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }

  /** It dies around that call, or where it is if it does not come there. */
  async dieAt(doom: Doom): Promise<boolean> {
    this.#child.send(doom, () => {});
    const timer = setTimeout(() => this.kill(), REACH_MS);
    const sentAt = performance.now();
    await this.exited;
    clearTimeout(timer);
    return performance.now() - sentAt < REACH_MS;
  }

  async sleep(ms: number): Promise<void> {
    this.stopped = true;
    this.#child.kill("SIGSTOP");
    await pause(ms);
    this.#child.kill("SIGCONT");
    this.stopped = false;
    this.doomed = false;
  }
}

export interface BeatFleetParams extends Omit<BeatSetup, "name"> {
  readonly size: number;
  readonly random: () => number;
}

export class BeatFleet {
  readonly #params: BeatFleetParams;
  readonly #bundle: WorkerBundle;
  readonly #warden = new Warden();
  readonly #workers = new Set<BeatWorker>();
  readonly #busy = new Set<Promise<unknown>>();
  readonly kills = new Map<string, number>();
  readonly accidents: string[] = [];
  /** Of the kills: the leader. */
  leaders = 0;
  zombies = 0;
  #spawned = 0;
  #closed = false;

  private constructor(params: BeatFleetParams, bundle: WorkerBundle) {
    this.#params = params;
    this.#bundle = bundle;
  }

  static async open(params: BeatFleetParams): Promise<BeatFleet> {
    const fleet = new BeatFleet(params, await bundleProgram("schedules/beat-process.ts"));
    for (let i = 0; i < params.size; i++) fleet.#spawn();
    await Promise.all([...fleet.#workers].map(({ ready }) => ready));
    return fleet;
  }

  /** Does something bad to the leader, or to another one. */
  disturb(leaderId: string | undefined): void {
    const { random, leaseMs } = this.#params;
    const able = [...this.#workers].filter(({ workerId, stopped, doomed }) => workerId && !stopped && !doomed);
    const leader = able.find(({ workerId }) => workerId === leaderId);
    const victim = leader && random() < 0.7 ? leader : able[Math.floor(random() * able.length)];
    if (!victim) return;
    const dice = random();
    victim.doomed = true;
    if (dice < 0.15) {
      this.zombies += 1;
      this.#note(victim.sleep(leaseMs * (1 + random())));
      return;
    }
    if (victim === leader) this.leaders += 1;
    if (dice < 0.5) {
      this.#count("anywhere");
      victim.kill();
      return;
    }
    const method = FATAL[Math.floor(random() * FATAL.length)] as StoreMethod;
    const moment = random() < 0.5 ? "before" : "after";
    this.#note(victim.dieAt({ method, moment }).then((hit) => this.#count(hit ? `${moment} ${method}` : "anywhere")));
  }

  /** Nothing is under way any more, and all of them work. */
  async calm(): Promise<void> {
    await Promise.all(this.#busy);
    await Promise.all([...this.#workers].map(({ ready }) => ready));
  }

  async close(): Promise<void> {
    this.#closed = true;
    const all = [...this.#workers];
    for (const worker of all) worker.kill();
    await Promise.all(all.map(({ exited }) => exited));
    this.#warden.close();
    this.#bundle.remove();
  }

  #spawn(): void {
    const { place, leaseMs, random, size } = this.#params;
    this.#spawned += 1;
    // A worker of the same name succeeds its dead predecessor at once; any other must wait for the end of the lease.
    const name = random() < 0.3 ? `worker ${Math.floor(random() * size)}` : `worker no. ${this.#spawned}`;
    const worker = new BeatWorker(this.#bundle.file, { place, leaseMs, name }, this.#warden);
    this.#workers.add(worker);
    void worker.exited.then(() => {
      this.#workers.delete(worker);
      if (this.#closed) return;
      if (!worker.doomed) this.accidents.push(`a worker process has ended: ${worker.stderr}`);
      this.#spawn();
    });
  }

  #note(happening: Promise<unknown>): void {
    this.#busy.add(happening);
    void happening.finally(() => this.#busy.delete(happening));
  }

  #count(where: string): void {
    this.kills.set(where, (this.kills.get(where) ?? 0) + 1);
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
