import type { Duration, Load, QueueOptions, QueueRate } from "holdfast";
import type { QueueLimits, QueueLoad, QueueRow, QueuesView, QueueWaiters } from "../api/operation-messages.ts";
import { wholeNumber } from "./query-values.ts";
import { runRow } from "./run-row.ts";
import { type Ask, storeNow } from "./scope.ts";

const WAITING_SEEN_MAX = 500;

export async function queues({ scope }: Ask): Promise<QueuesView> {
  const found = await scope.view.queues.list();
  return {
    queues: found.map(
      ({ name, limits, runs, tasks }): QueueRow => ({
        name,
        limits: limitsOf(limits),
        runs: load(runs),
        tasks: load(tasks),
      }),
    ),
    now: await storeNow(scope),
  };
}

/** Durations in milliseconds, unless they are texts. */
function limitsOf({ rate, perKey, aging, ...limits }: QueueOptions): QueueLimits {
  return {
    ...limits,
    ...(rate === undefined ? {} : { rate: rateOf(rate) }),
    ...(aging === undefined ? {} : { aging: lengthOf(aging) }),
    ...(perKey === undefined
      ? {}
      : { perKey: { ...perKey, ...(perKey.rate === undefined ? {} : { rate: rateOf(perKey.rate) }) } as never }),
  };
}

function rateOf(rate: QueueRate): NonNullable<QueueLimits["rate"]> {
  return { ...rate, per: lengthOf(rate.per) };
}

const UNITS_MS: Readonly<Record<string, number>> = {
  milliseconds: 1,
  seconds: 1_000,
  minutes: 60_000,
  hours: 3_600_000,
  days: 86_400_000,
  weeks: 604_800_000,
};

function lengthOf(duration: Duration): string | number {
  if (typeof duration !== "object") return duration;
  return Object.entries(duration).reduce((sum, [unit, count]) => sum + (UNITS_MS[unit] ?? 0) * Number(count), 0);
}

function load({ waiting, running, oldestDueAt, perSecond, holders }: Load): QueueLoad {
  return {
    waiting,
    running,
    oldestDueAt: oldestDueAt?.getTime() ?? null,
    perSecond,
    holders: holders.map(({ since, ...holder }) => ({ ...holder, since: since.getTime() })),
  };
}

/** Runs that are due, or wait for a place. A list is the newest first, so the oldest of those seen come first here. */
export async function queueWaiters({ scope, parts, query }: Ask): Promise<QueueWaiters> {
  const { view } = scope;
  const queue = parts["name"] as string;
  const [page, all] = await Promise.all([
    view.list({ queue, status: ["pending", "running", "sleeping", "waiting"], limit: WAITING_SEEN_MAX }),
    view.queues.list(),
  ]);
  const waiting = page.runs.filter(({ why }) => why.kind === "limit").map(runRow);
  const holders = all.find(({ name }) => name === queue)?.runs.holders ?? [];
  const keys = new Map<string | null, { key: string | null; holders: number; waiting: number }>();
  const entry = (key: string | null) => {
    const known = keys.get(key) ?? { key, holders: 0, waiting: 0 };
    keys.set(key, known);
    return known;
  };
  for (const { key } of waiting) entry(key).waiting += 1;
  for (const { key } of holders) entry(key).holders += 1;
  const limit = wholeNumber(query, "limit", 50, 200);
  return {
    runs: waiting.sort((a, b) => (a.availableAt ?? a.createdAt) - (b.availableAt ?? b.createdAt)).slice(0, limit),
    keys: [...keys.values()].sort((a, b) => b.waiting + b.holders - a.waiting - a.holders),
    capped: page.cursor !== null,
  };
}
