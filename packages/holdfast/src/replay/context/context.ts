import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { CheckedDuration } from "../../model/checked-duration.ts";
import type { Attributes } from "../../model/event.ts";
import type { Stored, Whole } from "../../model/stored.ts";
import type { RunLogger } from "../../ports/logger.ts";
import type { Compensation, StepFunction, StepOptions } from "../ops/step-options.ts";
import type {
  Branch,
  Branches,
  BranchList,
  BranchMap,
  CollectAll,
  Outcomes,
  ParallelOptions,
  RaceResult,
  Settled,
} from "./branches.ts";

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
  sideEffect<T>(name: string, fn: () => T): Stored<T>;
  /** The time of the event that the code has seen last: the same on every replay. */
  now(): Date;
  /** From 0 up to 1, from a seed that is stored with the run. */
  random(): number;
  /** A new id each time, the same on every replay; with a name always the same one for this run. */
  uuid(name?: string): string;
  /** Search attributes: readable and filterable from outside. */
  set(attributes: Attributes): void;
  /** True in code that runs for the first time; false where earlier code has come past, whatever the run waits for. */
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
