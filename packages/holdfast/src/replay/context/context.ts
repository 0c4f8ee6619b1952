import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { CheckedDuration } from "../../model/checked-duration.ts";
import type { Attributes } from "../../model/event.ts";
import type { Stored, Synchronous, Whole } from "../../model/stored.ts";
import type { RunLogger } from "../../ports/logger.ts";
import type { ChildOptions } from "../ops/child-options.ts";
import type { ChildDefinition } from "../ops/start-options.ts";
import type { Compensation, StepFunction, StepOptions } from "../ops/step-options.ts";
import type { TaskCallOptions, TaskDefinition } from "../ops/task-options.ts";
import type {
  Answer,
  QueryArguments,
  QueryDefinition,
  QueryHandler,
  UpdateDefinition,
  UpdateFunction,
  UpdateHandler,
} from "./conversations.ts";
import type { Offers } from "./offers.ts";

/** A typed name for messages from outside. Made by `signal<T>(name)`. `Sent` differs if a schema converts. */
export interface SignalDefinition<T = unknown, Sent = T> {
  readonly kind: "signal";
  readonly name: string;
  readonly schema?: StandardSchemaV1;
  /** Carry the types; never set. */
  readonly payloadType?: T;
  readonly sentType?: Sent;
}

/** What a run knows about itself: `ctx.info`. */
export interface RunInfo {
  /** Identifies this run alone; a run that continues as new gets another. */
  readonly runId: string;
  /** The id given at the start, or the run id if none was given. Stays the same when the run continues as new. */
  readonly id: string;
  /** The name of the workflow. */
  readonly workflow: string;
  /** The version of the code that the run was started with. */
  readonly version: string;
  /** The namespace of the client that started it. */
  readonly namespace: string;
  /** The run's queue. */
  readonly queue: string;
  /** The id of the schedule that has started the run; absent if none has. */
  readonly schedule?: string;
  /** The time of the schedule that the run was started for; for one that was triggered, when that was. Absent without a schedule. */
  readonly scheduledAt?: Date;
  /** Number of events in the history so far: a reason to continue as new when it grows large. */
  readonly historyLength: number;
}

/** A part of a workflow. Ops asked for through the ctx that it receives belong to the branch and are canceled with it. */
export type Branch<T = unknown> = (ctx: Context) => T | PromiseLike<T>;
/** Branches whose results are returned as a list. */
export type BranchList = readonly Branch[];
/** Branches whose results are returned under the same names. */
export type BranchMap = Readonly<Record<string, Branch>>;
/** Branches of `ctx.parallel` and `ctx.race`: a list, or an object with names. */
export type Branches = BranchList | BranchMap;

type ResultOf<F> = F extends (...args: never[]) => infer R ? Awaited<R> : never;
/** Results in the shape of the branches. */
export type Outcomes<B extends Branches> = { -readonly [K in keyof B]: ResultOf<B[K]> };
/** Every outcome in the shape of the branches, as `Promise.allSettled` returns it. */
export type Settled<B extends Branches> = { -readonly [K in keyof B]: PromiseSettledResult<ResultOf<B[K]>> };

/** Options of `ctx.parallel`. */
export interface ParallelOptions {
  /**
   * `"fail-fast"`: the first error rejects and cancels the others. `"collect-all"`: waits for all, and returns every
   * outcome.
   * @defaultValue `"fail-fast"`
   */
  readonly onError?: "fail-fast" | "collect-all";
  /**
   * How many branches may run at once.
   * @defaultValue no limit
   */
  readonly limit?: number;
}

/** The options with which `ctx.parallel` returns every outcome instead of the results. */
export type CollectAll = ParallelOptions & { readonly onError: "collect-all" };

/** Which branch won: its key, or its index if the branches are a list. */
export type RaceResult<B extends Branches> = B extends readonly Branch[]
  ? { readonly winner: number; readonly value: ResultOf<B[number]> }
  : { [K in keyof B & string]: { readonly winner: K; readonly value: ResultOf<B[K]> } }[keyof B & string];

/** The input of a run that continues as new. Optional if the workflow takes no input. */
export type ContinueArguments<I> = undefined extends I ? [input?: I] : [input: I];

/** What `ctx.task` takes besides the definition. The input is optional if the task takes none. */
export type TaskArguments<I, O, S extends string = string> = undefined extends I
  ? [input?: I, options?: TaskCallOptions<O, S>]
  : [input: I, options?: TaskCallOptions<O, S>];

/** What `ctx.child` takes besides the definition. The input is optional if the workflow takes none. */
export type ChildArguments<I, O, S extends string = string> = undefined extends I
  ? [input?: I, options?: ChildOptions<O, S>]
  : [input: I, options?: ChildOptions<O, S>];

/** The payload is required unless the signal may be sent without one. */
export type SentPayload<P> = undefined extends P ? [payload?: P] : [payload: P];

