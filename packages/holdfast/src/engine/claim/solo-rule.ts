import type { Clock } from "../../ports/clock.ts";

/**
 * How long a worker keeps its slots empty for a suspect before it claims other runs again, and how long until it tries
 * again.
 */
const EMPTY_FOR_MS_MAX = 10_000;

export type SoloKind = "run" | "task";

/**
 * A poison run hurts its neighbors: one run that kills its process makes every run beside it look stuck. A run that has seen
 * two deaths without progress is claimed alone; only deaths while alone count toward parking it. The same goes for tasks.
 */
export class SoloRule {
  readonly #clock: Clock;
  #wantedAt: number | undefined;
  #restUntil = 0;
  /** What is held alone. */
  #solo: string | undefined;
  #kind: SoloKind = "run";
  #asking = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A suspect is due: become empty for it. */
  want(kind: SoloKind): void {
    const now = this.#clock.monotonic();
    if (this.#solo !== undefined || this.#wantedAt !== undefined || now < this.#restUntil) return;
    this.#wantedAt = now;
    this.#kind = kind;
  }

  /** Whether the worker should claim nothing else now. */
  get exclusive(): boolean {
    if (this.#solo !== undefined || this.#asking) return true;
    if (this.#wantedAt === undefined) return false;
    if (this.#clock.monotonic() - this.#wantedAt < EMPTY_FOR_MS_MAX) return true;
    this.#rest();
    return false;
  }

  /** Whether an empty worker should claim a suspect of that kind now. */
  wants(kind: SoloKind): boolean {
    return this.#wantedAt !== undefined && this.#solo === undefined && this.#kind === kind;
  }

  /** A solo claim is on its way: nothing else may come until it is answered, however long that takes. */
  asked(): void {
    this.#asking = true;
  }

  /** The solo claim was answered; undefined: none was left, or the claim has failed. */
  claimed(key: string | undefined): void {
    this.#asking = false;
    this.#wantedAt = undefined;
    this.#solo = key;
  }

  /** The run or task has made progress or is gone: it is no longer a suspect. */
  cleared(key: string): boolean {
    if (this.#solo !== key) return false;
    this.#solo = undefined;
    return true;
  }

  reset(): void {
    this.#asking = false;
    this.#wantedAt = undefined;
    this.#solo = undefined;
  }

  #rest(): void {
    this.#wantedAt = undefined;
    this.#restUntil = this.#clock.monotonic() + EMPTY_FOR_MS_MAX;
  }
}
