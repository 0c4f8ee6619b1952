/** Whose turn it was in a queue with limits: within a key by priority, raised with age, and between keys by their shares. */
import type { QueueLimits } from "../../packages/holdfast/src/model/queue-limits.ts";
import type { Guest } from "../limit-evidence.ts";

/** What a claim did. */
export interface Turn {
  /** Those that were let in. */
  readonly admitted: readonly Guest[];
  /** Those that the claim could serve, but that were not let in. */
  readonly left: readonly Guest[];
  /** Those of them that the limits of their key would have let in. */
  readonly ready: readonly Guest[];
  /** Those that it could not serve. */
  readonly others: readonly Guest[];
  readonly now: number;
}

interface KeyTurns {
  /** How many of it the last claim that let some in has let in. */
  batch: number;
  /** How many claims since then found nothing in its line that they could serve. */
  passes: number;
  /** How many of each other key were let in while it waited. */
  readonly overtaken: Map<string, number>;
}

export class LimitTurns {
  readonly #fault: (runId: string, text: string) => void;
  #limits: QueueLimits;
  /** Since when those in line have been due. */
  readonly #dueAt = new Map<string, number>();
  readonly #keys = new Map<string, KeyTurns>();

  constructor(limits: QueueLimits, fault: (runId: string, text: string) => void) {
    this.#limits = limits;
    this.#fault = fault;
  }

  changed(limits: QueueLimits): void {
    this.#limits = limits;
    for (const turns of this.#keys.values()) turns.overtaken.clear();
  }

  /** Once in line, it keeps its turn for as long as it waits. */
  moved({ name, waits, held }: Guest, before: Guest | undefined): void {
    if (!held && (waits === null || before?.held)) this.#dueAt.delete(name);
    if ((held || waits === "line") && !this.#dueAt.has(name) && before?.availableAt)
      this.#dueAt.set(name, before.availableAt);
  }

  note(turn: Turn): void {
    const { admitted, left, now } = turn;
    for (const one of admitted) {
      const before = left.find((other) => other.key === one.key && this.#isBefore(other, one, now));
      if (before)
        this.#fault(before.runId, `${this.#told(before)} should have been let in before ${this.#told(one)}, at ${now}`);
    }
    this.#countTurns(turn);
    for (const { name } of admitted) this.#dueAt.delete(name);
  }

  #told({ name, key, priority }: Guest): string {
    return `${name} (key "${key}", priority ${priority}, due at ${this.#dueAt.get(name)})`;
  }

  #isBefore(a: Guest, b: Guest, now: number): boolean {
    const [aAt, bAt] = [this.#dueAt.get(a.name), this.#dueAt.get(b.name)];
    if (aAt === undefined || bAt === undefined) return false;
    const { agingMs = Number.POSITIVE_INFINITY } = this.#limits;
    const rank = ({ priority }: Guest, at: number): number => priority + Math.floor(Math.max(0, now - at) / agingMs);
    return rank(a, aAt) > rank(b, bAt) || (rank(a, aAt) === rank(b, bAt) && aAt < bAt);
  }

  /**
   * A key that waits is overtaken by another one by what it was let in before, and a turn. A claim that finds nothing in its line that it
   * can serve costs it a turn.
   */
  #countTurns({ admitted, left, ready, others }: Turn): void {
    const byKey = this.#hadTurns(admitted);
    const waiting = new Map(ready.map((one) => [one.key, one]));
    const served = new Set(left.map((one) => one.key));
    for (const [key, turns] of this.#keys) if (!waiting.has(key)) turns.overtaken.clear();
    for (const { key } of others) if (!served.has(key) && !byKey.has(key)) this.#turnsOf(key).passes += 1;
    for (const [key, { runId }] of waiting) {
      if (byKey.has(key)) continue;
      const { batch, passes, overtaken } = this.#turnsOf(key);
      for (const [other, count] of byKey) {
        const times = (overtaken.get(other) ?? 0) + count;
        overtaken.set(other, times);
        const turns = Math.floor((this.#weight(other) * (batch + passes)) / this.#weight(key)) + 1;
        const most = turns + (this.#limits.weights ? Math.ceil(this.#weight(other)) : 0);
        if (times > most)
          this.#fault(runId, `${key} waits while ${times} of ${other} are let in; ${most} is its share`);
      }
    }
  }

  /** A call that is not judged, because it repeats another one, has let these in. */
  repeated(admitted: readonly Guest[]): void {
    this.#hadTurns(admitted);
    for (const { name } of admitted) this.#dueAt.delete(name);
  }

  /** How many of each key. */
  #hadTurns(admitted: readonly Guest[]): Map<string, number> {
    const byKey = new Map<string, number>();
    for (const { key } of admitted) byKey.set(key, (byKey.get(key) ?? 0) + 1);
    for (const [key, count] of byKey) Object.assign(this.#turnsOf(key), { batch: count, passes: 0 }).overtaken.clear();
    return byKey;
  }

  #turnsOf(key: string): KeyTurns {
    const known = this.#keys.get(key) ?? { batch: 0, passes: 0, overtaken: new Map() };
    this.#keys.set(key, known);
    return known;
  }

  #weight(key: string): number {
    return this.#limits.weights?.[key] ?? 1;
  }
}
