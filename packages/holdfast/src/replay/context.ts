import type { StandardSchemaV1 } from "@standard-schema/spec";
import { HoldfastError } from "../errors/holdfast-error.ts";
import type { Duration } from "../model/duration.ts";
import type { Attributes } from "../model/event.ts";
import { nameFault, valueFault } from "../model/names.ts";
import type { Logger } from "../ports/logger.ts";
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
import type { RunMachine } from "./run-machine.ts";
import { Scope } from "./scope.ts";
import {
  type Compensation,
  DEFAULT_OPTIONS,
  requireDuration,
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

export interface RunInfo {
  readonly runId: string;
  readonly id: string;
  readonly workflow: string;
  readonly version: string;
  readonly namespace: string;
  readonly queue: string;
  /** Events that this run has seen so far: a reason to continue as new when it grows large. */
  readonly historyLength: number;
}

/** What workflow code may use. Everything here gives the same answers on every replay. */
export interface Context {
  readonly info: RunInfo;
  /** Silent during replay, so that a line is written once. */
  readonly log: Logger;
  /** Aborted when the run is canceled or times out. */
  readonly abortSignal: AbortSignal;

  /** Work with effects: executed at least once, never again once its result is recorded. */
  step<T>(name: string, fn: StepFunction<T>, options?: StepOptions<T>): Promise<T>;
  sleep(name: string, duration: Duration): Promise<void>;
  sleepUntil(name: string, date: Date): Promise<void>;
  /** The next signal of that name; what was sent before anyone waited is kept, in order. */
  receive<T>(signal: SignalDefinition<T, unknown>): Promise<T>;
  receive<T>(signal: SignalDefinition<T, unknown>, options: { readonly timeout: Duration }): Promise<T | undefined>;

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
  sideEffect<T>(name: string, fn: () => T): T;
  now(): Date;
  random(): number;
  uuid(name?: string): string;
  /** Search attributes: readable and filterable from outside. */
  set(attributes: Attributes): void;
  /** True in code that runs for the first time, false where history was written without it. */
  patched(id: string): boolean;
  /** Stands where a step stood that is gone: its record in older histories is passed over. */
  retired(name: string): void;
  /** Adds something to undo, last in first out, if the run fails or is canceled from here on. */
  compensate(name: string, fn: Compensation<never>): void;
  /**
   * Ends this run and starts a fresh one of the same id, with signals that were not received. Does not return. It decides at once:
   * what is pending is dropped, and a `catch` or `finally` around it changes nothing and can ask for nothing.
   */
  continueAsNew(input?: unknown): never;
}

/** Thrown by `ctx.continueAsNew`. Not an error: it unwinds the workflow function, for which all is decided by then. */
export class ContinueAsNew {}

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
  #log: Logger | undefined;

  constructor(machine: RunMachine, scope: Scope) {
    this.#machine = machine;
    this.#scope = scope;
  }

  /** Made when first asked for: most runs never write a line. */
  get log(): Logger {
    this.#log ??= quietOnReplay(this.#machine);
    return this.#log;
  }

  get info(): RunInfo {
    const { runId, id, workflow, version, namespace, queue } = this.#machine.run;
    return { runId, id, workflow, version, namespace, queue, historyLength: this.#machine.seenSeq };
  }

  get abortSignal(): AbortSignal {
    return this.#machine.abort.signal;
  }

  step<T>(name: string, fn: StepFunction<T>, options?: StepOptions<T>): Promise<T> {
    const machine = this.#machine;
    machine.assertInTurn("ctx.step", name);
    if (typeof fn !== "function")
      throw new HoldfastError(
        "invalid_option",
        `ctx.step(${JSON.stringify(name)}): the second argument is not a function.`,
      );
    return this.#askStep(name, fn, options as StepOptions<unknown> | undefined) as Promise<T>;
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
    machine.assertInTurn("ctx.receive", signal.name);
    const timeout =
      options?.timeout === undefined
        ? undefined
        : requireDuration(options.timeout, `receive "${signal.name}"`, "timeout");
    if (machine.signals.has(signal.name) && !this.#refused())
      return Promise.resolve(machine.signals.take(signal.name, machine.codec, this.#parentScope()) as T);
    return machine.ask("receive", signal.name, this.#scope, {
      prefix: "receive:",
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
    return runInScope(this.#machine, new Scope(this.#parentScope(), true), fn);
  }

  #parentScope(): Scope {
    return (this.#scope === this.#machine.root ? this.#machine.currentScope : this.#scope).nearestOpen();
  }

  sideEffect<T>(name: string, fn: () => T): T {
    return this.#machine.sideEffects.run(name, fn) as T;
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
    const recorded = machine.replaying;
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
  for (const [key, value] of Object.entries(attributes)) {
    const fault = nameFault(key);
    if (fault) throw new HoldfastError("invalid_name", `${where}: the attribute name ${JSON.stringify(key)} ${fault}.`);
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

function quietOnReplay(machine: RunMachine): Logger {
  const write = (level: keyof Logger) => (fields: object, message: string) => {
    if (!machine.turnIsRecorded)
      machine.log[level]({ runId: machine.run.runId, id: machine.run.id, ...fields }, message);
  };
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}
