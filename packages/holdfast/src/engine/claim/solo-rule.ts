import type { Clock } from "../../ports/clock.ts";

/**
 * How long a worker keeps its slots empty for a suspect before it claims other runs again, and how long until it tries
 * again.
 */
const EMPTY_FOR_MS_MAX = 10_000;

/**
 * A poison run hurts its neighbors: one run that kills its process makes every run beside it look stuck. A run that has seen
 * two deaths without progress is claimed alone; only deaths while alone count toward parking it.
 */
export class SoloRule {
  readonly #clock: Clock;
  #wantedAt: number | undefined;
  #restUntil = 0;
  #soloRunId: string | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A suspect is due: become empty for it. */
  want(): void {
    const now = this.#clock.monotonic();
    if (this.#soloRunId === undefined && now >= this.#restUntil) this.#wantedAt ??= now;
  }

  /** Whether the worker should claim nothing else now. */
  get exclusive(): boolean {
    if (this.#soloRunId !== undefined) return true;
    if (this.#wantedAt === undefined) return false;
    if (this.#clock.monotonic() - this.#wantedAt < EMPTY_FOR_MS_MAX) return true;
    this.#rest();
    return false;
  }

  /** Whether an empty worker should claim a suspect now. */
  get wanted(): boolean {
    return this.#wantedAt !== undefined && this.#soloRunId === undefined;
  }

  /** The solo claim was answered; undefined: none was left. */
  claimed(runId: string | undefined): void {
    this.#wantedAt = undefined;
    this.#soloRunId = runId;
  }

  /** The run has made progress or is gone: it is no longer a suspect. */
  cleared(runId: string): boolean {
    if (this.#soloRunId !== runId) return false;
    this.#soloRunId = undefined;
    return true;
  }

  reset(): void {
    this.#wantedAt = undefined;
    this.#soloRunId = undefined;
  }

  #rest(): void {
    this.#wantedAt = undefined;
    this.#restUntil = this.#clock.monotonic() + EMPTY_FOR_MS_MAX;
  }
}
