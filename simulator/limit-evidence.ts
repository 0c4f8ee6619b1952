/** What checkers judge about the limits of queues, by the simulator's own account: who is inside, and how many tokens there can be. */
import type { PlaceLimits, QueueKind, QueueLimits, RateLimit } from "../packages/holdfast/src/model/queue-limits.ts";
import type { Dice } from "./dice.ts";

/** A run or a task that needs a place in its queue. */
export interface Guest {
  readonly name: string;
  readonly runId: string;
  readonly kind: QueueKind;
  readonly queue: string;
  /** "" if it has none. */
  readonly key: string;
  readonly priority: number;
  readonly held: boolean;
  /** It has left, if it was inside: the run has ended, or the attempt. */
  readonly over: boolean;
  /** It winds up, which takes no place: canceled, or past its deadline. */
  readonly windsUp: boolean;
  /** In line, or due; null: neither. */
  readonly waits: "line" | "due" | null;
  readonly availableAt: number | null;
}

/** Fractions are rounded: a token that has come to all but this much may count as missing for another millisecond. */
const ROUNDING = 1e-6;
/** What falls into a full bucket for so long, while something waits, may be kept. */
const LATE_MS = 50;

/** How many tokens a bucket has at least and at most, whatever fraction it had kept. */
export class Tokens {
  #rate: RateLimit | undefined;
  #least = 0;
  #most = 0;
  #at = 0;
  /** The store may know how full it was: nobody has begun since without a rate. */
  #kept = false;

  constructor(rate: RateLimit | undefined, now: number) {
    this.change(rate, now);
  }

  /** A bucket that has another rate from now on may be full, or empty. */
  change(rate: RateLimit | undefined, now: number): void {
    if (rate && JSON.stringify(rate) === JSON.stringify(this.#rate)) return;
    this.#least = this.#kept ? 0 : (rate?.burst ?? 0);
    this.#kept ||= rate !== undefined;
    this.#most = mostOf(rate);
    this.#rate = rate;
    this.#at = now;
  }

  /** There is surely one. */
  surely(now: number): boolean {
    this.#pass(now);
    return this.#rate === undefined || this.#least >= 1 + ROUNDING;
  }

  /** When there surely is one, if nobody takes one before. */
  surelyAt(now: number): number {
    if (this.surely(now)) return now;
    const { limit, perMs } = this.#rate as RateLimit;
    return now + Math.max(1, Math.ceil(((1 - this.#least) * perMs) / limit));
  }

  /** Takes one. False: there cannot have been one. */
  take(now: number): boolean {
    this.#pass(now);
    if (this.#rate === undefined) {
      this.#kept = false;
      return true;
    }
    this.#least -= 1;
    this.#most -= 1;
    return this.#most > -ROUNDING;
  }

  #pass(now: number): void {
    if (!this.#rate) return;
    const { limit, perMs, burst } = this.#rate;
    const more = (Math.max(0, now - this.#at) * limit) / perMs;
    this.#least = Math.min(burst, this.#least + more);
    this.#most = Math.min(mostOf(this.#rate), this.#most + more);
    this.#at = now;
  }
}

function mostOf(rate: RateLimit | undefined): number {
  return rate ? rate.burst + Math.max(1, Math.floor((LATE_MS * rate.limit) / rate.perMs)) : 0;
}

/** Draws the limits of a queue. `waits`: whoever is inside may wait for somebody who is not, so that only rates are safe. */
export function drawLimits(
  dice: Dice,
  { waits, last }: { readonly waits: boolean; readonly last: boolean },
): QueueLimits | null {
  if (dice.chance(last ? 0.1 : 0.15)) return null;
  const places = last ? [4, 6] : [0, 1, 2, 3, 5];
  const concurrency = waits || dice.chance(0.3) ? undefined : dice.pick(places);
  const own = drawOwn(dice, waits, last);
  return {
    fair: true,
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(dice.chance(0.3) ? { rate: drawRate(dice) } : {}),
    ...(Object.keys(own).length === 0 ? {} : { perKey: own }),
    ...(dice.chance(0.3) ? { weights: { k1: dice.pick([0.5, 2, 3]) } } : {}),
    ...(dice.chance(0.5) ? { agingMs: dice.pick([100, 1_000, 10_000]) } : {}),
  };
}

function drawOwn(dice: Dice, waits: boolean, last: boolean): PlaceLimits {
  return {
    ...(waits || dice.chance(0.5) ? {} : { concurrency: dice.pick(last ? [2, 3] : [1, 1, 2, 3]) }),
    ...(dice.chance(0.2) ? { rate: drawRate(dice) } : {}),
  };
}

function drawRate(dice: Dice): RateLimit {
  return { limit: dice.pick([1, 2, 5]), perMs: dice.pick([100, 700, 1_000]), burst: dice.pick([1, 1, 2, 5]) };
}
