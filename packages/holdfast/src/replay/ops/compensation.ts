import { COMPENSATE_PREFIX, idempotencyKey, opId } from "../../model/ids.ts";
import type { CompensationOutcome } from "../../model/run.ts";
import { givenUp, withdraw } from "../context/cancellation.ts";
import type { Scope } from "../context/scope.ts";
import { runIdAt } from "../history/forks.ts";
import type { MachineInside, Undoing } from "../machine-inside.ts";
import { isClosing, type Op, type OpModule } from "../op.ts";
import { STEP } from "./step.ts";
import { type Compensation, type CompensationInfo, resolveStepOptions, type StepInfo } from "./step-options.ts";
import { StepWork } from "./step-work.ts";

interface Entry {
  readonly name: string;
  readonly undo: Compensation<unknown>;
  /** What its key names besides the run. */
  readonly keyOf: string;
  /** The step it undoes; none for `ctx.compensate`. */
  readonly op: Op | undefined;
  /** What the code had seen when it was added. */
  readonly seenSeq: number;
  /** The event that tells of what it undoes; 0 if none does. */
  settledSeq: number;
  outcome: CompensationInfo["outcome"] | undefined;
  /** Its start is recorded, but the step never began. */
  neverBegan?: true;
  result: unknown;
  onSettled: (() => void) | undefined;
}

const UNDO_OPTIONS = resolveStepOptions({ retry: { attempts: 10 }, retryIf: "any" }, "compensation");

/** A step that undoes another. One that has succeeded is never repeated, even if others fail. */
export const COMPENSATION: OpModule = {
  ...STEP,
  prefix: COMPENSATE_PREFIX,
  unlimited: true,
  isDone: (id, host) => host.isUndone(id),
};

/**
 * What to undo when the run fails or is canceled: what began, last first, as separate durable steps, shielded from cancel.
 * Each compensation receives what is known of its step.
 */
export class Compensations implements Undoing {
  readonly #machine: MachineInside;
  readonly #entries: Entry[] = [];
  // Created when first needed: most runs have nothing to undo.
  #byOp: Map<Op, Entry> | undefined;
  #byHand: Map<string, number> | undefined;

  constructor(machine: MachineInside) {
    this.#machine = machine;
  }

  /** For a step that was just asked for. */
  addForStep(name: string, op: Op, undo: Compensation<unknown>): void {
    const entry: Entry = {
      name,
      undo,
      keyOf: op.id,
      op,
      seenSeq: this.#machine.seenSeq,
      settledSeq: 0,
      outcome: undefined,
      result: undefined,
      onSettled: undefined,
    };
    this.#entries.push(entry);
    this.#byOp ??= new Map();
    this.#byOp.set(op, entry);
  }

  /**
   * `ctx.compensate`: for anything that the code has done up to here. Each of several with the same name gets its own key,
   * as steps do.
   */
  addByHand(name: string, undo: Compensation<unknown>): void {
    this.#byHand ??= new Map();
    const occurrence = (this.#byHand.get(name) ?? 0) + 1;
    this.#byHand.set(name, occurrence);
    this.#entries.push({
      name,
      undo,
      keyOf: opId(name, occurrence),
      op: undefined,
      seenSeq: this.#machine.seenSeq,
      settledSeq: this.#machine.seenSeq,
      outcome: "completed",
      result: undefined,
      onSettled: undefined,
    });
  }

  /** The outcome of a step. `never_began`: the run, or the part of it, was given up before the step could begin. */
  learned(op: Op, outcome: CompensationInfo["outcome"] | "never_began", result: unknown): void {
    const entry = this.#byOp?.get(op);
    if (!entry) return;
    if (outcome === "never_began") entry.neverBegan = true;
    else {
      entry.outcome = outcome;
      entry.result = result;
      entry.settledSeq = this.#machine.seenSeq;
    }
    entry.onSettled?.();
  }

  async run(): Promise<CompensationOutcome | null> {
    const machine = this.#machine;
    const begun = this.#entries.filter(hasBegun);
    if (begun.length === 0) return null;
    const shield = machine.beginUndo();
    await this.#windUp(begun);
    let failures = 0;
    // By now it is known that some of them never began.
    const undone = begun.filter(hasBegun).sort((a, b) => beganSeq(a) - beganSeq(b));
    if (undone.length === 0) return null;
    for (const entry of undone.reverse()) {
      await this.#undo(entry, entry.outcome ?? "unknown", shield).catch(() => {
        failures += 1;
      });
    }
    return failures === 0 ? "compensated" : "compensation_failed";
  }

  mustLearn(op: Op): boolean {
    return this.#byOp?.has(op) === true && wasBegun(op);
  }

  /** Drops everything pending, except steps that began: the driver aborts those, and their outcome is awaited. */
  async #windUp(begun: readonly Entry[]): Promise<void> {
    const machine = this.#machine;
    const reason = givenUp(machine);
    for (const op of machine.ops.pending()) if (!isClosing(op)) withdraw(machine, op, reason);
    const open = begun.filter((entry) => entry.op?.pending);
    await Promise.all(open.map((entry) => new Promise<void>((resolve) => (entry.onSettled = resolve))));
  }

  #undo(entry: Entry, outcome: CompensationInfo["outcome"], shield: Scope): Promise<unknown> {
    const { undo, result, keyOf, settledSeq } = entry;
    const { run, forks } = this.#machine;
    // As the step had it: what was done before a fork was done under the id of its origin.
    const runId = settledSeq === 0 ? run.runId : runIdAt(settledSeq, forks, run.runId);
    const key = idempotencyKey(runId, keyOf);
    const fn = ({ signal, attempt, traceHeaders }: StepInfo): unknown =>
      undo(result, { outcome, idempotencyKey: key, signal, attempt, traceHeaders });
    return this.#machine.ask(COMPENSATION, entry.name, shield, { step: new StepWork(fn, UNDO_OPTIONS) });
  }
}

/** A recorded outcome is proof enough: the compensation may have been added to the code after the step was done. */
function hasBegun({ outcome, neverBegan, op }: Entry): boolean {
  return !neverBegan && (outcome !== undefined || (op !== undefined && wasBegun(op)));
}

/** Whether history says that it may have begun. A task can begin as soon as it is scheduled, a child as soon as it is asked for. */
function wasBegun({ step, task, child }: Op): boolean {
  return task !== undefined || child !== undefined || step?.everStarted === true;
}

/**
 * Where in history it began. Ops that are asked for side by side need not begin in that order: a task can begin as soon as it
 * is scheduled, when a step may have to wait until its worker starts it.
 */
function beganSeq({ op, seenSeq }: Entry): number {
  return op?.step?.firstStartSeq || op?.task?.inputSeq || op?.child?.firstStartSeq || seenSeq;
}
