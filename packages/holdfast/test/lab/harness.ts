/**
 * A cluster in one test: one memory store, one virtual clock, any number of processes. Each process reaches the world (store,
 * clock, hints) through its own switch, so that it can be killed or frozen between any two lines while the others continue.
 * Leases, sweeps and fallbacks are the normal ones.
 */

import type { PortsBundle } from "../../src/calls/ports-bundle.ts";
import { Client } from "../../src/client/client.ts";
import { jsonCodec } from "../../src/codec/json-codec.ts";
import type { Worker } from "../../src/engine/worker/worker.ts";
import type { WorkerOptions } from "../../src/engine/worker/worker-options.ts";
import { HoldfastError } from "../../src/errors/holdfast-error.ts";
import { MemoryNotifier } from "../../src/memory/notifier.ts";
import type { RunRecord } from "../../src/memory/state.ts";
import { MemoryStore } from "../../src/memory/store.ts";
import type { Duration } from "../../src/model/duration.ts";
import type { HistoryEvent } from "../../src/model/event.ts";
import { outcomeMessageId } from "../../src/model/ids.ts";
import type { Message } from "../../src/model/message.ts";
import type { Clock } from "../../src/ports/clock.ts";
import type { Environment } from "../../src/ports/environment.ts";
import type { Logger } from "../../src/ports/logger.ts";
import type { Hint, Notifier } from "../../src/ports/notifier.ts";
import type { StepInterceptor } from "../../src/ports/step-interceptor.ts";
import type { Store } from "../../src/ports/store.ts";
import { type StoreMethod, storeAround } from "../../src/ports/store-calls.ts";
import type { Telemetry } from "../../src/ports/telemetry.ts";
import { SeededSource } from "../../src/testing/seeded-source.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { throughNetwork } from "./network.ts";

export const LEASE_MS = 30_000;
export const CLAIM_FALLBACK_MS = 5_000;
export const HEARTBEAT_MS = LEASE_MS / 3;

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export const NEVER = new Promise<never>(() => {});

/** Intercepts one store call; `next` makes the call. */
export type StoreHook = (method: StoreMethod, params: unknown, next: () => Promise<unknown>) => Promise<unknown>;

export function hooked(store: Store, hook: StoreHook): Store {
  return storeAround(store, hook);
}

export function unavailable(): HoldfastError {
  return new HoldfastError("store_unavailable", "the connection was refused");
}

export function outcomeUnknown(): HoldfastError {
  return new HoldfastError("store_outcome_unknown", "the connection broke");
}

/** A promise that is settled by hand. */
export class Gate<T = void> {
  readonly opened: Promise<T>;
  open: (value: T) => void = () => {};

  constructor() {
    this.opened = new Promise<T>((resolve) => {
      this.open = resolve;
    });
  }
}

/** Holds back calls to some methods while it is shut: before they reach the store, or before the answer comes back. */
export class Valve {
  readonly #methods: readonly StoreMethod[];
  readonly #side: "calls" | "answers";
  #gate: Gate | undefined;
  /** How many calls it holds back now. */
  waiting = 0;

  constructor(methods: StoreMethod | readonly StoreMethod[], side: "calls" | "answers") {
    this.#methods = typeof methods === "string" ? [methods] : methods;
    this.#side = side;
  }

  shut(): void {
    this.#gate ??= new Gate();
  }

  open(): void {
    this.#gate?.open();
    this.#gate = undefined;
  }

