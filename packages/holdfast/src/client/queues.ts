/** The queues of a namespace: how much there is in them, and their limits. */
import {
  checkedLater,
  checkOptions,
  invalidOption,
  isBoolean,
  isPlainObject,
  type OptionCheck,
  type OptionChecks,
  optionsOf,
  requireDuration,
  requireName,
  wholeNumber,
} from "../errors/option-checks.ts";
import { shownValue } from "../errors/shown-value.ts";
import type { Duration } from "../model/duration.ts";
import {
  type PlaceLimits,
  QUEUE_LIMIT_MAX,
  type QueueLimits,
  type QueueLoad,
  type RateLimit,
} from "../model/queue-limits.ts";
import type { SetQueueParams } from "../ports/store.ts";
import type { ClientCore } from "./client-core.ts";

const HOLDERS_MAX = 100;
const WEIGHT_MIN = 0.001;
const WEIGHT_MAX = 1_000;

/** How often runs or tasks may begin. */
export interface QueueRate {
  /** So many … */
  readonly limit: number;
  /** … in this time. */
  readonly per: Duration;
  /**
   * So many may begin at once after a pause.
   * @defaultValue `limit`
   */
  readonly burst?: number;
}

/** Limits that hold for a queue as a whole, or for each of its keys. */
export interface KeyOptions {
  /**
   * How many may be in progress at once, over all workers; `0` lets nothing begin.
   * @defaultValue no limit
   */
  readonly concurrency?: number;
  /**
   * How often they may begin, over all workers.
   * @defaultValue no limit
   */
  readonly rate?: QueueRate;
}

/**
 * The limits of a queue: for its runs, from when they first begin to their end, and, counted apart, for attempts of its tasks. In a queue
 * with any of these options keys take turns.
 */
export interface QueueOptions extends KeyOptions {
  /**
   * Limits of each key by itself. What has no key is not limited by them.
   * @defaultValue none
   */
  readonly perKey?: KeyOptions;
  /**
   * Keys take turns although nothing is limited.
   * @defaultValue `false`; with any other option here keys take turns anyway
   */
  readonly fair?: boolean;
  /**
   * How large the shares of keys are, compared with the others: numbers from 0.001 to 1000.
   * @defaultValue 1 for each key
   */
  readonly weights?: Readonly<Record<string, number>>;
  /**
   * How many runs may wait: beyond that, `hf.start` and its relatives are refused with `queue_full`. Children, continuations, forks,
   * retries and the runs of schedules are not. Starts at the same moment may exceed it by their number.
   * @defaultValue no limit
   */
  readonly backlog?: number;
  /**
   * For each time of this length that something has waited, it counts as one priority higher: low priority is late, but never starved.
   * @defaultValue priorities do not age
   */
  readonly aging?: Duration;
}

/** A run or a task that has a place in a queue with limits. */
export interface QueueHolder {
  readonly id: string;
  readonly runId: string;
  /** Null: it has none. */
  readonly key: string | null;
  /** The op of a task. */
  readonly op?: string;
  readonly since: Date;
}

/** How much there is in a queue, of runs or of tasks. */
export interface Load {
  /** Due, and not in progress. */
  readonly waiting: number;
  /** In a queue with limits: what has a place. Without limits: what a worker holds at this moment. */
  readonly running: number;
  readonly oldestDueAt: Date | null;
  /** How many have begun per second, over about the last minute; 0 in a queue without limits, where nobody counts. */
  readonly perSecond: number;
  /** The first 100 that have a place, the longest first. None in a queue without limits. */
  readonly holders: readonly QueueHolder[];
}

/** A queue, as `hf.queues.list()` shows it. */
export interface QueueView {
  readonly name: string;
  /** As `hf.queues.set` takes them; empty if there are none. */
  readonly limits: QueueOptions;
  readonly runs: Load;
  readonly tasks: Load;
}

/** `hf.queues()` and `hf.queues.list()` are the same. */
export interface Queues {
  (): Promise<readonly QueueView[]>;
  /** The queues that have limits, or have ever had runs or tasks; by name. */
  list(): Promise<readonly QueueView[]>;
  /** Sets the limits of a queue, all of them: what is left out is removed. Workers keep to them from their next claim on. */
  set(name: string, options: QueueOptions): Promise<void>;
}

const count = wholeNumber(0, QUEUE_LIMIT_MAX);
const atLeastOne = wholeNumber(1, QUEUE_LIMIT_MAX);

const isRate = optionsOf<QueueRate>({ limit: atLeastOne, per: checkedLater, burst: atLeastOne });

const KEY_OPTIONS: OptionChecks<KeyOptions> = { concurrency: count, rate: isRate };

