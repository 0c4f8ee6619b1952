import type { HistoryEvent } from "../../model/event.ts";
import type { Payload } from "../../model/payload.ts";
import { EMPTY_PAYLOAD } from "../../model/payload.ts";
import type { Run } from "../../model/run.ts";
import { appended, NONE } from "../../model/short-list.ts";
import type { Codec } from "../../ports/codec.ts";
import type { Logger } from "../../ports/logger.ts";
import type { Scope } from "../context/scope.ts";
import type { Op } from "../op.ts";

interface BufferedSignal {
  /** Which receive of that signal takes it. */
  readonly number: number;
  readonly messageId: string;
  readonly payload: Payload;
}

interface TakenSignal {
  readonly name: string;
  readonly signal: BufferedSignal;
  readonly scope: Scope;
}

interface WaitingReceive {
  readonly op: Op;
  readonly turn: number;
}

/** Is notified of a signal that may have gone to a receive that is no longer awaited. */
export interface SignalWitness {
  readonly run: Pick<Run, "runId" | "id" | "workflow">;
  readonly log: Logger;
  readonly turnIsRecorded: boolean;
}

/** Signals that have reached the run and were not received yet, in order, and the receives that wait for one. */
export class SignalBuffer {
  // Created when first needed: most runs do not use signals.
  #signals: Map<string, BufferedSignal[]> | undefined;
  #waiting: Map<string, WaitingReceive[]> | undefined;
  #takenThisTurn: TakenSignal[] | undefined;
  #turn = 0;
  /** Names of signals that the witness was notified of, now or when they first came. */
  #doubted: Set<string> | undefined;

  /** Takes in a signal for that receive, the first that waits for it or the next that will be asked for. */
  receive(event: HistoryEvent, number: number, witness: SignalWitness): void {
    const name = event.op as string;
    const signal = { number, messageId: event.meta?.messageId ?? "", payload: event.payload ?? EMPTY_PAYLOAD };
    this.#signals ??= new Map();
    const buffered = this.#signals.get(name);
    if (buffered) insert(buffered, signal);
    else this.#signals.set(name, [signal]);
    const waiting = this.#waiting?.get(name);
    if (waiting !== undefined && waiting.length > 1) this.#doubt(name, waiting, witness);
  }

  /** The receive that gets the next signal of that name. */
  firstWaiting(name: string): Op | undefined {
    return this.#waiting?.get(name)?.[0]?.op;
  }

  /** The receives that wait although there are signals of their name, the first of each name first. */
  waitingInVain(): Op[] {
    if (!this.#waiting?.size || !this.#signals?.size) return [];
    return [...this.#signals.keys()].flatMap((name) => (this.#waiting?.get(name) ?? []).map(({ op }) => op));
  }

  /**
   * A native `Promise.race` does not cancel a receive that has lost: it keeps waiting, ahead of all later ones. From here
   * that looks like two receives of one scope that were asked for in different turns.
   */
  #doubt(
    name: string,
    [first, ...later]: readonly WaitingReceive[],
    { run, log, turnIsRecorded }: SignalWitness,
  ): void {
    const { op, turn } = first as WaitingReceive;
    if (this.#doubted?.has(name) || !later.some((other) => other.turn > turn && other.op.scope === op.scope)) return;
    this.#doubted ??= new Set();
    this.#doubted.add(name);
    if (turnIsRecorded) return;
    const { runId, id, workflow } = run;
    log.warn(
      { runId, id, workflow, op: op.id },
      `signal "${name}" went to a ctx.receive from an earlier turn (${op.id}) while a later one also waits for it; if the earlier one lost a Promise.race, the code never sees this signal: use ctx.race, or a receive with a timeout`,
    );
  }

  /** Which receive takes the oldest signal of that name; undefined if there is none. */
  firstNumber(name: string): number | undefined {
    return this.#signals?.get(name)?.[0]?.number;
  }

  /**
   * The oldest signal of that name, for a receive in that scope. A signal without payload is sent as `true`. An empty one
   * was stored by an earlier version, where it meant null: replay must return the same again.
   */
  take(name: string, codec: Codec, scope: Scope): unknown {
    const signals = this.#signals?.get(name);
    const signal = signals?.shift();
    if (signals?.length === 0) this.#signals?.delete(name);
    if (signal) this.#takenThisTurn = appended(this.#takenThisTurn ?? NONE, { name, signal, scope });
    return signal === undefined ? null : receivedValue(signal.payload, codec);
  }

  newTurn(): void {
    this.#turn += 1;
    this.#takenThisTurn = undefined;
  }

  /**
   * A signal that a branch took in the same turn in which it lost was not received: it goes back to the front. When all that have
   * lost are canceled, it is handed on to a receive that waits by then (`handOn` in receive.ts).
   */
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
    const entry = { op, turn: this.#turn };
    if (waiting) waiting.push(entry);
    else this.#waiting.set(name, [entry]);
  }

  /** The names of the signals that receives wait for. */
  waitedFor(): readonly string[] {
    return this.#waiting === undefined || this.#waiting.size === 0 ? NONE : [...this.#waiting.keys()];
  }

  stopWaiting(op: Op): void {
    const name = op.signalName as string;
    const left = (this.#waiting?.get(name) ?? []).filter((other) => other.op !== op);
    if (left.length > 0) this.#waiting?.set(name, left);
    else this.#waiting?.delete(name);
  }

  /** What a run that continues as new hands on to its successor. */
  unreceived(codec: Codec): { name: string; messageId: string; payload: Payload }[] {
    if (!this.#signals) return [];
    return [...this.#signals].flatMap(([name, signals]) =>
      signals.map(({ messageId, payload }) => ({ name, messageId, payload: asWrittenToday(codec, payload) })),
    );
  }
}

/** Usually behind all others. In a fork of a fork a signal may have come for a later receive before. */
function insert(buffered: BufferedSignal[], signal: BufferedSignal): void {
  const isLast = (buffered.at(-1)?.number ?? 0) <= signal.number;
  const place = isLast ? buffered.length : buffered.findIndex(({ number }) => number > signal.number);
  buffered.splice(place, 0, signal);
}

/** An empty payload was stored by an earlier version, where it meant null. */
export function receivedValue(payload: Payload, codec: Codec): unknown {
  return payload.length === 0 ? null : codec.decode(payload);
}

/** They may have been in this process since before the store was re-encoded. */
function asWrittenToday(codec: Codec, payload: Payload): Payload {
  try {
    return codec.reencode?.(payload) ?? payload;
  } catch {
    return payload; // whoever receives it learns why it cannot be read
  }
}
