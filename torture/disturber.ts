/** Injects faults into the worker processes, and into the database if it is torture's own. */
import type { Only } from "./command-line.ts";
import type { Fleet } from "./fleet.ts";
import {
  POINTS,
  POINTS_OF_ALL,
  POINTS_OF_CLIENTS,
  POINTS_OF_CONVERSATIONS,
  POINTS_OF_RESULTS,
  POINTS_OF_TASKS,
  type Point,
} from "./named-points.ts";
import type { Stage } from "./stage.ts";
import type { TorturedWorker } from "./tortured-worker.ts";
import type { WorkerRole } from "./worker-messages.ts";

/** How long a process may take to reach the point where it is to die; after that it is killed where it is. */
const REACH_MS = 3_000;
const OFTEN_PASSED: readonly Point[] = [
  "before-commit",
  "after-commit",
  "in-step",
  "before-claim",
  "after-claim",
  "sleeping",
  "before-task-claim",
  "after-task-claim",
  "before-finish",
  "after-finish",
  "in-task",
  "before-result",
  "after-result",
];
/** Points that a run passes that talks to others, besides those because of that. */
const POINTS_OF_TALKERS: readonly Point[] = [
  ...POINTS_OF_CONVERSATIONS,
  "before-commit",
  "after-commit",
  "in-step",
  "sleeping",
  "waiting",
  "before-claim",
  "after-claim",
];
const ANYWHERE = "anywhere";

export interface OwnServer {
  kill(signal?: NodeJS.Signals): Promise<void>;
  start(): Promise<void>;
}

export interface DisturberParams {
  readonly fleet: Fleet;
  readonly stage: Stage;
  readonly leaseMs: number;
  /** Between 0 and 1. */
  readonly random: () => number;
  /** Prefer points that runs of this kind pass. */
  readonly only: Only | undefined;
  /** Torture's own server, which may be crashed. */
  readonly server: OwnServer | undefined;
}

export interface Disturbances {
  readonly kills: Readonly<Record<string, number>>;
  /** Of them: processes that executed tasks. */
  readonly taskWorkerKills: number;
  /** Of them: processes that held runs that have children, or that are children; and clients. */
  readonly killsWithParents: number;
  readonly killsWithChildren: number;
  readonly killsWithBoth: number;
  readonly clientKills: number;
  readonly zombies: number;
  /** Of them: processes that executed tasks. */
  readonly taskWorkerZombies: number;
  readonly drains: number;
  readonly terminatedConnections: number;
  readonly databaseCrashes: number;
}

export class Disturber {
  readonly #params: DisturberParams;
  readonly #kills = new Map<string, number>();
  readonly #busy = new Map<TorturedWorker, Promise<void>>();
  readonly #killsWith = { parents: 0, children: 0, both: 0, client: 0 };
  #taskWorkerKills = 0;
  #zombies = 0;
  #taskWorkerZombies = 0;
  #drains = 0;
  #terminated = 0;
  #crashes = 0;
  #running = false;
  #loop: Promise<unknown> = Promise.resolve();
  #crash: Promise<void> = Promise.resolve();

  constructor(params: DisturberParams) {
    this.#params = params;
  }

