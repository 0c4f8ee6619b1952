import { HoldfastError } from "../../errors/holdfast-error.ts";
import { isFunction, requireId } from "../../errors/option-checks.ts";
import type { Duration } from "../../model/duration.ts";
import type { Attributes } from "../../model/event.ts";
import { nameFault } from "../../model/names.ts";
import { scheduleOf } from "../../model/schedule.ts";
import type { RunLogger } from "../../ports/logger.ts";
import type { MachineInside } from "../machine-inside.ts";
import { setAttributes } from "../ops/attributes.ts";
import { askChild, askStartChild } from "../ops/child.ts";
import type { ChildOptions } from "../ops/child-options.ts";
import { runWithLock } from "../ops/lock.ts";
import { askCancel, askResult, askSignal } from "../ops/message.ts";
import { askReceive } from "../ops/receive.ts";
import { retire } from "../ops/retired.ts";
import { askSleep, askSleepUntil } from "../ops/sleep.ts";
import type { ChildDefinition } from "../ops/start-options.ts";
import { askStep } from "../ops/step.ts";
import type { Compensation, StepFunction, StepOptions } from "../ops/step-options.ts";
import type { TransactionWork } from "../ops/step-work.ts";
import { askTask } from "../ops/task.ts";
import type { TaskCallOptions, TaskDefinition } from "../ops/task-options.ts";
import { askUntil, type Predicate } from "../ops/until.ts";
import { BoundMethods, bindWhenRead } from "./bound-methods.ts";
import { runInScope, runParallel, runRace } from "./branches.ts";
import {
  type Branch,
  type Branches,
  type ChildHandle,
  type Context,
  ContinueAsNew,
  type HeldLock,
  type LockOptions,
  type ParallelOptions,
  type RunInfo,
  type RunTarget,
  type SignalDefinition,
} from "./context.ts";
import type { QueryDefinition, UpdateDefinition } from "./conversations.ts";
import { requireListed } from "./offers.ts";
import { runLogger } from "./run-logger.ts";
import { Scope } from "./scope.ts";

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
  #bound: BoundMethods | undefined;

  constructor(machine: MachineInside, scope: Scope) {
    this.#machine = machine;
    this.#scope = scope;
  }

  static {
    bindWhenRead(RunContext.prototype, (ctx) => {
      ctx.#bound ??= new BoundMethods();
      return ctx.#bound;
    });
  }

  /** The codec recognizes ctx by this, and says so when workflow code returns it. */
  get [Symbol.toStringTag](): string {
    return "Context";
  }

  /** Created on first use: most runs never log. */
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
    return askStep(machine, this.#scope, name, fn, options as StepOptions<unknown> | undefined) as Promise<never>;
  }

  /** A static method, so that adapters can add this to a context without making it visible there. */
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
      throw new HoldfastError("invalid_option", `${call}: onCrash does not apply; a transaction happens exactly once.`);
    return askStep(ctx.#machine, ctx.#scope, name, work, options);
  }

  task(definition: TaskDefinition<never, never>, input?: unknown, options?: TaskCallOptions<never>): Promise<never> {
    const { asked, given } = { asked: definition as TaskDefinition, given: options as TaskCallOptions | undefined };
    return askTask(this.#machine, this.#scope, asked, input, given) as Promise<never>;
  }

  sleep(name: string, duration: Duration): Promise<void> {
    return askSleep(this.#machine, this.#scope, name, duration) as Promise<void>;
  }

  sleepUntil(name: string, date: Date): Promise<void> {
    return askSleepUntil(this.#machine, this.#scope, name, date) as Promise<void>;
  }

  receive<T>(signal: SignalDefinition<T, unknown>, options?: { readonly timeout: Duration }): Promise<T> {
    return askReceive(this.#machine, this.#scope, signal, options) as Promise<T>;
  }

  on(definition: Pick<QueryDefinition | UpdateDefinition, "kind" | "name">, handler: unknown): void {
    this.#machine.assertInTurn("ctx.on", definition?.name);
    if (definition) requireListed(this.#machine.code.offering, definition, "ctx.on");
    this.#machine.on(definition, handler);
  }

  until(predicate: Predicate, options?: { readonly timeout?: Duration }): Promise<never> {
    return askUntil(this.#machine, this.#scope, predicate, options) as Promise<never>;
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
    return runInScope(this.#machine, new Scope(this.#machine.ownerOf(this.#scope), true), fn);
  }

  withLock(
    name: string,
    options: LockOptions | undefined | ((lock: HeldLock) => unknown),
    fn?: (lock: HeldLock) => unknown,
  ): Promise<never> {
    const [given, inside] = typeof options === "function" && fn === undefined ? [undefined, options] : [options, fn];
    return runWithLock(
      this.#machine,
      this.#scope,
      name,
      given as LockOptions,
      inside as () => unknown,
    ) as Promise<never>;
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
    if (name !== undefined) {
      requireId(name, "name of ctx.uuid");
      return this.#machine.random.uuidOf(name);
    }
    this.#machine.assertInTurn("ctx.uuid");
    return this.#machine.random.uuid();
  }

  set(attributes: Attributes): void {
    setAttributes(this.#machine, attributes);
  }

  patched(id: string): boolean {
    this.#machine.assertInTurn("ctx.patched", id);
    return this.#machine.patches.isPatched(id);
  }

  retired(name: string): void {
    retire(this.#machine, this.#scope, name);
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
      this.#machine.ownerOf(this.#scope),
    );
    throw new ContinueAsNew();
  }

  child(definition: ChildDefinition<never, never>, input?: unknown, options?: ChildOptions<never>): Promise<never> {
    return askChild(this.#machine, this.#scope, definition as ChildDefinition, input, options) as Promise<never>;
  }

  startChild(
    definition: ChildDefinition<never, never, never>,
    input?: unknown,
    options?: ChildOptions<never>,
  ): Promise<ChildHandle<never, never>> {
    const started = askStartChild(this.#machine, this.#scope, definition as unknown as ChildDefinition, input, options);
    return started as Promise<ChildHandle<never, never>>;
  }

  signal(to: RunTarget, signal: SignalDefinition<unknown, unknown>, payload?: unknown): Promise<void> {
    return askSignal(this.#machine, this.#scope, "ctx.signal", to, signal, payload);
  }

  cancel(to: RunTarget, reason?: string): Promise<void> {
    return askCancel(this.#machine, this.#scope, "ctx.cancel", to, reason);
  }

  resultOf(definitionOrTarget: ChildDefinition | RunTarget, to?: RunTarget): Promise<never> {
    return askResult(this.#machine, this.#scope, definitionOrTarget, to) as Promise<never>;
  }
}

/** Plain data, except for the history length: code that has destructured ctx must see it grow. */
function infoOf(machine: MachineInside): RunInfo {
  const { runId, id, workflow, version, namespace, queue, attributes } = machine.run;
  const fired = scheduleOf(attributes);
  return {
    ...(fired ? { schedule: fired.schedule, scheduledAt: new Date(fired.scheduledAt) } : {}),
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
