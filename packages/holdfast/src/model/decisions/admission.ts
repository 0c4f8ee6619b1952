/**
 * Who gets a place in a queue with limits. Whatever is due in such a queue and has no place yet waits in the line of its key. A claim
 * gives places to the heads of the lines: keys take turns by their virtual time, which advances with each place by one divided by the
 * weight of the key. Within a line the priority decides, raised with age. Stores that run in this process share `admit`; PostgreSQL does the same in SQL (49-limits.ts).
 *
 *  Q1. The places of a key, and of a queue, that are taken and not given back are never more than its limit allows when one is given.
 *  Q2. A key whose line is not empty and that has a free place is ready, or will be when it has a token, or a place that was given back
 *      has not been counted yet; the next claim does that.
 *  Q3. A place is given back once: by the end of its run, or of its attempt. A continuation inherits it; a reopened run waits anew.
 */
import {
  ADMITTED_MAX,
  NO_KEY,
  type PlaceLimits,
  type QueueLimits,
  type RateLimit,
  SORTED_MAX,
  SORTED_MIN,
} from "../queue-limits.ts";

/** So many keys a round looks at. */
const KEYS_MAX = 100;
/** How long the average lasts that `perSecond` is. */
const AVERAGE_MS = 60_000;
/** A claim may come so much later than a token that something waits for: what falls into a full bucket meanwhile is not lost. */
const LATE_MS = 50;
/** How soon a claim asks again that has left something to be sorted in, if nothing more could begin at the moment. */
const SORT_PAUSE_MS = 20;

/** The tokens that were left at that time. `awaited`: something waited for the next one. Null: as many as fit in. */
export type Bucket = { readonly tokens: number; readonly at: number; readonly awaited: boolean } | null;

/** A queue, as far as its places are concerned. */
export interface PlaceState {
  readonly running: number;
  readonly bucket: Bucket;
  /** Virtual time: of a key, when it is next; of a queue, that of the key that was last. */
  readonly virtualTime: number;
}

export interface KeyState extends PlaceState {
  readonly key: string;
}

/** A key that is not ready: `wakeAt` says when it will be by itself. Null: when something comes, or a place is given back. */
export interface KeyRest {
  readonly ready: boolean;
  readonly wakeAt: number | null;
  /** Nothing waits, is in progress or is remembered: the key can be forgotten. */
  readonly idle: boolean;
}

/** The lines of a queue, as a store has them. */
export interface Lines<E> {
  /** Keys that are ready, by virtual time and then by key. */
  ready(limit: number, except: ReadonlySet<string>): readonly KeyState[];
  /** Takes up to so many out of the line that this claim can serve, the first ones first. */
  take(key: string, count: number): readonly E[];
  isEmpty(key: string): boolean;
  save(key: KeyState, rest: KeyRest): void;
}

export interface Admission<E> {
  readonly queue: PlaceState;
  readonly taken: readonly { readonly key: string; readonly entry: E }[];
  /** When there is a token for the queue, if that is what it waits for; now, if there is more to give than a claim may. */
  readonly nextAt: number | null;
}

