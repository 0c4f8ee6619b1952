import type { HistoryEvent } from "../model/event.ts";
import type { Payload } from "../model/payload.ts";
import { EMPTY_PAYLOAD } from "../model/payload.ts";
import { appended, NONE } from "../model/short-list.ts";
import type { Codec } from "../ports/codec.ts";
import type { Op } from "./op.ts";
import type { Scope } from "./scope.ts";

interface BufferedSignal {
  readonly messageId: string;
  readonly payload: Payload;
}

interface TakenSignal {
  readonly name: string;
  readonly signal: BufferedSignal;
  readonly scope: Scope;
}

/** Signals that have reached the run and that nobody has received yet, in order, and the receives that wait for one. */
export class SignalBuffer {
  // Made when first needed: most runs have nothing to do with signals.
  #signals: Map<string, BufferedSignal[]> | undefined;
  #waiting: Map<string, Op[]> | undefined;
  #takenThisTurn: TakenSignal[] | undefined;

  /** Takes in a signal; returns the receive that it satisfies, which then takes it. */
  receive(event: HistoryEvent): Op | undefined {
    const name = event.op as string;
    const signal = { messageId: event.meta?.messageId ?? "", payload: event.payload ?? EMPTY_PAYLOAD };
    this.#signals ??= new Map();
    const buffered = this.#signals.get(name);
    if (buffered) buffered.push(signal);
    else this.#signals.set(name, [signal]);
    return this.#waiting?.get(name)?.[0];
  }

  has(name: string): boolean {
    return (this.#signals?.get(name)?.length ?? 0) > 0;
  }

  /** The oldest signal of that name, for somebody in that scope. One that was sent without a payload is null. */
  take(name: string, codec: Codec, scope: Scope): unknown {
    const signals = this.#signals?.get(name);
    const signal = signals?.shift();
    if (signals?.length === 0) this.#signals?.delete(name);
    if (signal) this.#takenThisTurn = appended(this.#takenThisTurn ?? NONE, { name, signal, scope });
    return signal === undefined || signal.payload.length === 0 ? null : codec.decode(signal.payload);
  }

  newTurn(): void {
    this.#takenThisTurn = undefined;
  }

  /** What a branch has taken in the very turn in which it lost is not received: it goes back to the front. */
  giveBack(scope: Scope): void {
    const kept: TakenSignal[] = [];
    for (const taken of this.#takenThisTurn?.reverse() ?? NONE) {
      const { name, signal } = taken;
      if (taken.scope.isReachedFrom(scope)) this.#signals?.set(name, [signal, ...(this.#signals.get(name) ?? [])]);
      else kept.unshift(taken);
    }
    this.#takenThisTurn = kept;
  }

  wait(op: Op): void {
    const name = op.signalName as string;
    this.#waiting ??= new Map();
    const waiting = this.#waiting.get(name);
    if (waiting) waiting.push(op);
    else this.#waiting.set(name, [op]);
  }

  /** The names of the signals that receives wait for. */
  waitedFor(): readonly string[] {
    return this.#waiting === undefined || this.#waiting.size === 0 ? NONE : [...this.#waiting.keys()];
  }

  stopWaiting(op: Op): void {
    const name = op.signalName as string;
    const left = (this.#waiting?.get(name) ?? []).filter((other) => other !== op);
    if (left.length > 0) this.#waiting?.set(name, left);
    else this.#waiting?.delete(name);
  }

  /** What a run that continues as new hands on to its successor. */
  unreceived(): { name: string; messageId: string; payload: Payload }[] {
    if (!this.#signals) return [];
    return [...this.#signals].flatMap(([name, signals]) => signals.map((signal) => ({ name, ...signal })));
  }
}