/** Options of `ctx.withLock`. */
export interface LockOptions<S extends string = string> {
  /**
   * How many may hold the lock at once, from 1 to 10,000. Of different ones for the same name, the newest request counts.
   * @defaultValue `1`
   */
  readonly limit?: number;
  /**
   * How long to wait for the lock.
   * @defaultValue as long as it takes
   */
  readonly timeout?: CheckedDuration<S>;
}

/** A lock that the run holds. */
export interface HeldLock {
  /**
   * Larger than that of everybody who has held the lock before. Pass it to whatever the lock protects, which can then refuse those that
   * come too late. Read it where it is used: after a retry of the run the lock is another one.
   */
  readonly fence: number;
}

/** Another run: its id, also one in another namespace, or the handle of a child. With a run id: that run and its continuations. */
export type RunTarget =
  | string
  | { readonly id: string; readonly namespace?: string }
  | { readonly id: string; readonly runId: string; readonly namespace?: string };

/** A child, in the workflow code of its parent. `T` is what its workflow returns, `M` what it can be sent. */
export interface ChildHandle<T = unknown, M extends Offers = Offers> {
  /** The id of the run: the one that was given, or its run id. */
  readonly id: string;
  readonly runId: string;
  /** The name of its workflow. */
  readonly workflow: string;
  /** Its output, once it has completed; rejects if it ends in any other way. */
  result(): Promise<T>;
  /** Sends it a signal, exactly once. */
  signal<R, P>(signal: SignalDefinition<R, P> & M["signals"], ...payload: SentPayload<NoInfer<P>>): Promise<void>;
  /** Sends it an update, exactly once, and resolves with the answer of its handler. */
  update<In, Out, Sent>(
    update: UpdateDefinition<In, Out, Sent> & M["updates"],
    ...argument: QueryArguments<NoInfer<Sent>>
  ): Promise<Answer<Out>>;
  /** Asks it to stop. A child that has ended is not changed. */
  cancel(reason?: string): Promise<void>;
  /** Only carries the type; never set. */
  readonly offersType?: M;
}

/** The signals that another run takes: those that its workflow lists, if the handle of a child says so. */
export type SignalsOf<To> = To extends ChildHandle<infer _T, infer M> ? M["signals"] : unknown;

/**
 * What workflow code may use. Everything here gives the same answers on every replay. It may be destructured: `async ({
 * step, sleep }) => …`. `I` is the input of the workflow, `M` what its runs can be sent.
 */
export interface Context<I = unknown, M extends Offers = Offers> {
  /** Id, run id, workflow, version, namespace, queue and history length of this run. */
  readonly info: RunInfo;
  /** `ctx.log.info("text")`, with fields before or after it. Silent during replay, so that each line is written once. */
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
  /** Work that another worker does, or someone with its token; the result comes back, whatever dies in the meantime. */
  task<I, O, S extends string = string>(
    definition: TaskDefinition<I, O>,
    ...inputAndOptions: TaskArguments<I, O, S>
  ): Promise<O>;
  /** Waits, even if the process dies in the meantime. The time is fixed when the sleep begins. */
  sleep<S extends string = string>(name: string, duration: CheckedDuration<S>): Promise<void>;
  /** Waits until that time; not at all if it has passed. */
  sleepUntil(name: string, date: Date): Promise<void>;
  /**
   * The next signal of that name; signals sent before the run waits are kept, in order. With a timeout: `undefined` if none
   * came.
   */
  receive<T>(signal: SignalDefinition<T, unknown> & M["signals"]): Promise<T>;
  receive<T, S extends string = string>(
    signal: SignalDefinition<T, unknown> & M["signals"],
    options: { readonly timeout: CheckedDuration<S> },
  ): Promise<T | undefined>;

  /**
   * Answers a query or an update of that name from now on. Register before the first await: until then, updates and queries
   * are refused with `handler_not_found`. The last handler of a name counts.
   */
  on<Out, In>(query: QueryDefinition<Out, In, unknown> & M["queries"], handler: QueryHandler<Out, In>): void;
  on<In, Out>(
    update: UpdateDefinition<In, Out, unknown> & M["updates"],
    handler: UpdateFunction<In, Out> | UpdateHandler<In, Out>,
  ): void;
  /**
   * Waits until the predicate is true: whenever the code has come to rest, after an update, a signal, a step or another branch,
   * it is called. It looks at variables of the workflow, answers at once, and cannot use ctx. With a timeout: `false` if that
   * has passed.
   */
  until(predicate: () => boolean): Promise<true>;
  until<S extends string = string>(
    predicate: () => boolean,
    options: { readonly timeout?: CheckedDuration<S> },
  ): Promise<boolean>;