/** Gives up to `limit` places, but no more than ADMITTED_MAX. */
export function admit<E>(
  limits: QueueLimits,
  queue: PlaceState,
  lines: Lines<E>,
  limit: number,
  now: number,
): Admission<E> {
  const taken: { key: string; entry: E }[] = [];
  const passed = new Set<string>();
  let state = queue;
  let turns = false;
  for (;;) {
    const room = Math.min(Math.min(limit, ADMITTED_MAX) - taken.length, freePlaces(limits, state, now));
    const keys = room < 1 ? [] : lines.ready(Math.min(room, KEYS_MAX), passed);
    if (keys.length === 0) break;
    turns = true;
    // A key without a place of its own may hide others behind it: it is passed over before anything is given.
    const full = keys.some((key) => freePlaces(keyLimits(limits, key.key), key, now) < 1);
    const shares = full ? keys.map(() => 0) : sharesOf(limits, keys, room, now);
    for (const [i, key] of keys.entries()) {
      const share = shares[i] as number;
      const own = keyLimits(limits, key.key);
      const free = freePlaces(own, key, now) >= 1;
      // Others come first.
      if (share === 0 && free) continue;
      const entries = share === 0 ? [] : lines.take(key.key, share);
      if (entries.length === 0) passed.add(key.key);
      for (const entry of entries) taken.push({ key: key.key, entry });
      state = placed(
        limits,
        { ...state, virtualTime: Math.max(state.virtualTime, key.virtualTime) },
        entries.length,
        now,
      );
      const empty = lines.isEmpty(key.key);
      const next = {
        ...awaiting(placed(own, key, entries.length, now), !empty),
        key: key.key,
        // One whose line has nothing for this claim moves back as well: the next claim should find others first.
        virtualTime: key.virtualTime + Math.max(1, entries.length) / weightOf(limits, key.key),
      };
      lines.save(next, restOf(own, next, empty, now));
    }
  }
  const awaitedAt = tokenWaitedFor(limits, state, lines, now);
  if (turns) state = awaiting(state, awaitedAt !== null);
  const cut = taken.length === ADMITTED_MAX && taken.length < limit && freePlaces(limits, state, now) >= 1;
  if (cut && lines.ready(1, passed).length > 0) return { queue: state, taken, nextAt: now };
  return { queue: state, taken, nextAt: taken.length < limit ? awaitedAt : null };
}

function awaiting<S extends PlaceState>(state: S, awaited: boolean): S {
  return state.bucket === null ? state : { ...state, bucket: { ...state.bucket, awaited } };
}

/**
 * When a claim asks again that could not sort in everything: at once, unless nothing more could begin anyway. Then the work in progress
 * goes first.
 */
export function sortAgainAt(limits: QueueLimits, queue: PlaceState, now: number): number {
  if (freePlaces(limits, queue, now) >= 1) return now;
  const at = now + SORT_PAUSE_MS;
  return limits.rate && hasPlace(limits, queue) ? Math.min(at, tokenAt(queue.bucket, limits.rate, now)) : at;
}

/**
 * How many of the places each key gets: one after the other, each to the key with the lowest virtual time, as far as it has free
 * places of its own.
 */
function sharesOf(limits: QueueLimits, keys: readonly KeyState[], room: number, now: number): number[] {
  const turns = keys.flatMap((key, i) => {
    const own = Math.max(0, Math.min(room, freePlaces(keyLimits(limits, key.key), key, now)));
    const weight = weightOf(limits, key.key);
    return Array.from({ length: own }, (_, turn) => ({ i, at: key.virtualTime + turn / weight }));
  });
  turns.sort((a, b) => a.at - b.at || a.i - b.i);
  const shares = keys.map(() => 0);
  for (const { i } of turns.slice(0, room)) shares[i] = (shares[i] as number) + 1;
  return shares;
}

/** When there is a token for the queue, if a key is ready and nothing else is missing. */
function tokenWaitedFor(limits: QueueLimits, state: PlaceState, lines: Lines<unknown>, now: number): number | null {
  if (limits.rate === undefined || !hasPlace(limits, state) || freePlaces(limits, state, now) >= 1) return null;
  return lines.ready(1, new Set()).length === 0 ? null : tokenAt(state.bucket, limits.rate, now);
}

export function keyLimits({ perKey = {} }: QueueLimits, key: string): PlaceLimits {
  return key === NO_KEY ? {} : perKey;
}

function weightOf({ weights = {} }: QueueLimits, key: string): number {
  return (Object.hasOwn(weights, key) ? weights[key] : undefined) ?? 1;
}

/** What is left of the limits; infinite if there are none. */
export function freePlaces({ concurrency, rate }: PlaceLimits, { running, bucket }: PlaceState, now: number): number {
  const places = concurrency === undefined ? Number.POSITIVE_INFINITY : concurrency - running;
  return Math.min(places, rate === undefined ? Number.POSITIVE_INFINITY : Math.floor(tokensIn(bucket, rate, now)));
}

