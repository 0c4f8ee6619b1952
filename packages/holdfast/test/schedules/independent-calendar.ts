/**
 * A second calculation of when crons are due, which shares no code with the calendar: it walks through every minute of a
 * stretch of time and asks Intl what the clock shows. Slow, simple, and without any notion of an offset.
 */

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const STRIDE = 15;

/** A date that a clock shows. */
export interface Shown {
  readonly month: number;
  readonly day: number;
  readonly weekday: number;
  readonly monthLength: number;
}

/** A cron of whole minutes, said in functions instead of text. */
export interface PlainCron {
  readonly isDay: (shown: Shown) => boolean;
  readonly hours: ReadonlySet<number>;
  readonly minutes: ReadonlySet<number>;
}

/** Every minute of a stretch of time, and what the clocks of a zone show in it. */
export class WalkedZone {
  readonly fromMs: number;
  /** What the clock shows in each minute, as the number that Date.UTC makes of it. */
  readonly #walls: number[] = [];

  /** Whole minutes; `untilMs` is exclusive. */
  constructor(timezone: string, fromMs: number, untilMs: number) {
    this.fromMs = fromMs;
    const format = new Intl.DateTimeFormat("sv-SE", { timeZone: timezone, dateStyle: "short", timeStyle: "medium" });
    const wallAt = (ms: number) => Date.parse(`${format.format(ms).replace(" ", "T")}Z`);
    let wall = wallAt(fromMs);
    for (let ms = fromMs; ms < untilMs; ms += STRIDE * MINUTE_MS) {
      const later = wallAt(ms + STRIDE * MINUTE_MS);
      const steady = later - wall === STRIDE * MINUTE_MS;
      for (let i = 0; i < STRIDE; i++) this.#walls.push(steady ? wall + i * MINUTE_MS : wallAt(ms + i * MINUTE_MS));
      wall = later;
    }
  }

  /** The minutes before which the clocks were changed. */
  changedAt(): number[] {
    const times: number[] = [];
    for (let i = 1; i < this.#walls.length; i++) {
      if (this.#wall(i) - this.#wall(i - 1) !== MINUTE_MS) times.push(this.fromMs + i * MINUTE_MS);
    }
    return times;
  }

  /** All times at which the cron is due. */
  times(cron: PlainCron): number[] {
    const oncePerDay = cron.hours.size === 1 && cron.minutes.size === 1;
    return oncePerDay ? this.#daily(cron) : this.#shown(cron);
  }

  #shown(cron: PlainCron): number[] {
    const times: number[] = [];
    const isDue = matcher(cron);
    this.#walls.forEach((wall, i) => {
      if (isDue(wall)) times.push(this.fromMs + i * MINUTE_MS);
    });
    return times;
  }

  /** Once for each date: in the minute that shows the time first, or if none does, in the one that jumps over it. */
  #daily(cron: PlainCron): number[] {
    const taken = new Set<number>();
    const times = new Set<number>();
    const isDue = matcher(cron);
    for (let i = 1; i < this.#walls.length; i++) {
      const before = this.#wall(i - 1);
      // One value, unless the clock was put forward.
      for (let wall = before + MINUTE_MS; wall <= this.#wall(i); wall += MINUTE_MS) {
        const date = Math.floor(wall / DAY_MS);
        if (!isDue(wall) || taken.has(date)) continue;
        taken.add(date);
        times.add(this.fromMs + i * MINUTE_MS);
      }
    }
    return [...times];
  }

  #wall(i: number): number {
    return this.#walls[i] ?? Number.NaN;
  }
}

/** Whether a cron has a wall time. Dates are remembered, because each of them has 1,440 minutes. */
function matcher(cron: PlainCron): (wall: number) => boolean {
  const days = new Map<number, boolean>();
  return (wall) => {
    const minute = Math.floor(wall / MINUTE_MS) % 1_440;
    if (!cron.minutes.has(minute % 60) || !cron.hours.has(Math.floor(minute / 60))) return false;
    const date = Math.floor(wall / DAY_MS);
    const known = days.get(date) ?? cron.isDay(shownAt(wall));
    days.set(date, known);
    return known;
  };
}

function shownAt(wall: number): Shown {
  const date = new Date(wall);
  return {
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    weekday: date.getUTCDay(),
    monthLength: new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate(),
  };
}
