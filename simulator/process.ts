import type { PortsBundle } from "../packages/holdfast/src/calls/ports-bundle.ts";
import { Client } from "../packages/holdfast/src/client/client.ts";
import { jsonCodec } from "../packages/holdfast/src/codec/json-codec.ts";
import type { Worker } from "../packages/holdfast/src/engine/worker/worker.ts";
import type { WorkerOptions } from "../packages/holdfast/src/engine/worker/worker-options.ts";
import type { Clock } from "../packages/holdfast/src/ports/clock.ts";
import type { Environment } from "../packages/holdfast/src/ports/environment.ts";
import type { Logger } from "../packages/holdfast/src/ports/logger.ts";
import type { Store } from "../packages/holdfast/src/ports/store.ts";
import { Lane, ProcessClock, type SimTime } from "./clock.ts";
import type { Skills } from "./crew.ts";
import { Dice } from "./dice.ts";
import type { SimNotifier } from "./notifier.ts";
import { Connection } from "./store/connection.ts";
import type { SimStore } from "./store/sim-store.ts";
import { TIMED } from "./timekeeper.ts";

/** A new promise each time: whatever waits for a shared one would be kept alive by it, across all seeds. */
export function never(): Promise<never> {
  return new Promise<never>(() => {});
}

/** What stands between a process and its connection to the store: nothing, or a network more. */
export type AroundStore = (store: Store, ports: { readonly clock: Clock; readonly random: Dice }) => Store;

export interface ProcessParams {
  readonly name: string;
  readonly time: SimTime;
  readonly store: SimStore;
  readonly notifier: SimNotifier;
  readonly log: Logger;
  readonly seed: string;
  /** 0: it packs nothing. */
  readonly eventsPerSegment: number;
  readonly rate: number;
  readonly skewMs: number;
  /** Which code it has, and whether it offers second versions. */
  readonly generation: number;
  readonly offersSecond: boolean;
  /** Undefined for a process without a worker. */
  readonly skills: Skills | undefined;
  /** The name of its worker, which the replacement process keeps. */
  readonly role: string;
  readonly pid: number;
  readonly isGone: (pid: number) => boolean;
  readonly around?: AroundStore | undefined;
}

/** One process: a complete engine behind ports that can be cut at any moment. */
export class SimProcess {
  readonly name: string;
  readonly role: string;
  readonly pid: number;
  readonly generation: number;
  readonly offersSecond: boolean;
  readonly skills: Skills | undefined;
  readonly store: SimStore;
  readonly lane: Lane;
  readonly clock: ProcessClock;
  readonly connection: Connection;
  readonly ports: PortsBundle;
  readonly client: Client;
  /** A client of the namespace of schedules. */
  readonly timed: Client;
  /** Settles when it dies. */
  readonly gone: Promise<void>;
  worker: Worker | undefined;
  /** It already has a fault. */
  troubled = false;
  #onGone: () => void = () => {};
  #fuse = Number.POSITIVE_INFINITY;
  #stall = { uses: Number.POSITIVE_INFINITY, ms: 0 };
  readonly #time: SimTime;
  readonly #onKilled: (process: SimProcess) => void;

  constructor(params: ProcessParams, onKilled: (process: SimProcess) => void) {
    const { time, store, notifier, log } = params;
    this.name = params.name;
    this.store = store;
    this.role = params.role;
    this.pid = params.pid;
    this.generation = params.generation;
    this.offersSecond = params.offersSecond;
    this.skills = params.skills;
    this.#onKilled = onKilled;
    this.#time = time;
    this.gone = new Promise((resolve) => {
      this.#onGone = resolve;
    });
    this.lane = new Lane(time);
    const onUse = (): void => this.use();
    this.clock = new ProcessClock(time, this.lane, params.rate, params.skewMs, onUse);
    this.connection = new Connection(store, this.lane, params.name, params.eventsPerSegment > 0, onUse);
    const port = this.connection.port();
    const random = new Dice(`process ${params.seed} ${params.name}`);
    this.ports = {
      clock: this.clock,
      random,
      codec: jsonCodec,
      log,
      store: params.around ? params.around(port, { clock: this.clock, random }) : port,
      notifier: notifier.forLane(this.lane),
      environment: this.#environment(params),
      eventsPerSegment: params.eventsPerSegment,
    };
    this.client = new Client(this.ports, "default", async () => {});
    this.timed = new Client(this.ports, TIMED, async () => {});
  }

  /** All processes run on one machine, which knows which of them live. A replacement process keeps the name. */
  #environment({ role, pid, isGone }: ProcessParams): Environment {
    const workerIds = new Set<string>();
    const programDigest = (): undefined => undefined;
    return { host: "sim", pid, inPool: false, workerIds, workerName: () => role, isGone, programDigest };
  }

  get dead(): boolean {
    return this.lane.dead;
  }

  makeWorker(options: WorkerOptions): Worker {
    this.worker = this.client.worker(options);
    return this.worker;
  }

  /** What its worker has besides that many runs and tasks; undefined if nothing. */
  company(runs: number, tasks: number): string | undefined {
    const { activeRuns = 0, activeTasks = 0 } = this.worker ?? {};
    if (activeRuns <= runs && activeTasks <= tasks) return undefined;
    return `${activeRuns - runs} other runs and ${activeTasks - tasks} other tasks`;
  }

  /** Every use of a port is a moment at which it may die. */
  use(): void {
    if (--this.#fuse <= 0) this.kill();
    if (--this.#stall.uses !== 0) return;
    this.freeze();
    this.#time.at(this.#stall.ms, () => this.thaw());
  }

  /** Makes it stand still for some time, after this many more uses of a port. */
  stallAfter(uses: number, ms: number): void {
    this.#stall = { uses, ms };
  }

  /** Makes it die after this many more uses of a port. */
  light(uses: number): void {
    this.#fuse = Math.min(this.#fuse, uses);
  }

  kill(): void {
    this.#fuse = Number.POSITIVE_INFINITY;
    if (this.dead) return;
    this.end();
    this.#onKilled(this);
  }

  /** Ends it for good: it is not restarted. */
  end(): void {
    this.lane.kill();
    this.#onGone();
  }

  /** Freezes the whole process: timers, callbacks, answers. */
  freeze(): void {
    this.lane.pause();
  }

  thaw(): void {
    this.lane.resume();
  }

  /** Waits like a step of this process: never settles once the process is dead. */
  wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = this.clock.setTimer(ms, resolve);
      signal?.addEventListener("abort", () => {
        timer.cancel();
        reject(signal.reason);
      });
    });
  }
}