function hasPlace({ concurrency }: PlaceLimits, { running }: PlaceState): boolean {
  return concurrency === undefined || running < concurrency;
}

function placed<S extends PlaceState>({ rate }: PlaceLimits, state: S, count: number, now: number): S {
  const bucket = rate && { tokens: tokensIn(state.bucket, rate, now) - count, at: now, awaited: false };
  return { ...state, running: state.running + count, bucket: bucket ?? null };
}

/** Whether a key is ready again after it had its turn, and if not, when it will be. */
function restOf(own: PlaceLimits, state: KeyState, empty: boolean, now: number): KeyRest {
  if (!empty) {
    if (!hasPlace(own, state)) return { ready: false, wakeAt: null, idle: false };
    const ready = freePlaces(own, state, now) >= 1;
    return { ready, wakeAt: ready ? null : tokenAt(state.bucket, own.rate as RateLimit, now), idle: false };
  }
  // A bucket that is not full must be remembered until it is.
  const fullAt = own.rate === undefined ? now : tokenAt(state.bucket, own.rate, now, own.rate.burst);
  if (fullAt > now) return { ready: false, wakeAt: fullAt, idle: false };
  return { ready: false, wakeAt: null, idle: state.running <= 0 };
}

/**
 * Tokens fall in one after the other, at a steady pace; those that do not fit in are lost. The fraction is how much of the next one has
 * come. It is never lost, also while the bucket is full; and while something waits, nor is what comes in LATE_MS: else every claim that
 * comes a moment late would slow the rate down.
 */
export function tokensIn(bucket: Bucket, { limit, perMs, burst }: RateLimit, now: number): number {
  if (bucket === null) return burst;
  const tokens = bucket.tokens + (Math.max(0, now - bucket.at) * limit) / perMs;
  const more = bucket.awaited ? Math.max(1, Math.floor((LATE_MS * limit) / perMs)) : 1;
  return tokens < burst + more ? tokens : burst + more - 1 + (tokens % 1);
}

/** When there are so many tokens. */
export function tokenAt(bucket: Bucket, rate: RateLimit, now: number, tokens = 1): number {
  return now + Math.max(0, Math.ceil(((tokens - tokensIn(bucket, rate, now)) * rate.perMs) / rate.limit));
}

/** When the next token comes; null: there is one already, or no rate. */
export function nextTokenAt({ rate }: PlaceLimits, bucket: Bucket, now: number): number | null {
  return rate === undefined || tokensIn(bucket, rate, now) >= 1 ? null : tokenAt(bucket, rate, now);
}

/** The priority that counts: higher by one for each `agingMs` that something has waited. */
export function agedPriority(priority: number, waitingMs: number, agingMs: number | undefined): number {
  return agingMs === undefined ? priority : priority + Math.floor(Math.max(0, waitingMs) / agingMs);
}

/** How many places are given per second: an average that forgets what is more than about a minute ago. */
export interface Pace {
  readonly perSecond: number;
  readonly at: number;
}

export function paceAfter(pace: Pace, count: number, now: number): Pace {
  return { perSecond: paceNow(pace, now) + (count * 1_000) / AVERAGE_MS, at: now };
}

export function paceNow({ perSecond, at }: Pace, now: number): number {
  return perSecond * Math.exp(-Math.max(0, now - at) / AVERAGE_MS);
}

/** Whether a claim looks at queues with limits before all others: half of the claims do, so that neither starves the other. */
export function limitedFirst(claimId: string): boolean {
  return /[0-7]$/.test(claimId);
}

/** How many of the oldest, and how many of the newest, a claim sorts in. */
export function sortedAtEachEnd(limits: QueueLimits, queue: PlaceState, now: number): number {
  return Math.max(SORTED_MIN, Math.min(SORTED_MAX, freePlaces(limits, queue, now)));
}

/** Those of many, in the order of their due times, that a claim sorts in. */
export function sortedInFirst<T>(due: readonly T[], atEachEnd: number): readonly T[] {
  return due.length <= 2 * atEachEnd ? due : [...due.slice(0, atEachEnd), ...due.slice(-atEachEnd)];
}
