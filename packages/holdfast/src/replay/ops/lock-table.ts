/**
 * The locks of one run: those that its code has requested and not left. A lock that history shows as held, where the store has given
 * it away, is regained: it is requested again (`op_rescheduled`), and until that is granted nothing that the code asks for may
 * start. The code does not notice, but that the fence is another one.
 */
import type { HistoryEvent } from "../../model/event.ts";
import { appended, NONE } from "../../model/short-list.ts";
import type { Scope } from "../context/scope.ts";
import type { LockWork } from "./lock-work.ts";

/** As the driver of the machine sees them. */
export interface LocksOfRun {
  /** Whether there are any, or were. */
  readonly any: boolean;
  active(): readonly LockWork[];
  /** The one that the op has requested. */
  get(op: string | null): LockWork | undefined;
  /** The one that is to be requested again now. */
  nextLost(): LockWork | undefined;
  /** Requests that a try has made which was taken back, by seq: the store may still have them. */
  takeStrays(): readonly number[];
}

const NO_LOCKS = new Map<string, LockWork>();

export class LockTable implements LocksOfRun {
  /** Most runs have none: a shared one until something is put in. */
  #active = NO_LOCKS;
  #strays: readonly number[] = NONE;

  get any(): boolean {
    return this.#active !== NO_LOCKS || this.#strays.length > 0;
  }

  add(work: LockWork): void {
    if (this.#active === NO_LOCKS) this.#active = new Map();
    this.#active.set(work.op, work);
  }

  /** Whether it was there. */
  remove({ op }: LockWork): boolean {
    return this.#active.delete(op);
  }

  get(op: string | null): LockWork | undefined {
    return op === null ? undefined : this.#active.get(op);
  }

  active(): LockWork[] {
    return [...this.#active.values()];
  }

  /**
   * Those that the code is inside of are regained one after the other, in the order in which it went in: a run that had an inner lock
   * before the outer one could wait in a circle with another that takes them in the right order.
   */
  nextLost(): LockWork | undefined {
    const active = this.active();
    const missing = active.find(({ entered, held }) => entered && !held);
    if (missing) return missing.lost ? missing : undefined;
    return active.find(({ lost }) => lost);
  }

  /** Whether the code is inside of a lock that it does not hold at the moment. */
  get regaining(): boolean {
    if (this.#active === NO_LOCKS) return false;
    for (const { entered, held } of this.#active.values()) if (entered && !held) return true;
    return false;
  }

  /** The lock of that name that code of the scope has requested already, or holds. */
  around(name: string, scope: Scope): LockWork | undefined {
    for (const work of this.#active.values()) if (work.name === name && work.isAround(scope)) return work;
    return undefined;
  }

  /** The run has ended since, or it is a fork: the store has none of those that were requested before. */
  loseThoseBefore(seq: number): void {
    for (const work of this.#active.values()) if (work.seq < seq) work.lose();
  }

  takeStrays(): readonly number[] {
    const strays = this.#strays;
    this.#strays = NONE;
    return strays;
  }

  /**
   * An event about a lock that the code does not see; false if it must. `loose`: it was recorded between a failure that was taken
   * back and the retry, so the code need not have done it.
   */
  take({ type, op, seq, meta }: HistoryEvent, loose: boolean): boolean {
    const work = this.get(op);
    if (type === "op_rescheduled" && meta?.limit !== undefined && (work || loose)) {
      if (work) work.requestedAgain(seq);
      else this.#strays = appended(this.#strays, seq);
      return true;
    }
    if (type === "lock_granted" && work?.entered) {
      work.granted(meta?.fence ?? 0);
      return true;
    }
    if (type === "lock_released" && loose) {
      if (work) work.lose();
      return true;
    }
    if (type === "lock_requested" && loose) this.#strays = appended(this.#strays, seq);
    return false;
  }
}
