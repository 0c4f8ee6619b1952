/**
 * A second calculation of when crons are due, which shares no code with the calendar: it walks through every minute of a
 * stretch of time and asks Intl what the clock shows. Slow, simple, and without any notion of an offset.
 */

const MINUTE_MS = 60_000;
const MINUTES_A_DAY = 1_440;
/** If this many minutes pass on the clock, too, it was not changed in them. */
const STRIDE = 60;

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
  /** What the clock shows in each minute, in whole minutes as Date.UTC counts them. Typed, because they are walked for every cron. */
  readonly #walls: Int32Array;

  /** Whole minutes; `untilMs` is exclusive. */
  constructor(timezone: string, fromMs: number, untilMs: number) {
    this.fromMs = fromMs;
    const format = new Intl.DateTimeFormat("sv-SE", { timeZone: timezone, dateStyle: "short", timeStyle: "medium" });
    const wallAt = (ms: number) => Date.parse(`${format.format(ms).replace(" ", "T")}Z`);
    this.#walls = new Int32Array(Math.ceil((untilMs - fromMs) / (STRIDE * MINUTE_MS)) * STRIDE);
    let wall = wallAt(fromMs);
    for (let start = 0; start < this.#walls.length; start += STRIDE) {
      const ms = fromMs + start * MINUTE_MS;
      const later = wallAt(ms + STRIDE * MINUTE_MS);
      const steady = later - wall === STRIDE * MINUTE_MS;
      for (let i = 0; i < STRIDE; i++) {
        const shown = steady ? wall + i * MINUTE_MS : wallAt(ms + i * MINUTE_MS);
        this.#walls[start + i] = shown / MINUTE_MS;
      }
      wall = later;
    }
  }

  /** The minutes before which the clocks were changed. */
  changedAt(): number[] {
    const times: number[] = [];
    for (let i = 1; i < this.#walls.length; i++) {
      if (this.#wall(i) - this.#wall(i - 1) !== 1) times.push(this.fromMs + i * MINUTE_MS);
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
    for (let i = 0; i < this.#walls.length; i++) {
      if (isDue(this.#wall(i))) times.push(this.fromMs + i * MINUTE_MS);
    }
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
      for (let wall = before + 1; wall <= this.#wall(i); wall++) {
        const date = Math.floor(wall / MINUTES_A_DAY);
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

/** Whether a cron has a wall time. What it says about minutes of the day, and about dates, is found out once for each. */
function matcher(cron: PlainCron): (wall: number) => boolean {
  const minutes = Uint8Array.from({ length: MINUTES_A_DAY }, (_, minute) =>
    cron.minutes.has(minute % 60) && cron.hours.has(Math.floor(minute / 60)) ? 1 : 0,
  );
  const days = new Map<number, boolean>();
  return (wall) => {
    if (minutes[wall % MINUTES_A_DAY] === 0) return false;
    const date = Math.floor(wall / MINUTES_A_DAY);
    const known = days.get(date) ?? cron.isDay(shownAt(wall * MINUTE_MS));
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
