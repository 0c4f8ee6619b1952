import { assertAttributes } from "../errors/attribute-checks.ts";
import { HoldfastError } from "../errors/holdfast-error.ts";
import { checkedLater, checkOptions, isFunction, requireDuration } from "../errors/option-checks.ts";
import { shownValue } from "../errors/shown-value.ts";
import type { Duration } from "../model/duration.ts";
import type { Attributes } from "../model/event.ts";
import { nameFault } from "../model/names.ts";
import type { RunLogger } from "../ports/logger.ts";
import { RECEIVE_PREFIX } from "./ask.ts";
import { bindWhenRead } from "./bound-methods.ts";
import { type Branch, type Branches, type ParallelOptions, runInScope, runParallel, runRace } from "./branches.ts";
import { type Context, ContinueAsNew, type RunInfo, type SignalDefinition } from "./context.ts";
import type { MachineInside } from "./machine-inside.ts";
import { runLogger } from "./run-logger.ts";
import { Scope } from "./scope.ts";
import {
  type Compensation,
  DEFAULT_OPTIONS,
  resolveStepOptions,
  type StepFunction,
  type StepOptions,
} from "./step-options.ts";
import { StepWork, type TransactionWork } from "./step-work.ts";

const RECEIVE_OPTIONS = { timeout: checkedLater };

export function createContext(machine: MachineInside, scope: Scope): Context {
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
  readonly #machine: MachineInside;
  readonly #scope: Scope;
  #log: RunLogger | undefined;
  #info: RunInfo | undefined;
  #bound: unknown[] | undefined;

  constructor(machine: MachineInside, scope: Scope) {
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
    const undo = options?.compensate as Compensation<unknown> | undefined;
    return machine.ask("step", name, this.#scope, { step: new StepWork(fn, resolved), undo });
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
    if (event && !recorded) machine.setAttributes(attributes);
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
function infoOf(machine: MachineInside): RunInfo {
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

function quietOnReplay(machine: MachineInside): RunLogger {
  const { namespace, workflow, id, runId } = machine.run;
  const about = { namespace, workflow, id, runId };
  return runLogger({ log: machine.log, about, quiet: () => machine.turnIsRecorded });
}
