import type { StandardSchemaV1 } from "@standard-schema/spec";
import { HoldfastError } from "../errors/holdfast-error.ts";
import { checkedLater, checkOptions, isFunction, isPlainObject, requireDuration } from "../errors/option-checks.ts";
import { shownValue } from "../errors/shown-value.ts";
import type { CheckedDuration } from "../model/checked-duration.ts";
import type { Duration } from "../model/duration.ts";
import type { Attributes } from "../model/event.ts";
import { nameFault, valueFault } from "../model/names.ts";
import type { Stored, Whole } from "../model/stored.ts";
import type { RunLogger } from "../ports/logger.ts";
import { RECEIVE_PREFIX } from "./ask.ts";
import { bindWhenRead } from "./bound-methods.ts";
import {
  type Branch,
  type Branches,
  type BranchList,
  type BranchMap,
  type CollectAll,
  type Outcomes,
  type ParallelOptions,
  type RaceResult,
  runParallel,
  runRace,
  type Settled,
} from "./branches.ts";
import { type StepWork, stepWork, type TransactionWork } from "./op.ts";
import { runLogger } from "./run-logger.ts";
import type { RunMachine } from "./run-machine.ts";
import { Scope } from "./scope.ts";
import {
  type Compensation,
  DEFAULT_OPTIONS,
  resolveStepOptions,
  type StepFunction,
  type StepOptions,
} from "./step-options.ts";

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
  /** Stands where a step stood that is gone: its record in older histories is passed over. */
  retired(name: string): void;
  /** Adds something to undo, last in first out, if the run fails or is canceled from here on. */
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

const RECEIVE_OPTIONS = { timeout: checkedLater };

export function createContext(machine: RunMachine, scope: Scope): Context {
  return new RunContext(machine, scope);
}

/** Asks for a step whose effects commit together with its record; for the `transaction` function of an adapter. */
export function askTransaction(
  ctx: Context,
  name: string,
  work: TransactionWork,
  options?: StepOptions<unknown>,
): Promise<unknown> {
  return RunContext.transaction(ctx, name, work, options);
}

class RunContext implements Context {
  readonly #machine: RunMachine;
  readonly #scope: Scope;
  #log: RunLogger | undefined;
  #info: RunInfo | undefined;
  #bound: unknown[] | undefined;

  constructor(machine: RunMachine, scope: Scope) {
    this.#machine = machine;
    this.#scope = scope;
  }

  static {
    bindWhenRead(RunContext.prototype, (ctx) => {
      ctx.#bound ??= [];
      return ctx.#bound;
    });
  }

  /** By this the codec knows it, and says so when somebody returns it. */
  get [Symbol.toStringTag](): string {
    return "Context";
  }

  /** Made when first asked for: most runs never write a line. */
  get log(): RunLogger {
    this.#log ??= quietOnReplay(this.#machine);
    return this.#log;
  }

  get info(): RunInfo {
    this.#info ??= infoOf(this.#machine);
    return this.#info;
  }

  get abortSignal(): AbortSignal {
    return this.#machine.abort.signal;
  }

  step(name: string, fn: StepFunction<unknown>, options?: StepOptions<never>): Promise<never> {
    const machine = this.#machine;
    machine.assertInTurn("ctx.step", name);
    if (typeof fn !== "function")
      throw new HoldfastError(
        "invalid_option",
        `ctx.step(${JSON.stringify(name)}): the second argument is not a function.`,
      );
    return this.#askStep(name, fn, options as StepOptions<unknown> | undefined) as Promise<never>;
  }

  /** A static method, so that adapters can add this to a context without everybody seeing it there. */
  static transaction(
    ctx: Context,
    name: string,
    work: TransactionWork,
    options?: StepOptions<unknown>,
  ): Promise<unknown> {
    const call = `transaction(ctx, ${JSON.stringify(name)})`;
    if (!(ctx instanceof RunContext))
      throw new HoldfastError("invalid_option", `${call}: the first argument is not the ctx of a workflow.`);
    ctx.#machine.assertInTurn(call);
    if (typeof work.fn !== "function")
      throw new HoldfastError("invalid_option", `${call}: the third argument is not a function.`);
    if (options?.onCrash !== undefined)
      throw new HoldfastError(
        "invalid_option",
        `${call}: onCrash has no meaning here; a transaction happens exactly once.`,
      );
    return ctx.#askStep(name, work, options);
  }

