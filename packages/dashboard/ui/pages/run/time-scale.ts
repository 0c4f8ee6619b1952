// Where a time goes on the axis. A run of three days has steps of 40 ms: on a true scale they cannot be seen. So the stretches in
// which nothing happens, and which are much longer than everything else together, are drawn short and marked as a break.

/** A stretch of the axis. Times in milliseconds, places from 0 to 1. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
  readonly left: number;
  readonly right: number;
  /** Drawn shorter than it lasted. */
  readonly gap: boolean;
}

export interface TimeScale {
  readonly stretches: readonly Stretch[];
  readonly from: number;
  readonly to: number;
}

/** A gap lasts longer than this many times everything that is shorter. */
const GAP_FACTOR = 8;
/** All gaps together take at most this part of the axis. */
const GAP_SHARE = 0.36;
const ONE_GAP_SHARE = 0.14;

/** All of it, every millisecond as wide as the other. */
export function trueScale(from: number, to: number): TimeScale {
  const end = Math.max(to, from + 1);
  return { from, to: end, stretches: [{ from, to: end, left: 0, right: 1, gap: false }] };
}

/** With short gaps. `moments` are the times at which anything began or ended. */
export function shortScale(from: number, to: number, moments: readonly number[]): TimeScale {
  const end = Math.max(to, from + 1);
  const inside = moments.filter((moment) => moment > from && moment < end);
  const points = [...new Set([from, ...inside, end])].sort((a, b) => a - b);
  const lengths = points.slice(1).map((point, index) => point - (points[index] ?? 0));
  const threshold = gapThreshold(lengths);
  if (threshold === Number.POSITIVE_INFINITY) return trueScale(from, to);
  return { from, to: end, stretches: joined(points, lengths, threshold) };
}

/** Lengths from this one on are gaps. There are never more gaps than other stretches: then they are what the run is made of. */
function gapThreshold(lengths: readonly number[]): number {
  const sorted = lengths.toSorted((a, b) => a - b);
  let sum = 0;
  // The shortest that qualifies: then all that are longer are gaps as well.
  for (const [index, length] of sorted.entries()) {
    if (sum > 0 && length > GAP_FACTOR * sum && sorted.length - index <= index) return length;
    sum += length;
  }
  return Number.POSITIVE_INFINITY;
}

function joined(points: readonly number[], lengths: readonly number[], threshold: number): Stretch[] {
  const gaps = lengths.filter((length) => length >= threshold);
  const busy = lengths.reduce((sum, length) => sum + (length >= threshold ? 0 : length), 0);
  const share = busy === 0 ? 1 : Math.min(GAP_SHARE, ONE_GAP_SHARE * gaps.length);
  // A longer gap is wider, but a hundred times longer is not a hundred times as wide.
  const weightOf = (length: number) => 1 + Math.log10(length / threshold);
  const weights = gaps.reduce((sum, length) => sum + weightOf(length), 0);
  const stretches: Stretch[] = [];
  let left = 0;
  for (const [index, length] of lengths.entries()) {
    const gap = length >= threshold;
    const width = gap ? (share * weightOf(length)) / weights : ((1 - share) * length) / busy;
    const before = stretches.at(-1);
    const stretch = { from: points[index] ?? 0, to: points[index + 1] ?? 0, left, right: left + width, gap };
    left += width;
    if (before !== undefined && !gap && !before.gap) {
      stretches[stretches.length - 1] = { ...before, to: stretch.to, right: stretch.right };
    } else stretches.push(stretch);
  }
  return stretches;
}

/** The place of a time: 0 is the left end, 1 the right one; outside of them before and after. */
export function placeOf(scale: TimeScale, time: number): number {
  const { stretches } = scale;
  const stretch = stretches[indexAt(stretches, (each) => time < each.to)] ?? stretches[0];
  if (stretch === undefined) return 0;
  return stretch.left + ((time - stretch.from) / (stretch.to - stretch.from)) * (stretch.right - stretch.left);
}

/** The time at a place. */
export function timeAt(scale: TimeScale, place: number): number {
  const { stretches } = scale;
  const stretch = stretches[indexAt(stretches, (each) => place < each.right)] ?? stretches[0];
  if (stretch === undefined) return 0;
  return stretch.from + ((place - stretch.left) / (stretch.right - stretch.left)) * (stretch.to - stretch.from);
}

function indexAt(stretches: readonly Stretch[], isAt: (stretch: Stretch) => boolean): number {
  let low = 0;
  let high = stretches.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    const stretch = stretches[middle];
    if (stretch !== undefined && isAt(stretch)) high = middle;
    else low = middle + 1;
  }
  return low;
}

export interface Tick {
  readonly at: number;
  readonly place: number;
}

const STEPS_MS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5, 36e5, 72e5, 144e5,
  432e5, 864e5,
];
const DAY_MS = 864e5;

/** Round times to label, at least `apart` (0 to 1) from each other; none inside of gaps. */
export function ticksOf(scale: TimeScale, apart: number): Tick[] {
  const ticks: Tick[] = [{ at: scale.from, place: 0 }];
  for (const stretch of scale.stretches) {
    const width = stretch.right - stretch.left;
    if (stretch.gap || width < apart) {
      push(ticks, { at: stretch.to, place: stretch.right }, apart);
      continue;
    }
    const least = ((stretch.to - stretch.from) * apart) / width;
    const step = STEPS_MS.find((each) => each >= least) ?? Math.ceil(least / DAY_MS) * DAY_MS;
    const first = scale.from + Math.ceil((stretch.from - scale.from) / step) * step;
    for (let at = first; at <= stretch.to; at += step) push(ticks, { at, place: placeOf(scale, at) }, apart);
  }
  return ticks;
}

function push(ticks: Tick[], tick: Tick, apart: number): void {
  if (tick.place <= 1.0001 && tick.place - (ticks.at(-1)?.place ?? -1) >= apart * 0.98) ticks.push(tick);
}
