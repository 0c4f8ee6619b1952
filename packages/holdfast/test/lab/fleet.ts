import { type ConnectOptions, jsonCodec, type Logger, type RunHandle, type Worker } from "holdfast";
import { MemoryNotifier, MemoryStore, SeededSource, type TestEngine, testEngine, VirtualClock } from "holdfast/testing";
import { onTestFinished } from "vitest";
import { Client } from "../../src/client/client.ts";
import type { Clock } from "../../src/ports/clock.ts";
import type { Environment } from "../../src/ports/environment.ts";
import type { Store } from "../../src/ports/store.ts";
import type { Telemetry } from "../../src/ports/telemetry.ts";
import type { Webhooks } from "../../src/ports/webhooks.ts";
import { throughNetwork } from "./network.ts";

type WorkerOptions = Parameters<Client["worker"]>[0];
type ProcessOptions = Pick<ConnectOptions, "namespace" | "codec"> & {
  readonly clock?: Clock;
  /** In front of that of the fleet. */
  readonly store?: Store;
  /** The store is as `connect` would give it to the process: what lies between is behind it. */
  readonly connected?: true;
  readonly telemetry?: Telemetry;
  readonly environment?: Environment;
  readonly webhooks?: Webhooks;
  /** As `connect` says. */
  readonly watches?: true;
};

export interface LogLine {
  readonly level: keyof Logger;
  readonly fields: object;
  readonly message: string;
}

/** A test engine that is closed when the test is over. */
export async function openEngine(...workflows: Parameters<typeof testEngine>[0]["workflows"]): Promise<TestEngine> {
  const engine = await testEngine({ workflows });
  onTestFinished(() => engine.close());
  return engine;
}

/** A fleet that is closed when the test is over. */
export function openFleet(): Fleet {
  const fleet = new Fleet();
  onTestFinished(() => fleet.close());
  return fleet;
}

/** A clock whose time of day is off by that many hours. */
export function ahead(clock: Clock, hours: number): Clock {
  const now = (): number => clock.now() + hours * 3_600_000;
  return new Proxy(clock, {
    get: (target, name) => {
      const value: unknown = name === "now" ? now : Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** Longer than any test lasts: no fallback poll runs and no lease expires, unless a test asks for it. */
const FOREVER_MS = 40 * 365 * 24 * 3_600_000;

/**
 * Several processes in one: clients and workers that share nothing but a memory store and a virtual clock. Unlike the test
 * engine it lets time pass while steps run, so that timeouts, leases and long steps can be watched.
 */
export class Fleet {
  readonly clock = new VirtualClock();
  readonly notifier = new MemoryNotifier(this.clock);
  readonly store = new MemoryStore({ clock: this.clock, notifier: this.notifier });
  readonly lines: LogLine[] = [];
  readonly #clients: Client[] = [];
  #seed = 0;

  /** A client as `connect` would make it in a process of its own. */
  client(options: ProcessOptions = {}): Client {
    const client = new Client(
      {
        clock: options.clock ?? this.clock,
        random: new SeededSource(++this.#seed),
        codec: options.codec ?? jsonCodec,
        log: this.#logger(),
        store: this.#storeOf(options),
        notifier: this.notifier,
        ...(options.telemetry ? { telemetry: options.telemetry } : {}),
        ...(options.environment ? { environment: options.environment } : {}),
        ...(options.webhooks ? { webhooks: options.webhooks } : {}),
        ...(options.watches ? { watches: options.watches } : {}),
      },
      options.namespace ?? "default",
      async () => {},
      FOREVER_MS,
    );
    this.#clients.push(client);
    return client;
  }

  #storeOf({ store = this.store, clock = this.clock, connected }: ProcessOptions): Store {
    return connected ? store : throughNetwork(store, clock);
  }

  /** A started worker in a process of its own. */
  async worker(options: WorkerOptions, of: ProcessOptions = {}): Promise<Worker> {
    const quiet = { lease: { weeks: 4600 }, tuning: { claimFallbackMs: FOREVER_MS } };
    const worker = this.client(of).worker({ ...quiet, ...options });
    await this.clock.until(worker.start());
    return worker;
  }

  /** A worker that keeps nothing in memory: it replays every run it claims again from history. */
  forgetful(options: WorkerOptions): Promise<Worker> {
    return this.worker({ cacheSize: 0, ...options });
  }

  /** Lets time pass until the run has ended. */
  result<T>(run: RunHandle<T>): Promise<T> {
    return this.clock.until(run.result());
  }

  /** How many times the store was called in total. */
  get calls(): number {
    return Object.values(this.store.calls).reduce((sum, count) => sum + count, 0);
  }

  async close(): Promise<void> {
    await this.clock.until(Promise.all(this.#clients.map((client) => client.close())));
  }

  #logger(): Logger {
    const write = (level: keyof Logger) => (fields: object, message: string) =>
      void this.lines.push({ level, fields, message });
    return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
  }
}
