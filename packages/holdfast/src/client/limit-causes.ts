import { requireDuration } from "../errors/option-checks.ts";
import { isDue } from "../model/decisions/due-time.ts";
import { formatDuration } from "../model/duration.ts";
import { NO_KEY, type PlaceLimits, type QueueKind, type QueueState } from "../model/queue-limits.ts";
import type { Run } from "../model/run.ts";
import type { Task } from "../model/task.ts";
import { waitsForPlace } from "../model/waiting.ts";
import type { Cause, CauseLimit } from "./cause.ts";
import type { ClientCore } from "./client-core.ts";
import { behindHolders, HOLDERS_MAX } from "./lock-causes.ts";
import { listed } from "./op-words.ts";
import type { Follow } from "./other-causes.ts";

/** So many tasks are looked at. */
const TASKS_MAX = 5;

/** The limits that keep a run, or tasks that it waits for, from beginning: who has the places, and what they wait for in turn. */
export async function limitCauses(
  core: ClientCore,
  run: Run,
  tasks: readonly Task[],
  { since, now }: { readonly since: number; readonly now: number },
  follow: Follow,
): Promise<Cause[]> {
  const { key = NO_KEY, startedAt, heldBy } = run;
  // One that has never begun has no place. It may be due and not in line yet, if many have come before it.
  const comes = startedAt === null && heldBy === null && isDue(run.availableAt, now);
  if (comes || waitsForPlace(run.waitingFor)) {
    const found = await limitOn(core, "runs", run.queue, key, follow);
    return found ? [{ kind: "limit", since: new Date(since), ...found }] : [];
  }
  const causes: Cause[] = [];
  for (const task of tasks.filter(isInLine).slice(0, TASKS_MAX)) {
    const found = await limitOn(core, "tasks", task.queue, task.spec?.key ?? key, follow);
    if (found)
      causes.push({ kind: "limit", op: task.op, attempt: task.attempt, since: new Date(task.createdAt), ...found });
  }
  return causes;
}

/** A task that is due at no time, and that nothing ends but its limits, waits for a place. */
export function isInLine({ status, availableAt, canceled, expires }: Task): boolean {
  return status === "due" && availableAt === null && !canceled && expires !== "crash";
}

async function limitOn(core: ClientCore, kind: QueueKind, queue: string, key: string, follow: Follow) {
  const { namespace } = core;
  const read = async (more: { readonly key?: string }): Promise<QueueState | undefined> =>
    (await core.call((store) => store.queues.list({ namespace, queue, holdersMax: HOLDERS_MAX, ...more })))[0];
  const all = await read({});
  if (!all?.limits) return undefined;
  const own = key === NO_KEY ? undefined : await read({ key });
  const { perKey = {} } = all.limits;
  const full = isFull(all.limits, all[kind].running);
  // Places come before tokens, and those of the key before those of the queue.
  const ofKey = own && (isFull(perKey, own[kind].running) || (!full && own[kind].tokenAt !== null));
  const { holders: there, tokenAt, running } = (ofKey ? own : all)[kind];
  const limits = ofKey ? perKey : all.limits;
  const limit = limitShown(limits, ofKey ? "key" : "queue", isFull(limits, running));
  // Whoever waits for a token does not wait for those who have places.
  const holders = limit?.concurrency === undefined ? [] : there;
  return {
    queue,
    ...(key === NO_KEY ? {} : { key }),
    ...(limit ? { limit } : {}),
    ...(limit?.rate && tokenAt !== null ? { at: new Date(tokenAt) } : {}),
    ...(holders.length === 0 ? {} : { holders: holders.map(({ id, runId }) => ({ id, runId })) }),
    ...(await behindHolders(holders, follow)),
  };
}

function isFull(limits: PlaceLimits | undefined, running: number): boolean {
  return limits?.concurrency !== undefined && running >= limits.concurrency;
}

function limitShown({ concurrency, rate }: PlaceLimits, of: CauseLimit["of"], full: boolean): CauseLimit | undefined {
  if (full && concurrency !== undefined) return { of, concurrency };
  return rate && { of, rate: { limit: rate.limit, per: { milliseconds: rate.perMs }, burst: rate.burst } };
}

/** The same in words for the person on call. */
export function limitText({ op, queue, key, limit, at, holders = [] }: Cause): string {
  if (queue === undefined) return "";
  const what = op === undefined ? "It waits" : `Task "${op}" waits`;
  const where = limit?.of === "key" ? `of key "${key}" in queue "${queue}"` : `of queue "${queue}"`;
  if (limit?.concurrency === 0) return `${what}: the limit ${where} is 0, so nothing begins. hf.queues.set changes it.`;
  if (limit?.concurrency !== undefined) {
    const shown = holders.slice(0, 3).map(({ id }) => `"${id}"`);
    const more = holders.length > 3 ? [`${holders.length - 3}${holders.length >= HOLDERS_MAX ? " or" : ""} more`] : [];
    const by =
      holders.length === 0 ? "" : `, by ${holders.length === 1 ? "run" : "runs"} ${listed([...shown, ...more])}`;
    const wanted = limit.concurrency === 1 ? "the only place" : `one of the ${limit.concurrency} places`;
    return `${what} for ${wanted} ${where}: ${limit.concurrency === 1 ? "it is" : "all are"} taken${by}.`;
  }
  if (limit?.rate) {
    const { limit: count, per } = limit.rate;
    const next = at ? `: the next may begin at ${at.toISOString()}` : "";
    return `${what} for the rate ${where} (${count} in ${formatDuration(requireDuration(per, "why", "per"))})${next}.`;
  }
  return `${what} for its turn in queue "${queue}".`;
}
