/**
 * A store in memory, a virtual clock, and any number of clients, each with its own connection to the store. On that connection
 * every call can be watched, held back, delayed or made to fail, before or after it takes effect, so that a test can bring
 * about one exact interleaving.
 */
import { HoldfastError, jsonCodec, type RunHandle, silentLogger, type Worker, type WorkerOptions } from "holdfast";
import { type HistoryEvent, hookedStore, type Notifier, type StoreHooks, type StoreMethod } from "holdfast/adapter";
import { MemoryNotifier, MemoryStore, SeededSource, VirtualClock } from "holdfast/testing";
import { onTestFinished } from "vitest";
import { Client } from "../../src/client/client.ts";

export interface ClientSettings {
  readonly hooks?: StoreHooks;
  /** No hint ever reaches this client, nor does it send any. */
  readonly deaf?: boolean;
  /** The client no longer uses the store. */
  readonly onClose?: () => void;
}

/** A world whose clients are closed when the test is over. */
export function openWorld(): World {
  const world = new World();
  onTestFinished(() => world.close());
  return world;
}

export class World {
  readonly clock = new VirtualClock();
  readonly notifier = new MemoryNotifier(this.clock);
  readonly store = new MemoryStore({ clock: this.clock, notifier: this.notifier });
  readonly #clients: Client[] = [];

  /** A client as `connect` would make it in a process of its own. */
  client({ hooks = {}, deaf = false, onClose }: ClientSettings = {}): Client {
    const client = new Client(
      {
        clock: this.clock,
        random: new SeededSource(this.#clients.length + 1),
        codec: jsonCodec,
        log: silentLogger,
        store: hookedStore(this.store, hooks),
        notifier: deaf ? DEAF : this.notifier,
      },
      "default",
      async () => onClose?.(),
    );
    this.#clients.push(client);
    return client;
  }

  /** A worker of that client, started. */
  async worker(client: Client, options: WorkerOptions): Promise<Worker> {
    const worker = client.worker(options);
    await this.clock.until(worker.start());
    return worker;
  }

  /** Resolves after so much virtual time. */
  later(ms: number): Promise<void> {
    return new Promise((resolve) => void this.clock.setTimer(ms, resolve));
  }

  /** Lets time pass until the run has ended. */
  result<T>(run: RunHandle<T>): Promise<T> {
    return this.clock.until(run.result());
  }

  /** What the store has of the run. */
  row(run: RunHandle) {
    const row = this.store.state.runs.get(run.runId);
    if (!row) throw new Error(`no run ${run.runId}`);
    return row;
  }

  events(run: RunHandle): readonly HistoryEvent[] {
    return this.store.state.events.get(run.runId) ?? [];
  }

  async close(): Promise<void> {
    await this.clock.until(Promise.all(this.#clients.map((client) => client.close())));
  }
}

/** A promise that is settled by hand. */
export class Gate {
  readonly opened: Promise<void>;
  open: () => void = () => {};

  constructor() {
    this.opened = new Promise((resolve) => {
      this.open = resolve;
    });
  }
}

/** The connection to the store, which can be down: calls then fail and have no effect. */
export class Line {
  down = false;
  readonly hooks: StoreHooks;

  constructor(...methods: readonly StoreMethod[]) {
    const hook = async (_params: unknown, call: () => Promise<unknown>): Promise<unknown> => {
      if (this.down) throw new HoldfastError("store_unavailable", "the connection was refused");
      return call();
    };
    this.hooks = Object.fromEntries(methods.map((method) => [method, hook])) as StoreHooks;
  }
}

/** The calls that keep a worker alive: without them it looks dead to the others. */
export const WORKER_CALLS: readonly StoreMethod[] = [
  "workers.register",
  "workers.heartbeat",
  "workers.sweep",
  "runs.claim",
  "runs.commit",
  "inbox.read",
  "histories.read",
];

const DEAF: Notifier = { publish() {}, subscribe: () => () => {} };
