import { HoldfastError } from "../errors/holdfast-error.ts";
import type { HistoryEvent } from "../model/event.ts";
import { opId } from "../model/ids.ts";
import { nameFault } from "../model/names.ts";
import { appended, NONE } from "../model/short-list.ts";
import { type Divergence, recordedNotAsked } from "./history/divergence.ts";
import { Occurrences } from "./occurrences.ts";
import type { Op } from "./op.ts";
import { PendingOps } from "./pending-ops.ts";

const NO_TIMERS: ReadonlySet<Op> = new Set();

/** The ops of one run: the pending ones, and how many times each name was asked for. */
export class OpTable {
  readonly #opsMax: number;
  readonly #pending = new PendingOps();
  readonly #occurrences = new Occurrences();
  // Created when first needed: most runs have none.
  #left: Map<string, number[]> | undefined;
  #timers: Set<Op> | undefined;
  #retired: Set<string> | undefined;
  // Since the driver last looked.
  #asked: readonly Op[] = NONE;
  #withdrawn: readonly Op[] = NONE;
  #closing: readonly Op[] = NONE;
  #calls: readonly Op[] = NONE;
  #count = 0;

  constructor(opsMax: number) {
    this.#opsMax = opsMax;
  }

  /** The id of the next op of that name. Ops that Holdfast creates on behalf of that name have a prefix. */
  nextId(name: string, prefix = "", unlimited = false): string {
    const fullName = prefix + name;
    const occurrence = this.nextNumber(fullName);
    const fault = occurrence === 1 ? nameFault(name) : undefined;
    if (fault) {
      throw new HoldfastError("invalid_name", `The op name ${JSON.stringify(name)} ${fault}.`, { data: { name } });
    }
    this.#count += 1;
    if (this.#count > this.#opsMax && !unlimited) {
      const message = `The run has asked for more than ${this.#opsMax} ops. Continue in a fresh run with ctx.continueAsNew(input).`;
      throw new HoldfastError("too_many_ops", message, { data: { opsMax: this.#opsMax } });
    }
    if (this.#left?.get(fullName)?.shift() === undefined) this.#occurrences.set(fullName, occurrence);
    return opId(fullName, occurrence);
  }

  /** The id that the next op of that name will get. */
  peekId(name: string, prefix: string): string {
    return opId(prefix + name, this.nextNumber(prefix + name));
  }

  /** The number that the next op of that name will get. */
  nextNumber(fullName: string): number {
    return this.#left?.get(fullName)?.[0] ?? this.#last(fullName) + 1;
  }

  #last(fullName: string): number {
    return this.#occurrences.get(fullName);
  }

  /** The number that `reserve` will return. */
  peekReserved(fullName: string, isLeft: (op: string) => boolean): number {
    // One that was left may not be any more: a fork of a fork decides anew.
    const open = this.#left?.get(fullName)?.find((left) => !isLeft(opId(fullName, left)));
    if (open !== undefined) return open;
    let number = this.#last(fullName) + 1;
    while (isLeft(opId(fullName, number))) number += 1;
    return number;
  }

  /** Takes a number for an op that the code has yet to ask for. The ops before it that are left are asked for first. */
  reserve(fullName: string, isLeft: (op: string) => boolean): number {
    const number = this.peekReserved(fullName, isLeft);
    if (number <= this.#last(fullName)) {
      const left = this.#left?.get(fullName) ?? [];
      this.#left?.set(
        fullName,
        left.filter((other) => other !== number),
      );
      return number;
    }
    for (let left = this.#last(fullName) + 1; left < number; left++) {
      this.#left ??= new Map();
      this.#left.set(fullName, [...(this.#left.get(fullName) ?? []), left]);
    }
    this.#occurrences.set(fullName, number);
    return number;
  }

  add(op: Op): void {
    this.#pending.add(op);
    if (op.kind !== "retired") return;
    this.#retired ??= new Set();
    this.#retired.add(op.id);
  }

  get(id: string | null): Op | undefined {
    return id === null ? undefined : this.#pending.get(id);
  }

  release(op: Op): void {
    op.pending = false;
    this.#pending.delete(op);
    if (op.fireAt !== undefined) this.#timers?.delete(op);
  }

  /** The driver must execute it. */
  hand(op: Op): void {
    this.#asked = appended(this.#asked, op);
  }

  takeAsked(): readonly Op[] {
    const asked = this.#asked;
    this.#asked = NONE;
    return asked;
  }

  /** The driver must call the store for it. */
  handCall(op: Op): void {
    this.#calls = appended(this.#calls, op);
  }

  takeCalls(): readonly Op[] {
    const calls = this.#calls;
    this.#calls = NONE;
    return calls;
  }

  /** The code has stopped waiting for it. */
  withdraw(op: Op): void {
    this.#withdrawn = appended(this.#withdrawn, op);
  }

  takeWithdrawn(): readonly Op[] {
    const withdrawn = this.#withdrawn;
    this.#withdrawn = NONE;
    return withdrawn;
  }

  /** All that the code or the driver may still have to do with. */
  wanted(): Op[] {
    return [...this.pending(), ...this.#withdrawn];
  }

  /** The code has stopped waiting, but the outcome of the step or task must still be recorded. */
  close(op: Op): void {
    op.step?.close();
    op.task?.close();
    op.child?.close();
    this.#closing = appended(this.#closing, op);
  }

  takeClosing(): readonly Op[] {
    const closing = this.#closing;
    this.#closing = NONE;
    return closing;
  }

  /** Pending ops with a due time. */
  get timers(): ReadonlySet<Op> {
    return this.#timers ?? NO_TIMERS;
  }

  addTimer(op: Op): void {
    this.#timers ??= new Set();
    this.#timers.add(op);
  }

  /** A copy, so that the caller may release ops on the way. */
  pending(): Op[] {
    return this.#pending.all();
  }

  first(max: number): Op[] {
    return this.#pending.first(max);
  }

  get waitsForOthers(): boolean {
    return this.#pending.forOthers > 0;
  }

  /** Whether anything could still wake the code. */
  get waiting(): boolean {
    return this.#pending.waiting > 0;
  }

  isRetired(id: string | null): boolean {
    return id !== null && (this.#retired?.has(id) ?? false);
  }

  /** Both sides of a difference between the code and what was recorded from `event` on. */
  divergence(event: HistoryEvent, fault: string, history: readonly HistoryEvent[]): Divergence {
    const recorded = new Set(history.map((other) => other.op));
    const asked = this.pending().filter((op) => op.module.leavesRecord && !recorded.has(op.id));
    const fork = history.find(({ type, seq }) => type === "run_forked" && seq >= event.seq);
    return {
      seq: event.seq,
      fault,
      recordedNotAsked: recordedNotAsked(history.slice(event.seq - 1), (id) => this.wasAsked(id)),
      askedNotRecorded: asked.map((op) => ({
        op: op.id,
        kind: op.kind,
        ...(op.location ? { location: op.location } : {}),
      })),
      ...(fork?.meta?.forkedFrom ? { forkedFrom: fork.meta.forkedFrom } : {}),
    };
  }

  /** Whether the code has ever asked for that op. */
  wasAsked(id: string): boolean {
    const match = /^(.*)#(\d+)$/s.exec(id);
    const [name, occurrence] = match ? [match[1] as string, Number(match[2])] : [id, 1];
    return this.#last(name) >= occurrence;
  }
}