  readonly hook: StoreHook = async (method, _params, next) => {
    if (!this.#methods.includes(method)) return next();
    if (this.#side === "calls") await this.#pass();
    const answer = await next();
    if (this.#side === "answers") await this.#pass();
    return answer;
  };

  async #pass(): Promise<void> {
    if (!this.#gate) return;
    this.waiting += 1;
    await this.#gate.opened;
    this.waiting -= 1;
  }
}

/** Turns one process off and on: all of it, or only its connection to the store. */
export class Life {
  dead = false;
  /** How far ahead its wall clock is. */
  skewMs = 0;
  #frozen: Gate | undefined;
  #cutOff: Gate | undefined;
  readonly #held: (() => void)[] = [];

  /** From now on, nothing it does has any effect, and nothing reaches it. */
  kill(): void {
    this.dead = true;
  }

  /** The whole process stands still: timers, callbacks, calls and answers. */
  freeze(): void {
    this.#frozen ??= new Gate();
  }

  /** Only the network is gone, without an error: calls and answers are held back. */
  cutOff(): void {
    this.#cutOff ??= new Gate();
  }

  /** Everything held back happens now, in the original order. */
  thaw(clock: Clock): void {
    const [frozen, cutOff] = [this.#frozen, this.#cutOff];
    this.#frozen = undefined;
    this.#cutOff = undefined;
    for (const callback of this.#held.splice(0)) clock.immediate(callback);
    frozen?.open();
    cutOff?.open();
  }

  clock(clock: Clock): Clock {
    const guarded = (callback: () => void) => () => {
      if (this.dead) return;
      if (this.#frozen) this.#held.push(callback);
      else callback();
    };
    return {
      now: () => clock.now() + this.skewMs,
      monotonic: () => clock.monotonic(),
      setTimer: (delayMs, callback) => clock.setTimer(delayMs, guarded(callback)),
      immediate: (callback) => clock.immediate(guarded(callback)),
    };
  }

  notifier(notifier: Notifier): Notifier {
    return {
      publish: (hints) => notifier.publish(hints),
      subscribe: (listener) =>
        notifier.subscribe((hint) => {
          // Hints that arrive while the process cannot listen are lost, as in production.
          if (!this.dead && !this.#frozen && !this.#cutOff) listener(hint);
        }),
    };
  }

  readonly hook: StoreHook = async (_method, _params, next) => {
    await this.#passage();
    const answer = next();
    // A dead process must receive nothing, not even an error; a frozen one receives it later.
    await answer.catch(() => {});
    await this.#passage();
    return answer;
  };

  async #passage(): Promise<void> {
    while (this.#frozen ?? this.#cutOff) await (this.#frozen ?? this.#cutOff)?.opened;
    if (this.dead) await NEVER;
  }
}

/** One execution of a step's function. */
export interface Execution {
  readonly process: string;
  readonly runId: string;
  /** The id that users know the run by. */
  readonly id: string;
  readonly op: string;
  readonly attempt: number;
  readonly atMs: number;
  /** Whether, according to the store at that moment, this process held the run. */
  readonly held: boolean;
}

/** Hints of the memory store, some of which may be lost. */
class LossyNotifier implements Notifier {
  readonly #inner: Notifier;
  loses: (hint: Hint) => boolean = () => false;

  constructor(clock: Clock) {
    this.#inner = new MemoryNotifier(clock);
  }

  publish(hints: readonly Hint[]): void {
    this.#inner.publish(hints.filter((hint) => !this.loses(hint)));
  }

  subscribe(listener: (hint: Hint) => void): () => void {
    return this.#inner.subscribe(listener);
  }
}

export class Process {
  readonly name: string;
  readonly life = new Life();
  readonly client: Client;
  readonly #cluster: Cluster;
  readonly #workers: Worker[] = [];

  constructor(
    cluster: Cluster,
    name: string,
    hook: StoreHook | undefined,
    seed: number,
    environment: Environment | undefined,
  ) {
    this.#cluster = cluster;
    this.name = name;
    const { life } = this;
    const reached = throughNetwork(cluster.store, cluster.clock);
    const store = hooked(hooked(reached, life.hook), cluster.checksIds);
    const ports: PortsBundle = {
      clock: life.clock(cluster.clock),
      random: new SeededSource(seed),
      codec: jsonCodec,
      log: cluster.log,
      store: hook ? hooked(store, hook) : store,
      notifier: life.notifier(cluster.hints),
      steps: this.#steps(),
      ...(environment ? { environment } : {}),
      ...(cluster.telemetry ? { telemetry: cluster.telemetry } : {}),
    };
    this.client = new Client(ports, "default", async () => {}, cluster.lookMs);
  }

  makeWorker(options: WorkerOptions): Worker {
    const worker = this.client.worker({ lease: "30s", ...options });
    this.#workers.push(worker);
    return worker;
  }

  /** Makes a worker and starts it. */
  async worker(options: WorkerOptions): Promise<Worker> {
    const worker = this.makeWorker(options);
    await this.#cluster.until(worker.start());
    return worker;
  }

  kill(): void {
    this.life.kill();
  }

  thaw(): void {
    this.life.thaw(this.#cluster.clock);
  }

  #steps(): StepInterceptor {
    const cluster = this.#cluster;
    return {
      around: async ({ runId, op, attempt }, run) => {
        if (this.life.dead) return NEVER;
        const { id, heldBy, status } = cluster.run(runId);
        // An operator ends a run no matter which worker holds it, and the holder learns of it later.
        const held = status === "terminated" || this.#workers.some((worker) => worker.workerId === heldBy);
        cluster.executions.push({ process: this.name, runId, id, op, attempt, atMs: cluster.clock.monotonic(), held });
        return run();
      },
    };
  }
}

export class Cluster {
  readonly clock: VirtualClock;
  readonly hints: LossyNotifier;
  readonly store: MemoryStore;
  readonly executions: Execution[] = [];
  /** Lines that workers wrote at level error. */
  readonly errors: string[] = [];
  readonly log: Logger = {
    debug() {},
    info() {},
    warn() {},
    error: (fields, message) => void this.errors.push(`${message} ${JSON.stringify(fields)}`),
  };
  /** Of the processes that are made from now on. */
  telemetry: Telemetry | undefined;
  /** How often clients look for what no hint has told them of; undefined: as often as they do by themselves. */
  readonly lookMs: number | undefined;
  #processes = 0;

  /** `clock`: that of another cluster, so that both live in one time. */
  constructor({
    lookMs,
    clock = new VirtualClock(),
  }: { readonly lookMs?: number; readonly clock?: VirtualClock } = {}) {
    this.clock = clock;
    this.hints = new LossyNotifier(clock);
    this.store = new MemoryStore({ clock, notifier: this.hints });
    this.lookMs = lookMs;
  }

  /** Ids of workers are UUIDs in every call, whatever state the worker is in. */
  readonly checksIds: StoreHook = (method, params, next) => {
    const workerId = (params as { readonly workerId?: unknown } | undefined)?.workerId;
    if (workerId !== undefined && !UUID.test(String(workerId))) this.errors.push(`${method} for worker "${workerId}"`);
    return next();
  };

  process(name = `p${this.#processes + 1}`, hook?: StoreHook, environment?: Environment): Process {
    this.#processes += 1;
    return new Process(this, name, hook, this.#processes, environment);
  }

  /** Advances time until the promise has settled; an hour of virtual time is more than anything here takes. */
  until<T>(promise: Promise<T>, patience: Duration = "1 hour"): Promise<T> {
    return this.clock.until(promise, patience);
  }

  /** Advances time, from timer to timer, until the condition holds. */
  async when(condition: () => boolean, patience: Duration = "3 minutes"): Promise<void> {
    const reached = new Gate();
    const look = (): void => {
      if (condition()) reached.open();
      else timer = this.clock.setTimer(20, look);
    };
    let timer = this.clock.setTimer(0, look);
    try {
      await this.until(reached.opened, patience);
    } finally {
      timer.cancel();
    }
  }

  wait(ms: number): Promise<void> {
    return new Promise((resolve) => void this.clock.setTimer(ms, resolve));
  }

  run(runId: string): RunRecord {
    const row = this.store.state.runs.get(runId);
    if (!row) throw new Error(`no run ${runId}`);
    return row;
  }

  /** The newest run of an id. */
  runOf(id: string): RunRecord {
    const runId = this.store.state.byId.get(`default\n${id}`)?.at(-1);
    return this.run(runId ?? id);
  }

  eventsOf(id: string): readonly HistoryEvent[] {
    return this.store.state.events.get(this.runOf(id).runId) ?? [];
  }

  /** How many times an op's function was executed, over all runs of the id. */
  count(id: string, op: string): number {
    return this.executions.filter((execution) => execution.id === id && execution.op === op).length;
  }

  /** Steps that were started for a run that, according to the store, another process held. */
  trespasses(): string[] {
    return this.executions
      .filter(({ held }) => !held)
      .map(({ process, id, op, atMs }) => `${process}: ${id} ${op} at ${atMs}`);
  }

  /** Attempts whose function was executed more than once. */
  repeated(): string[] {
    const seen = new Map<string, number>();
    for (const { runId, id, op, attempt } of this.executions) {
      const key = `${id} ${runId} ${op} attempt ${attempt}`;
      seen.set(key, (seen.get(key) ?? 0) + 1);
    }
    return [...seen].filter(([, times]) => times > 1).map(([key, times]) => `${key}: ${times} times`);
  }
}

/** Everything that must be true of the store's contents, whatever has failed. */
export function faultsInStore(store: MemoryStore): string[] {
  const faults: string[] = [];
  for (const run of store.state.runs.values()) {
    const events = store.state.events.get(run.runId) ?? [];
    const fault = (text: string): void => void faults.push(`${run.id}: ${text}`);
    if (events.length !== run.eventCount) fault(`${events.length} events, but the row says ${run.eventCount}`);
    if (run.consumed > run.delivered) fault(`${run.consumed} messages consumed of ${run.delivered}`);
    const ended = new Set<string>();
    const messages = new Set<string>();
    events.forEach((event, i) => {
      if (event.seq !== i + 1) fault(`event ${event.seq} stands at place ${i + 1}`);
      if (event.at < (events[i - 1]?.at ?? 0)) fault(`event ${event.seq} is earlier than the one before`);
      if (/^(step_completed|step_failed|timer_fired)$/.test(event.type)) {
        if (ended.has(event.op as string)) fault(`"${event.op}" has ended twice`);
        ended.add(event.op as string);
      }
      // A retry of the whole run forgets what has failed.
      for (const op of event.meta?.forgets ?? []) ended.delete(op);
      const messageId = event.meta?.messageId;
      // The id of a retry is that of its call, which is no message.
      if (messageId === undefined || event.type === "run_retried") return;
      if (messages.has(messageId)) fault(`message ${messageId} was moved into history twice`);
      messages.add(messageId);
    });
    const consumed = (store.state.inbox.get(run.runId) ?? []).slice(0, run.consumed);
    const moved = consumed.filter(({ messageId }) => messages.has(messageId));
    if (moved.length !== messages.size) fault(`${messages.size} messages in history, ${moved.length} of them consumed`);
    for (const message of consumed)
      if (!messages.has(message.messageId) && !isTooLate(message, run, events) && !wasRefused(store, run, message))
        fault(`message ${message.number} was consumed, but is not in history`);
  }
  return faults;
}

/** A result message that arrives after its op was withdrawn leaves no trace: its step has no other end either. */
function isTooLate({ kind, name, messageId }: Message, run: RunRecord, events: readonly HistoryEvent[]): boolean {
  if (kind !== "outcome") return false;
  if (messageId !== outcomeMessageId(run.runId, name)) return run.continuedFrom !== null;
  // A retry of the run may reach the same step again, and gets the same result message.
  const retried = events.some(({ type }) => type === "run_retried");
  return retried || !events.some(({ op, type }) => op === name && /^step_(completed|failed)$/.test(type));
}

/** An update that was refused leaves an answer, and not always an event; a pause or a resume that changes nothing leaves none. */
function wasRefused(store: MemoryStore, { firstRunId }: RunRecord, { kind, messageId }: Message): boolean {
  if (kind === "pause" || kind === "resume") return true;
  return kind === "update" && store.state.updates.get(firstRunId)?.get(messageId)?.reply?.error !== undefined;
}
