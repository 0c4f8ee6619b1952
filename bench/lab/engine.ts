/** What every engine looks like to the workloads: ours, the peers (bench/peers) and the bare limits (bench/limits). */
import type { Hooks } from "./hooks.ts";
import type { Inside } from "./inside.ts";

/** Plain numbers by name: rates, milliseconds, counts. */
export type Figures = Record<string, number>;
/** The parameters of a workload. */
export type Size = Readonly<Record<string, number>>;

/**
 * `seq`: n steps one after the other; `fan`: n steps at once; `sleep`: n milliseconds; `nap`: until the time n; `wait`: for a
 * signal; `payload`: three steps with results of n bytes. Bodies report to the hooks.
 */
export type Kind = "seq" | "fan" | "sleep" | "nap" | "wait" | "payload";

export interface Started {
  result(): Promise<unknown>;
}

export interface Engine {
  /** Resolves when the start is durable. */
  start(kind: Kind, id: string, arg: number): Promise<Started>;
  startMany?(kind: Kind, ids: readonly string[], arg: (i: number) => number): Promise<unknown>;
  signal?(id: string): Promise<unknown>;
  /** Runs that the engine's own store does not know as ended. */
  pending(): Promise<number>;
  /** How much of the lease of a worker that died is left. */
  leaseLeftMs?(): Promise<number>;
  close(): Promise<unknown>;
}

export interface OpenParams {
  readonly url: string;
  readonly folder: string;
  readonly hooks: Hooks;
  readonly workload: string;
  readonly size: Size;
  /** The second process of a recovery: everything is there already. */
  readonly again: boolean;
  /** A client without a worker, where the engine can tell them apart. */
  readonly clientOnly: boolean;
}

/** A server that an engine brings along, one for each measurement. */
export interface OwnServer {
  readonly pid: number;
  stop(): Promise<void>;
}

export interface EngineDefinition {
  readonly name: string;
  readonly title: string;
  readonly kind: "own" | "limit" | "engine" | "queue";
  readonly store: "postgres" | "sqlite" | "own";
  /** What is not its default, for the reader of the figures. */
  readonly settings: string;
  readonly workloads: readonly string[];
  /** Where the tree of another commit stands, whose processes are measured; its name there is what stands before the `@`. */
  readonly tree?: string;
  /** What an engine cannot do at full size, or what would take it too long. */
  readonly sizes?: Readonly<Record<string, Size>>;
  prepare?(folder: string, workload: string): Promise<OwnServer>;
  open?(params: OpenParams): Promise<Engine>;
  /** Limits have no engine to open; they do a workload's work by themselves. */
  readonly bare?: Readonly<Record<string, (inside: Inside) => Promise<Figures>>>;
}