  #askStep(name: string, fn: StepWork["fn"], options: StepOptions<unknown> | undefined): Promise<unknown> {
    const machine = this.#machine;
    const resolved = options ? resolveStepOptions(options as StepOptions<never>, `step "${name}"`) : DEFAULT_OPTIONS;
    const before = machine.asked.length;
    const promise = machine.ask("step", name, this.#scope, { step: stepWork(fn, resolved) });
    const op = machine.asked[before];
    if (op && options?.compensate)
      machine.compensations.addForStep(name, op, options.compensate as Compensation<unknown>);
    return promise;
  }

  sleep(name: string, duration: Duration): Promise<void> {
    this.#machine.assertInTurn("ctx.sleep", name);
    const ms = requireDuration(duration, `sleep "${name}"`, "the duration");
    return this.#sleepUntil(name, this.#machine.turnAt + ms);
  }

  sleepUntil(name: string, date: Date): Promise<void> {
    this.#machine.assertInTurn("ctx.sleepUntil", name);
    const time = date instanceof Date ? date.getTime() : Number.NaN;
    if (Number.isNaN(time))
      throw new HoldfastError(
        "invalid_option",
        `ctx.sleepUntil(${JSON.stringify(name)}): the second argument is not a valid Date.`,
      );
    return this.#sleepUntil(name, time);
  }

