import { latencyOf } from "../../calls/answering-store.ts";
import type { Backlog } from "../../model/backlog.ts";
import type { WorkerRow } from "../../model/worker-row.ts";
import type { HeldRunState, HeldTask, Store } from "../../ports/store.ts";
import type { Sightings } from "./sightings.ts";

/** Of each kind of work no more is counted. */
const COUNTED_MAX = 1_000;
/** A timer counts as late after so much time. */
const LATE_MS = 5_000;

export interface SightParams {
  readonly store: Store;
  readonly namespace: string;
  readonly sightings: Sightings;
  /** The circles that a run is in, or that it waits for: ids of runs. */
  readonly circlesOf: (id: string) => Promise<readonly (readonly string[])[]>;
}

/** What one look of the watchdog sees: each thing is read once, when the first rule asks for it. */
export class Sight {
  readonly store: Store;
  readonly namespace: string;
  readonly sightings: Sightings;
  readonly circlesOf: SightParams["circlesOf"];
  readonly workers: readonly WorkerRow[];
  /** By the store's clock. */
  readonly now: number;
  #backlog: Promise<Backlog> | undefined;
  #runs: Promise<readonly (HeldRunState & { readonly worker: string })[]> | undefined;
  #tasks: Promise<readonly HeldTask[]> | undefined;

  constructor({ store, namespace, sightings, circlesOf }: SightParams, workers: readonly WorkerRow[], now: number) {
    this.store = store;
    this.namespace = namespace;
    this.sightings = sightings;
    this.circlesOf = circlesOf;
    this.workers = workers;
    this.now = now;
  }

  get latency(): { readonly p50Ms: number | null; readonly p99Ms: number | null } {
    return latencyOf(this.store) ?? { p50Ms: null, p99Ms: null };
  }

  backlog(): Promise<Backlog> {
    const { namespace } = this;
    this.#backlog ??= this.store.queues.backlog({ namespace, atMost: COUNTED_MAX, lateMs: LATE_MS });
    return this.#backlog;
  }

  /** The runs that workers hold, each with the name of its worker. */
  heldRuns(): Promise<readonly (HeldRunState & { readonly worker: string })[]> {
    this.#runs ??= this.#readHeld();
    return this.#runs;
  }

  heldTasks(): Promise<readonly HeldTask[]> {
    this.#tasks ??= this.#readTasks();
    return this.#tasks;
  }

  async #readHeld(): Promise<readonly (HeldRunState & { readonly worker: string })[]> {
    const { namespace, store } = this;
    const held = [];
    for (const { workerId, name, activeRuns } of this.workers) {
      if (activeRuns === 0) continue;
      const runs = await store.workers.readHeld({ namespace, workerId });
      held.push(...runs.map((run) => ({ ...run, worker: name })));
    }
    return held;
  }

  async #readTasks(): Promise<readonly HeldTask[]> {
    const { namespace, store } = this;
    const held = [];
    for (const { workerId, activeTasks } of this.workers) {
      if (activeTasks > 0) held.push(...(await store.workers.readHeldTasks({ namespace, workerId })));
    }
    return held;
  }
}
