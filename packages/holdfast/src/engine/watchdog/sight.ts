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

/** What was read, and a time by the store's clock when that had been read: what it shows may be as young as this. */
export interface Seen<T> {
  readonly list: readonly T[];
  readonly seenAt: number;
}

type WorkersRun = HeldRunState & { readonly worker: string };

/**
 * What one look of the watchdog sees: each thing is read once, when the first rule asks for it. The look begins at `now`, and a slow store may take
 * seconds from then to what it reads: something has lasted since `seenAt` of the look that saw it first, and until `now` of a later one.
 * Otherwise a run that was taken in between would seem to have stalled before.
 */
export class Sight {
  readonly store: Store;
  readonly namespace: string;
  readonly sightings: Sightings;
  readonly circlesOf: SightParams["circlesOf"];
  readonly workers: readonly WorkerRow[];
  /** When the look began, by the store's clock. */
  readonly now: number;
  #backlog: Promise<Backlog> | undefined;
  #runs: Promise<Seen<WorkersRun>> | undefined;
  #tasks: Promise<Seen<HeldTask>> | undefined;

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
  heldRuns(): Promise<Seen<WorkersRun>> {
    this.#runs ??= this.#readHeld();
    return this.#runs;
  }

  heldTasks(): Promise<Seen<HeldTask>> {
    this.#tasks ??= this.#readTasks();
    return this.#tasks;
  }

  /** For what has been read by now. */
  async seen<T>(list: readonly T[]): Promise<Seen<T>> {
    return { list, seenAt: list.length === 0 ? this.now : (await this.store.readClock()).now };
  }

  async #readHeld(): Promise<Seen<WorkersRun>> {
    const { namespace, store } = this;
    const held: WorkersRun[] = [];
    for (const { workerId, name, activeRuns } of this.workers) {
      if (activeRuns === 0) continue;
      const runs = await store.workers.readHeld({ namespace, workerId });
      held.push(...runs.map((run) => ({ ...run, worker: name })));
    }
    return this.seen(held);
  }

  async #readTasks(): Promise<Seen<HeldTask>> {
    const { namespace, store } = this;
    const held: HeldTask[] = [];
    for (const { workerId, activeTasks } of this.workers) {
      if (activeTasks > 0) held.push(...(await store.workers.readHeldTasks({ namespace, workerId })));
    }
    return this.seen(held);
  }
}
