import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { CheckedDuration } from "../../model/checked-duration.ts";
import type { Attributes } from "../../model/event.ts";
import type { Stored, Synchronous, Whole } from "../../model/stored.ts";
import type { RunLogger } from "../../ports/logger.ts";
import type { Compensation, StepFunction, StepOptions } from "../ops/step-options.ts";

/** A typed name for messages from outside. Made by `signal<T>(name)`. `Sent` differs where a schema converts. */
export interface SignalDefinition<T = unknown, Sent = T> {
  readonly kind: "signal";
  readonly name: string;
  readonly schema?: StandardSchemaV1;
  /** Carry the types; never set. */
  readonly payloadType?: T;
  readonly sentType?: Sent;
}

/** What a run knows of itself: `ctx.info`. */
export interface RunInfo {
  /** Of this run alone; a run that continues as new gets another. */
  readonly runId: string;
  /** The id that the start gave, or the run id if it gave none. Stays the same when the run continues as new. */
  readonly id: string;
  /** The name of the workflow. */
  readonly workflow: string;
  /** The version of the code that the run was started with. */
  readonly version: string;
  /** The namespace of the client that started it. */
  readonly namespace: string;
  /** The queue that it is in. */
  readonly queue: string;
  /** Events that this run has seen so far: a reason to continue as new when it grows large. */
  readonly historyLength: number;
}

/** A part of a workflow. Ops asked for through the ctx it is given belong to the branch and are canceled with it. */
export type Branch<T = unknown> = (ctx: Context) => T | PromiseLike<T>;
/** Branches whose results come back as a list. */
export type BranchList = readonly Branch[];
/** Branches whose results come back under the same names. */
export type BranchMap = Readonly<Record<string, Branch>>;
/** Branches of `ctx.parallel` and `ctx.race`: a list, or an object with names. */
export type Branches = BranchList | BranchMap;

type ResultOf<F> = F extends (...args: never[]) => infer R ? Awaited<R> : never;
/** Results in the shape of the branches. */
export type Outcomes<B extends Branches> = { -readonly [K in keyof B]: ResultOf<B[K]> };
/** Every outcome in the shape of the branches, as `Promise.allSettled` gives it. */
export type Settled<B extends Branches> = { -readonly [K in keyof B]: PromiseSettledResult<ResultOf<B[K]>> };

/** Options of `ctx.parallel`. */
export interface ParallelOptions {
  /**
   * `"fail-fast"`: the first error rejects and cancels the others. `"collect-all"`: waits for all, and gives every outcome.
   * @defaultValue `"fail-fast"`
   */
  readonly onError?: "fail-fast" | "collect-all";
  /**
   * How many branches may be under way at once.
   * @defaultValue no limit
   */
  readonly limit?: number;
}

/** The options with which `ctx.parallel` gives every outcome instead of the results. */
export type CollectAll = ParallelOptions & { readonly onError: "collect-all" };

/** Which branch won: its key, or its position as a number when the branches are a list. */
export type RaceResult<B extends Branches> = B extends readonly Branch[]
  ? { readonly winner: number; readonly value: ResultOf<B[number]> }
  : { [K in keyof B & string]: { readonly winner: K; readonly value: ResultOf<B[K]> } }[keyof B & string];

/** What a run that goes on as a new one is given. It may be left out where the workflow takes no input. */
export type ContinueArguments<I> = undefined extends I ? [input?: I] : [input: I];

/**
 * What workflow code may use. Everything here gives the same answers on every replay. It may be taken apart:
 * `async ({ step, sleep }) => …`. `I` is the input of the workflow.
 */
export interface Context<I = unknown> {
  /** Id, run id, workflow, version, namespace, queue and length of the history of this run. */
  readonly info: RunInfo;
  /** `ctx.log.info("text")`, with fields before or after it. Silent during replay, so that a line is written once. */
  readonly log: RunLogger;
  /** Aborted when the run is canceled or times out. */
  readonly abortSignal: AbortSignal;