  #sleepUntil(name: string, fireAt: number): Promise<void> {
    return this.#machine.ask("sleep", name, this.#scope, { fireAt }) as Promise<void>;
  }

  receive<T>(signal: SignalDefinition<T, unknown>, options?: { readonly timeout: Duration }): Promise<T> {
    const machine = this.#machine;
    machine.assertInTurn("ctx.receive", signal?.name);
    if (signal?.kind !== "signal")
      throw new HoldfastError(
        "invalid_option",
        `ctx.receive: the first argument is ${shownValue(signal)}, not a signal. Make one with signal("approve").`,
      );
    if (options !== undefined) checkOptions(options, RECEIVE_OPTIONS, `receive "${signal.name}"`);
    const timeout =
      options?.timeout === undefined
        ? undefined
        : requireDuration(options.timeout, `receive "${signal.name}"`, "timeout");
    if (machine.signals.has(signal.name) && !this.#refused())
      return Promise.resolve(machine.signals.take(signal.name, machine.codec, this.#parentScope()) as T);
    return machine.ask("receive", signal.name, this.#scope, {
      prefix: RECEIVE_PREFIX,
      signalName: signal.name,
      ...(timeout === undefined ? {} : { fireAt: machine.turnAt + timeout }),
    }) as Promise<T>;
  }

  #refused(): boolean {
    const scope = this.#scope === this.#machine.root ? this.#machine.currentScope : this.#scope;
    return scope.nearestOpen().cancellation() !== null;
  }

  parallel(branches: Branches, options?: ParallelOptions): Promise<never> {
    this.#machine.assertInTurn("ctx.parallel");
    return runParallel(this.#machine, this.#scope, branches, options ?? {}) as Promise<never>;
  }

  race(branches: Branches): Promise<never> {
    this.#machine.assertInTurn("ctx.race");
    return runRace(this.#machine, this.#scope, branches) as Promise<never>;
  }

  uncancelable<T>(fn: Branch<T>): Promise<T> {
    this.#machine.assertInTurn("ctx.uncancelable");
    isFunction(fn, "ctx.uncancelable", "the argument");
    return runInScope(this.#machine, new Scope(this.#parentScope(), true), fn);
  }

  #parentScope(): Scope {
    return (this.#scope === this.#machine.root ? this.#machine.currentScope : this.#scope).nearestOpen();
  }

  sideEffect(name: string, fn: () => unknown): never {
    return this.#machine.sideEffects.run(name, fn) as never;
  }

  now(): Date {
    return new Date(this.#machine.turnAt);
  }

  random(): number {
    this.#machine.assertInTurn("ctx.random");
    return this.#machine.random.next();
  }

  uuid(name?: string): string {
    if (name !== undefined) return this.#machine.random.uuidOf(name);
    this.#machine.assertInTurn("ctx.uuid");
    return this.#machine.random.uuid();
  }

  set(attributes: Attributes): void {
    const machine = this.#machine;
    machine.assertInTurn("ctx.set");
    assertAttributes(attributes, "ctx.set");
    // Asked before the command: when it takes the last recorded event, the machine is no longer replaying.
    const recorded = machine.repeating;
    const event = machine.command({ type: "attributes_set", op: null, meta: { attributes: { ...attributes } } });
    if (event && !recorded) machine.freshAttributes = { ...machine.freshAttributes, ...attributes };
  }

  patched(id: string): boolean {
    this.#machine.assertInTurn("ctx.patched", id);
    return this.#machine.patches.isPatched(id);
  }

  retired(name: string): void {
    this.#machine.assertInTurn("ctx.retired", name);
    void this.#machine.ask("retired", name, this.#scope, {});
  }

  compensate(name: string, fn: Compensation<never>): void {
    const call = `ctx.compensate(${JSON.stringify(name)})`;
    this.#machine.assertInTurn(call);
    const fault = nameFault(name);
    if (fault) throw new HoldfastError("invalid_name", `${call}: the name ${fault}.`, { data: { name } });
    isFunction(fn, call, "the second argument");
    this.#machine.compensations.addByHand(name, fn as Compensation<unknown>);
  }

  continueAsNew(input?: unknown): never {
    this.#machine.assertInTurn("ctx.continueAsNew");
    const { codec, run } = this.#machine;
    this.#machine.continueAsNew(
      codec.encode(input, `input of the run that continues "${run.id}"`),
      this.#parentScope(),
    );
    throw new ContinueAsNew();
  }
}

/** Plain data, but for the length of the history: code that has taken ctx apart wants to see it grow. */
function infoOf(machine: RunMachine): RunInfo {
  const { runId, id, workflow, version, namespace, queue } = machine.run;
  return {
    runId,
    id,
    workflow,
    version,
    namespace,
    queue,
    get historyLength() {
      return machine.seenSeq;
    },
  };
}

/** Calls a function whose ops belong to a scope of their own, and closes the scope when it has settled. */
export function runInScope<T>(machine: RunMachine, scope: Scope, fn: Branch<T>): Promise<T> {
  const outer = machine.currentScope;
  machine.currentScope = scope;
  const settled = new Promise<T>((resolve) => resolve(fn(createContext(machine, scope)))).finally(() => {
    scope.open = false;
  });
  machine.currentScope = outer;
  settled.catch(() => {});
  return settled;
}

export function assertAttributes(attributes: Attributes, where: string): void {
  if (!isPlainObject(attributes))
    throw new HoldfastError("invalid_option", `${where}: the attributes are ${shownValue(attributes)}, not an object.`);
  for (const [key, value] of Object.entries(attributes)) {
    const fault = nameFault(key);
    if (fault) throw new HoldfastError("invalid_name", `${where}: the attribute name ${shownValue(key)} ${fault}.`);
    const unstorable = typeof value === "string" ? valueFault(value) : undefined;
    if (unstorable) throw new HoldfastError("invalid_option", `${where}: attribute "${key}" ${unstorable}.`);
    const finite =
      typeof value === "number"
        ? Number.isFinite(value)
        : ["string", "boolean"].includes(typeof value) || value === null;
    if (!finite)
      throw new HoldfastError(
        "invalid_option",
        `${where}: attribute "${key}" is not a string, a finite number, a boolean or null.`,
      );
  }
}

function quietOnReplay(machine: RunMachine): RunLogger {
  const { namespace, workflow, id, runId } = machine.run;
  const about = { namespace, workflow, id, runId };
  return runLogger({ log: machine.log, about, quiet: () => machine.turnIsRecorded });
}
