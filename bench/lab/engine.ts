/** The interface of every engine to the workloads: ours, the peers (bench/peers) and the bare limits (bench/limits). */
import type { Hooks } from "./hooks.ts";
import type { Inside } from "./inside.ts";

/** Plain numbers by name: rates, milliseconds, counts. */
export type Figures = Record<string, number>;
/** The parameters of a workload. */
export type Size = Readonly<Record<string, number>>;

/**
 * `seq`: n steps one after the other; `fan`: n steps at once; `sleep`: n milliseconds; `nap`: until the time n; `wait`: for a
 * signal; `payload`: three steps with results of n bytes; `tasks`: n tasks one after the other; `family`: n children at once;
 * `talk`: n steps, then open for updates and queries, without an end. Bodies report to the hooks.
 */
export type Kind = "seq" | "fan" | "sleep" | "nap" | "wait" | "payload" | "tasks" | "family" | "talk";

export interface Started {
  result(): Promise<unknown>;
}

export interface Engine {
  /** Resolves when the start is durable. */
  start(kind: Kind, id: string, arg: number): Promise<Started>;
  startMany?(kind: Kind, ids: readonly string[], arg: (i: number) => number): Promise<unknown>;
  signal?(id: string): Promise<unknown>;
  /** Adds to the total of a `talk`; what that is now. */
  update?(id: string, add: number): Promise<number>;
  /** The total of a `talk`, as its code says. */
  query?(id: string): Promise<number>;
  /** The total that a `talk` published before it began to wait, as the store says. */
  published?(id: string): Promise<unknown>;
  /** Creates a schedule that is due once, at that time. */
  schedule?(id: string, at: number): Promise<unknown>;
  /** Of the runs of all schedules: how much later than its time each was created, and begun. */
  lateness?(): Promise<readonly { readonly firedMs: number; readonly beganMs: number }[]>;
  /** Runs that have not ended according to the engine's own store. */
  pending(): Promise<number>;
  /** How much of the lease of a dead worker is left. */
  leaseLeftMs?(): Promise<number>;
  close(): Promise<unknown>;
}

export interface OpenParams {
  readonly url: string;
  readonly folder: string;
  readonly hooks: Hooks;
  readonly workload: string;
  readonly size: Size;
  /** The second process of a recovery: the store already exists. */
  readonly again: boolean;
  /** A client without a worker, if the engine distinguishes them. */
  readonly clientOnly: boolean;
  /** What the worker of this process executes. */
  readonly serves: Serves;
}

export type Serves = "everything" | "runs" | "tasks";

/** A server that an engine starts itself, one per measurement. */
export interface OwnServer {
  readonly pid: number;
  stop(): Promise<void>;
}

export interface EngineDefinition {
  readonly name: string;
  readonly title: string;
  readonly kind: "own" | "limit" | "engine" | "queue";
  readonly store: "postgres" | "sqlite" | "own";
  /** The settings that are not its defaults, for readers of the figures. */
  readonly settings: string;
  readonly workloads: readonly string[];
  /** The tree of another commit whose processes are measured; the engine's name there is the part before the `@`. */
  readonly tree?: string;
  /** Smaller sizes for what the engine cannot do at full size, or what would take too long. */
  readonly sizes?: Readonly<Record<string, Size>>;
  prepare?(folder: string, workload: string): Promise<OwnServer>;
  open?(params: OpenParams): Promise<Engine>;
  /** Limits have no engine to open; they do the work of a workload themselves. */
  readonly bare?: Readonly<Record<string, (inside: Inside) => Promise<Figures>>>;
}