  /** Work with effects: executed at least once, never again once its result is recorded. */
  step<T, S extends string = string>(
    name: string & Whole<T>,
    fn: StepFunction<T>,
    options?: StepOptions<Stored<T>, S>,
  ): Promise<T>;
  step<T, S extends string = string>(
    name: string & Whole<T>,
    fn: StepFunction<T>,
    options?: StepOptions<T, S>,
  ): Promise<T>;
  step<T, S extends string = string>(
    name: string,
    fn: StepFunction<T>,
    options?: StepOptions<Stored<T>, S>,
  ): Promise<Stored<T>>;
  /** Waits, however often the process dies meanwhile. The time is fixed when the sleep begins. */
  sleep<S extends string = string>(name: string, duration: CheckedDuration<S>): Promise<void>;
  /** Waits until that moment; not at all if it has passed. */
  sleepUntil(name: string, date: Date): Promise<void>;
  /** The next signal of that name; what was sent before anyone waited is kept, in order. With a timeout: `undefined` when nothing came. */
  receive<T>(signal: SignalDefinition<T, unknown>): Promise<T>;
  receive<T, S extends string = string>(
    signal: SignalDefinition<T, unknown>,
    options: { readonly timeout: CheckedDuration<S> },
  ): Promise<T | undefined>;

  /** Runs branches at once, and gives their results in the shape of the branches: a list or an object. */
  parallel<const B extends BranchList>(branches: B, options: CollectAll): Promise<Settled<B>>;
  parallel<const B extends BranchList>(branches: B, options?: ParallelOptions): Promise<Outcomes<B>>;
  parallel<B extends BranchMap>(branches: B, options: CollectAll): Promise<Settled<B>>;
  parallel<B extends BranchMap>(branches: B, options?: ParallelOptions): Promise<Outcomes<B>>;
  parallel<B extends Branches>(branches: B, options?: ParallelOptions): Promise<Outcomes<B> | Settled<B>>;
  /** The first branch to succeed; the others are canceled. Fails only when every branch has failed. */
  race<const B extends BranchList>(branches: B): Promise<RaceResult<B>>;
  race<B extends Branches>(branches: B): Promise<RaceResult<B>>;
  /** Ops asked for in here go on when the run is canceled. */
  uncancelable<T>(fn: Branch<T>): Promise<T>;

  /** A value that is computed once and recorded along with whatever comes next. For reading a flag, not for effects. */
  sideEffect<T>(name: string & Whole<T>, fn: () => T): T;
  sideEffect<T>(name: string, fn: (() => T) & Synchronous<T>): Stored<T>;
  /** The time of the event that the code has seen last: the same on every replay. */
  now(): Date;
  /** From 0 up to 1, from a seed that is stored with the run. */
  random(): number;
  /** A new id each time, the same on every replay; with a name always the same one for this run. */
  uuid(name?: string): string;
  /** Search attributes: readable and filterable from outside. */
  set(attributes: Attributes): void;
  /**
   * True in code that runs for the first time; false where earlier code has come past, whatever the run waits for. The answer
   * is per place, not per run: for changes that belong together ask once, and keep the answer in a variable.
   */
  patched(id: string): boolean;
  /** Stands where a step stood that is gone: its record in older histories is passed over, and a run that has it in flight goes on without it. */
  retired(name: string): void;
  /**
   * Adds something to undo, last in first out, if the run fails or is canceled from here on. Retried like every compensation: up to
   * ten attempts, see `compensate` of a step.
   */
  compensate(name: string, fn: Compensation<never>): void;
  /**
   * Ends this run and starts a fresh one of the same id, with signals that were not received. Does not return. It decides at once:
   * what is pending is dropped, and a `catch` or `finally` around it changes nothing and can ask for nothing. The input is what
   * the function takes; a schema is not applied to it again.
   */
  continueAsNew(...rest: ContinueArguments<I>): never;
}

/** Thrown by `ctx.continueAsNew`. Not an error: it unwinds the workflow function, for which all is decided by then. */
export class ContinueAsNew {}