  get disturbances(): Disturbances {
    return {
      kills: Object.fromEntries([...this.#kills].sort(([a], [b]) => (a < b ? -1 : 1))),
      taskWorkerKills: this.#taskWorkerKills,
      killsWithParents: this.#killsWith.parents,
      killsWithChildren: this.#killsWith.children,
      killsWithBoth: this.#killsWith.both,
      clientKills: this.#killsWith.client,
      zombies: this.#zombies,
      taskWorkerZombies: this.#taskWorkerZombies,
      drains: this.#drains,
      terminatedConnections: this.#terminated,
      databaseCrashes: this.#crashes,
    };
  }

  start(): void {
    this.#running = true;
    this.#loop = Promise.all([this.#disturbWorkers(), this.#disturbDatabase()]);
  }

  /** Resolves when all faults in progress are over and every stopped process continues. */
  async stop(): Promise<void> {
    this.#running = false;
    await this.#loop;
    await Promise.all(this.#busy.values());
    await this.#crash;
    this.#params.fleet.continueAll();
  }

  async #disturbWorkers(): Promise<void> {
    const { fleet, random, leaseMs } = this.#params;
    while (this.#running) {
      await pause(leaseMs * (0.1 + 0.5 * random()));
      const free = fleet.awake.filter((worker) => !this.#busy.has(worker));
      // At least one worker must be left to take over.
      if (free.length < 2) continue;
      const victim = free[Math.floor(random() * free.length)] as TorturedWorker;
      const dice = random();
      const act = dice < 0.78 ? this.#killWorker(victim) : dice < 0.92 ? this.#stopWorker(victim) : this.#drain(victim);
      this.#busy.set(
        victim,
        act.catch(() => {}).finally(() => this.#busy.delete(victim)),
      );
    }
  }

  async #killWorker(victim: TorturedWorker): Promise<void> {
    await victim.ready;
    const point = this.#anyPoint(victim);
    victim.arm(point, "kill", this.#skip(point));
    if (point === "draining") victim.drain();
    const signal = await within(REACH_MS, victim.exited);
    if (signal === undefined) await this.#killHere(victim);
    else this.#count(victim, victim.reached.at(-1) ?? ANYWHERE);
  }

  /** The process stops itself: at a point, and so never between its check of the lease and the effect that follows. */
  async #stopWorker(victim: TorturedWorker): Promise<void> {
    const { random, leaseMs } = this.#params;
    await victim.ready;
    const point = this.#anyPoint(victim);
    victim.arm(point, "stop", this.#skip(point));
    if (point === "draining") victim.drain();
    if ((await within(REACH_MS, victim.untilReached())) === undefined) return this.#killHere(victim);
    victim.stopped = true;
    await pause(leaseMs * (1.2 + 1.5 * random()));
    this.#zombies += 1;
    if (executesTasks(victim.role)) this.#taskWorkerZombies += 1;
    victim.continue();
    // What it does now is the test: give it time to do it.
    await within(leaseMs, victim.ask());
  }

  async #drain(victim: TorturedWorker): Promise<void> {
    await victim.ready;
    victim.drain();
    await within(8_000, victim.drained);
    this.#drains += 1;
    await this.#end(victim);
  }

  async #killHere(victim: TorturedWorker): Promise<void> {
    this.#count(victim, ANYWHERE);
    await this.#end(victim);
  }

  async #end(victim: TorturedWorker): Promise<void> {
    victim.kill();
    await victim.exited;
  }

  /** One that a process of its role passes. */
  #anyPoint({ role }: TorturedWorker): Point {
    const { only, random } = this.#params;
    const points = POINTS.filter((point) => {
      if (role === "client") return POINTS_OF_CLIENTS.includes(point);
      if (POINTS_OF_ALL.includes(point)) return true;
      if (POINTS_OF_TASKS.includes(point)) return executesTasks(role);
      if (role === "tasks") return false;
      if (only === "tasks") return POINTS_OF_RESULTS.includes(point);
      return only === undefined || POINTS_OF_TALKERS.includes(point);
    });
    return points[Math.floor(random() * points.length)] as Point;
  }

  /** Not always at the first opportunity; but a worker does not reach every point often. */
  #skip(point: Point): number {
    return OFTEN_PASSED.includes(point) ? Math.floor(this.#params.random() * 6) : 0;
  }

  #count({ role, holds }: TorturedWorker, point: string): void {
    if (executesTasks(role)) this.#taskWorkerKills += 1;
    const [parents, children] = [holds.includes("parents"), holds.includes("children")];
    if (parents) this.#killsWith.parents += 1;
    if (children) this.#killsWith.children += 1;
    if (parents && children) this.#killsWith.both += 1;
    if (role === "client") this.#killsWith.client += 1;
    this.#kills.set(point, (this.#kills.get(point) ?? 0) + 1);
  }

  async #disturbDatabase(): Promise<void> {
    const { stage, server, random } = this.#params;
    let crashIn = 5 + 20 * random();
    while (this.#running) {
      await pause(1_000);
      await this.#crash;
      crashIn -= 1;
      if (random() < 0.2 && (await stage.terminateConnection(random()).catch(() => false))) this.#terminated += 1;
      if (!server || crashIn > 0) continue;
      crashIn = 15 + 25 * random();
      this.#crash = this.#crashServer(server, 2_000 * random());
    }
  }

  async #crashServer(server: OwnServer, awayMs: number): Promise<void> {
    await server.kill("SIGQUIT");
    this.#crashes += 1;
    await pause(awayMs);
    await server.start();
  }
}

function executesTasks(role: WorkerRole): boolean {
  return role === "both" || role === "tasks";
}

async function within<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  try {
    return await Promise.race([promise, limit]);
  } finally {
    clearTimeout(timer);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