const areWeights: OptionCheck = (value, where, option) => {
  if (!isPlainObject(value)) throw invalidOption(where, option, `is ${shownValue(value)}, not an object`);
  for (const [key, weight] of Object.entries(value as Record<string, unknown>)) {
    requireName(key, "key");
    if (typeof weight === "number" && weight >= WEIGHT_MIN && weight <= WEIGHT_MAX) continue;
    throw invalidOption(where, `${option}.${key}`, `is ${shownValue(weight)}; it must be a number from 0.001 to 1000`);
  }
};

const QUEUE_OPTIONS: OptionChecks<QueueOptions> = {
  ...KEY_OPTIONS,
  perKey: optionsOf(KEY_OPTIONS),
  fair: isBoolean,
  weights: areWeights,
  backlog: count,
  aging: checkedLater,
};

export function makeQueues(core: ClientCore): Queues {
  const list = async (): Promise<readonly QueueView[]> => {
    const { namespace } = core;
    const states = await core.call((store) => store.queues.list({ namespace, holdersMax: HOLDERS_MAX }));
    return states.map(({ name, limits, runs, tasks }) => ({
      name,
      limits: limits === null ? {} : optionsFor(limits),
      runs: loadOf(runs),
      tasks: loadOf(tasks),
    }));
  };
  const set = async (name: string, options: QueueOptions): Promise<void> => {
    const limits = queueLimits(name, options);
    const { namespace } = core;
    // The first guess is right where there are no limits yet; otherwise the answer says what to go by.
    for (let revision: string | null = null; ; ) {
      const params: SetQueueParams = { namespace, queue: name, limits, revision, next: core.newId() };
      const result = await core.call((store) => store.queues.setIfRevision(params));
      if (result.outcome === "written") return;
      revision = result.revision;
    }
  };
  return Object.assign(() => list(), { list, set });
}

/** The limits that a store is to keep; null if the options limit nothing. */
export function queueLimits(name: string, options: QueueOptions): QueueLimits | null {
  requireName(name, "queue name");
  return readLimits(options, `queues.set(${JSON.stringify(name)})`);
}

function readLimits(options: QueueOptions, where: string): QueueLimits | null {
  if (options === undefined)
    throw invalidOption(where, "the limits", "are missing. Pass an object: {} removes all limits of the queue");
  checkOptions(options, QUEUE_OPTIONS, where);
  const { perKey, fair, weights, backlog, aging } = options;
  const own = perKey && readPlaces(perKey, where, "perKey.");
  const limits: QueueLimits = {
    ...readPlaces(options, where, ""),
    ...(own && Object.keys(own).length > 0 ? { perKey: own } : {}),
    ...(fair ? { fair } : {}),
    ...(weights && Object.keys(weights).length > 0 ? { weights } : {}),
    ...(backlog === undefined ? {} : { backlog }),
    ...(aging === undefined ? {} : { agingMs: requirePositive(aging, where, "aging") }),
  };
  return Object.keys(limits).length === 0 ? null : limits;
}

function readPlaces({ concurrency, rate }: KeyOptions, where: string, prefix: string): PlaceLimits {
  return {
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(rate === undefined ? {} : { rate: readRate(rate, where, `${prefix}rate`) }),
  };
}

function readRate({ limit, per, burst }: QueueRate, where: string, option: string): RateLimit {
  if (limit === undefined) throw invalidOption(where, `${option}.limit`, "is missing");
  return { limit, perMs: requirePositive(per, where, `${option}.per`), burst: burst ?? limit };
}

function requirePositive(duration: Duration, where: string, option: string): number {
  const ms = requireDuration(duration, where, option);
  if (ms < 1) throw invalidOption(where, option, "is not longer than 0");
  return ms;
}

function optionsFor({ perKey, fair, weights, backlog, agingMs, ...own }: QueueLimits): QueueOptions {
  return {
    ...placesFor(own),
    ...(perKey ? { perKey: placesFor(perKey) } : {}),
    ...(fair ? { fair } : {}),
    ...(weights ? { weights } : {}),
    ...(backlog === undefined ? {} : { backlog }),
    ...(agingMs === undefined ? {} : { aging: { milliseconds: agingMs } }),
  };
}

function placesFor({ concurrency, rate }: PlaceLimits): KeyOptions {
  return {
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(rate ? { rate: { limit: rate.limit, per: { milliseconds: rate.perMs }, burst: rate.burst } } : {}),
  };
}

function loadOf({ waiting, running, oldestDueAt, perSecond, holders }: QueueLoad): Load {
  return {
    waiting,
    running,
    oldestDueAt: oldestDueAt === null ? null : new Date(oldestDueAt),
    perSecond: Math.round(perSecond * 100) / 100,
    holders: holders.map((holder) => ({ ...holder, since: new Date(holder.since) })),
  };
}