  /** Runs branches concurrently, and returns their results in the shape of the branches: a list or an object. */
  parallel<const B extends BranchList>(branches: B, options: CollectAll): Promise<Settled<B>>;
  parallel<const B extends BranchList>(branches: B, options?: ParallelOptions): Promise<Outcomes<B>>;
  parallel<B extends BranchMap>(branches: B, options: CollectAll): Promise<Settled<B>>;
  parallel<B extends BranchMap>(branches: B, options?: ParallelOptions): Promise<Outcomes<B>>;
  parallel<B extends Branches>(branches: B, options?: ParallelOptions): Promise<Outcomes<B> | Settled<B>>;
  /** The first branch to succeed; the others are canceled. Fails only if every branch fails. */
  race<const B extends BranchList>(branches: B): Promise<RaceResult<B>>;
  race<B extends Branches>(branches: B): Promise<RaceResult<B>>;
  /** Ops asked for in here continue when the run is canceled. */
  uncancelable<T>(fn: Branch<T>): Promise<T>;

  /**
   * Calls the function while the run holds the lock of that name, and gives the lock back when the function has settled. At most
   * `limit` holders of the namespace are inside at once; the others wait in the order in which they asked. The lock belongs to the
   * run: it survives its worker, and goes when the run ends, however that is. Rejects with `lock_timeout` if the lock was not
   * granted in time, and with `lock_held` if this part of the run holds it already, or waits for it.
   */
  withLock<T>(name: string, fn: (lock: HeldLock) => T): Promise<Awaited<T>>;
  withLock<T, S extends string = string>(
    name: string,
    options: LockOptions<S> | undefined,
    fn: (lock: HeldLock) => T,
  ): Promise<Awaited<T>>;

  /** A value that is computed once and recorded with the next event. For reading a flag, not for effects. */
  sideEffect<T>(name: string & Whole<T>, fn: () => T): T;
  sideEffect<T>(name: string, fn: (() => T) & Synchronous<T>): Stored<T>;
  /** The time of the last event that the code has seen: the same on every replay. */
  now(): Date;
  /** From 0 up to 1, from a seed that is stored with the run. */
  random(): number;
  /** A new id each time, the same on every replay; with a name, always the same one for this run. */
  uuid(name?: string): string;
  /** Search attributes: readable and filterable from outside. */
  set(attributes: Attributes): void;
  /**
   * True in code that runs for the first time; false in turns that earlier code has finished, whatever the run waits
   * for. The answer is per place, not per run: for changes that belong together ask once, and keep the answer in a variable.
   */
  patched(id: string): boolean;
  /**
   * Marks the place of a step that was removed, or of another op with a name: its record in older histories is skipped,
   * and a run that has it in flight continues without it. Its compensation is removed with it.
   */
  retired(name: string): void;
  /**
   * Adds something to undo, last in first out, if the run fails or is canceled from here on. Retried like every
   * compensation: up to ten attempts, see `compensate` of a step.
   */
  compensate(name: string, fn: Compensation<never>): void;
  /**
   * Ends this run and starts a fresh one with the same id and the signals that were not received. Does not return. The
   * decision is final: pending ops are dropped, and a `catch` or `finally` around it changes nothing and cannot ask for ops.
   * The input is what the function takes; a schema is not applied to it again.
   */
  continueAsNew(...rest: ContinueArguments<I>): never;

  /**
   * Starts another run and waits for its output. Rejects with its error if it ends in any other way, and if its input is
   * refused: by the schema, which must answer at once, or because it cannot be stored or is too large. Misuse, such as an
   * unknown option, throws. The same goes for everything that is sent to another run.
   */
  child<I, O, S extends string = string>(
    definition: ChildDefinition<I, O>,
    ...inputAndOptions: ChildArguments<I, O, S>
  ): Promise<O>;
  /** Starts another run, and resolves once it exists. Rejects and throws as `child` does. */
  startChild<I, O, N extends Offers, S extends string = string>(
    definition: ChildDefinition<I, O, N>,
    ...inputAndOptions: ChildArguments<I, O, S>
  ): Promise<ChildHandle<O, N>>;
  /** Sends a signal to another run, exactly once. Rejects if there is no such run, or it has ended. */
  signal<To extends RunTarget, R, P>(
    to: To,
    signal: SignalDefinition<R, P> & SignalsOf<To>,
    ...payload: SentPayload<NoInfer<P>>
  ): Promise<void>;
  /** Asks another run to stop. A run that has ended is not changed. */
  cancel(to: RunTarget, reason?: string): Promise<void>;
  /**
   * The output of another run, once it has completed. Rejects with its error if it ends in any other way. Throws if it is asked
   * for the run itself.
   */
  resultOf<T>(child: ChildHandle<T>): Promise<T>;
  resultOf(to: RunTarget): Promise<unknown>;
  resultOf<O>(definition: ChildDefinition<unknown, O>, to: RunTarget): Promise<O>;
}

/** Thrown by `ctx.continueAsNew`. Not an error: it unwinds the workflow function, whose end is already decided. */
export class ContinueAsNew {}
