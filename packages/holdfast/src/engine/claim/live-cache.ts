import { PassingMap } from "../../model/passing-map.ts";
import type { RunExecutor } from "../execute/run-executor.ts";
import { DueOrder } from "./due-order.ts";

/** A suspended run. Of a class, because it leads to the whole run (passing-map.ts). */
class Resting {
  readonly executor: RunExecutor;
  readonly since: number;
  /** When it wakes; null if that depends on others. */
  readonly wakesAt: number | null;
  /** Those of its kind. */
  readonly kind: PassingMap<string, Resting>;

  constructor(executor: RunExecutor, since: number, wakesAt: number | null, kind: PassingMap<string, Resting>) {
    this.executor = executor;
    this.since = since;
    this.wakesAt = wakesAt;
    this.kind = kind;
  }
}

/**
 * Suspended runs that are still in memory. Waking one that no other worker has claimed needs no replay. Evicted is whatever will
 * probably be needed last. Of those that sleep that is the one that is due last: the others would be replayed before, and thousands that fall asleep in a row
 * would push each other out. Of those that wait, the one that has waited longest; it is taken to wait as long again. Runs that wait for other runs
 * come last: they wake as often as those end, and would be replayed each time.
 */
export class LiveCache {
  readonly #sizeMax: number;
  readonly #now: () => number;
  readonly #sleeping = new PassingMap<string, Resting>();
  readonly #byDue = new DueOrder();
  readonly #waiting = new PassingMap<string, Resting>();
  readonly #parents = new PassingMap<string, Resting>();
  /** All of them by the user's ids. */
  readonly #byId = new PassingMap<string, RunExecutor>();

  /** `now`: the store's time. */
  constructor(sizeMax: number, now: () => number) {
    this.#sizeMax = sizeMax;
    this.#now = now;
  }

  get size(): number {
    return this.#sleeping.size + this.#waiting.size + this.#parents.size;
  }

  /** `dueAt`: when it is due if nothing happens before. */
  put(executor: RunExecutor, dueAt: number | null): void {
    const { runId, machine } = executor;
    this.take(runId);
    const wakesAt = machine.hasCalls || machine.waitsForOthers || machine.regaining ? null : dueAt;
    if (wakesAt !== null) this.#byDue.add(wakesAt, runId);
    const kind = wakesAt !== null ? this.#sleeping : machine.hasCalls ? this.#parents : this.#waiting;
    kind.set(runId, new Resting(executor, this.#now(), wakesAt, kind));
    this.#byId.set(executor.run.id, executor);
    while (this.size > this.#sizeMax) this.take(this.#leastWanted())?.evict();
  }

  take(runId: string): RunExecutor | undefined {
    const resting = this.#find(runId);
    if (!resting) return undefined;
    const { executor, wakesAt, kind } = resting;
    kind.delete(runId);
    if (wakesAt !== null) this.#byDue.remove(wakesAt, runId);
    // A newer run of the id may have come since.
    if (this.#byId.get(executor.run.id) === executor) this.#byId.delete(executor.run.id);
    return executor;
  }

  look(runId: string): RunExecutor | undefined {
    return this.#find(runId)?.executor;
  }

  lookById(id: string): RunExecutor | undefined {
    return this.#byId.get(id);
  }

  clear(): void {
    for (const kind of [this.#sleeping, this.#waiting, this.#parents]) {
      for (const { executor } of kind.values()) executor.evict();
      kind.clear();
    }
    this.#byDue.clear();
    this.#byId.clear();
  }

  #find(runId: string): Resting | undefined {
    return this.#sleeping.get(runId) ?? this.#waiting.get(runId) ?? this.#parents.get(runId);
  }

  #leastWanted(): string {
    const asleep = this.#byDue.last;
    const waiting = oldest(this.#waiting);
    if (!asleep) return (waiting ?? (oldest(this.#parents) as Resting)).executor.runId;
    const now = this.#now();
    return waiting && now - waiting.since > asleep.at - now ? waiting.executor.runId : asleep.runId;
  }
}

function oldest(kind: PassingMap<string, Resting>): Resting | undefined {
  return kind.values().next().value;
}
