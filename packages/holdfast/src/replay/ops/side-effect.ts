import { fromErrorRecord, toErrorRecord } from "../../errors/error-record.ts";
import { HoldfastError } from "../../errors/holdfast-error.ts";
import type { ErrorRecord } from "../../model/error-record.ts";
import type { EventDraft } from "../../model/event.ts";
import { unreadable } from "../code/unreadable.ts";
import { thrownInSideEffect } from "../code/workflow-bug.ts";
import type { Edits } from "../history/edits.ts";
import type { MachineParams } from "../machine.ts";
import type { MachineInside } from "../machine-inside.ts";
import type { OpEvents } from "../op.ts";

export const SIDE_EFFECT_EVENTS: OpEvents = { commands: ["side_effect"], notes: [], ends: [] };

/**
 * `ctx.sideEffect`: the function is called once; its value, or what it threw, is recorded and returned on every replay. The
 * function must not use ctx: it is not called on replay, so anything it had drawn or asked for would be missing.
 */
export class SideEffects {
  readonly #machine: MachineInside;
  readonly #record: NonNullable<MachineParams["record"]>;
  #running: string | undefined;

  constructor(machine: MachineInside, record: MachineParams["record"]) {
    this.#machine = machine;
    this.#record = record ?? ((error) => toErrorRecord(error));
  }

  run(name: string, fn: () => unknown): unknown {
    const machine = this.#machine;
    const call = `ctx.sideEffect(${JSON.stringify(name)})`;
    machine.assertInTurn(call);
    const op = machine.ops.nextId(name);
    const computed = (): EventDraft =>
      edited(op, machine.edits?.take(op)) ?? this.#compute(op, name, () => this.#call(call, fn));
    const event = machine.command({ type: "side_effect", op }, true, computed);
    if (event?.meta?.error) throw thrownInSideEffect(fromErrorRecord(event.meta.error));
    try {
      return event?.payload === undefined ? undefined : machine.codec.decode(event.payload);
    } catch (error) {
      void unreadable(machine, error);
      throw error;
    }
  }

  get running(): boolean {
    return this.#running !== undefined;
  }

  /** Refuses a ctx call made inside the function. */
  assertNotInside(call: string): void {
    if (this.#running !== undefined) throw insideSideEffectError(call, this.#running);
  }

  #compute(op: string, name: string, fn: () => unknown): EventDraft {
    try {
      return { type: "side_effect", op, payload: this.#machine.codec.encode(fn(), `value of sideEffect "${name}"`) };
    } catch (error) {
      return { type: "side_effect", op, meta: { error: this.#record(error) } };
    }
  }

  #call(call: string, fn: () => unknown): unknown {
    this.#running = call;
    try {
      const value = fn();
      if (typeof (value as { then?: unknown } | null | undefined)?.then !== "function") return value;
    } finally {
      this.#running = undefined;
    }
    const message = `${call}: the function is asynchronous. Use ctx.step for work that takes time.`;
    throw new HoldfastError("invalid_option", message);
  }
}

/** Whoever forked the run has said what comes of it. */
function edited(op: string, edit: ReturnType<Edits["take"]>): EventDraft | undefined {
  if (!edit) return undefined;
  const { payload } = edit;
  // An error that a side effect throws is that of the function, and not of an op.
  const { op: _op, ...error } = edit.error ?? {};
  const meta = edit.error ? { error: error as ErrorRecord, edited: true as const } : { edited: true as const };
  const draft: EventDraft = { type: "side_effect", op, meta };
  return payload === undefined ? draft : { ...draft, payload };
}

function insideSideEffectError(call: string, within: string): HoldfastError {
  const message = `${call} was called inside ${within}, whose function is not called again on replay. Call it before ${within}, and use its value inside.`;
  return new HoldfastError("inside_step", message, { data: { call } });
}
