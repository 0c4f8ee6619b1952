import { keyLimits, nextTokenAt, paceNow } from "../../model/decisions/admission.ts";
import { isDue } from "../../model/decisions/due-time.ts";
import {
  NO_KEY,
  type PlaceHolder,
  QUEUE_KINDS,
  type QueueKind,
  type QueueLoad,
  type QueueState,
} from "../../model/queue-limits.ts";
import { isClosed } from "../../model/run.ts";
import type { ListQueuesParams, SetQueueParams, SetQueueResult } from "../../ports/store.ts";
import { type MemoryState, type RunRecord, setAvailable } from "../state.ts";
import type { TaskRecord } from "../tasks/task-record.ts";
import {
  byTime,
  givePlace,
  hintQueue,
  keyOf,
  leaveLine,
  limitedKey,
  lineOf,
  makeReady,
  type Placed,
  placedRun,
  placesIn,
} from "./place-state.ts";
import type { InQueue, LimitedQueue } from "./queue-record.ts";

export function setQueue(state: MemoryState, params: SetQueueParams, now: number): SetQueueResult {
  const { namespace, queue, next } = params;
  const name = `${namespace}\n${queue}`;
  const revision = state.queueRevisions.get(name) ?? null;
  if (revision === next) return { outcome: "written" };
  if (revision !== params.revision) return { outcome: "moved", revision };
  state.queueRevisions.set(name, next);
  for (const kind of QUEUE_KINDS) setLimits(state, kind, params, now);
  return { outcome: "written" };
}

function setLimits(
  state: MemoryState,
  kind: QueueKind,
  { namespace, queue, limits }: SetQueueParams,
  now: number,
): void {
  const name = limitedKey(kind, namespace, queue);
  const known = state.limited.get(name);
  if (limits === null) {
    if (known) removeLimits(state, name, known, now);
    return;
  }
  const limited = known ?? emptyQueue(kind, namespace, queue);
  limited.limits = limits;
  state.limited.set(name, limited);
  if (!known) countRunning(state, limited, now);
  // Whatever kept them from it may be gone.
  for (const key of limited.keys.keys()) makeReady(limited, key);
  hintQueue(state, limited);
}

function emptyQueue(kind: QueueKind, namespace: string, queue: string): LimitedQueue {
  const state = { running: 0, bucket: null, virtualTime: 0 };
  return {
    kind,
    namespace,
    queue,
    limits: {},
    state,
    pace: { perSecond: 0, at: 0 },
    keys: new Map(),
    lines: new Map(),
  };
}

/** What has begun gets places: as many as there are. */
function countRunning(state: MemoryState, limited: LimitedQueue, now: number): void {
  const isIn = (one: RunRecord | TaskRecord): boolean =>
    one.namespace === limited.namespace && one.queue === limited.queue;
  const begun: Placed[] =
    limited.kind === "runs"
      ? [...state.runs.values()]
          .filter((row) => isIn(row) && row.startedAt !== null && !isClosed(row.status))
          .map(placedRun)
      : [...state.tasks.values()].filter((task) => isIn(task) && (task.status === "held" || isSuspect(task)));
  for (const placed of begun) {
    const key = keyOf(state, placed);
    givePlace(state, limited, key, placed, now);
    limited.state = { ...limited.state, running: limited.state.running + 1 };
    const known = limited.keys.get(key) ?? { key, running: 0, bucket: null, virtualTime: 0, ready: true, wakeAt: null };
    limited.keys.set(key, { ...known, running: known.running + 1 });
  }
}

/** It is claimed alone, without regard to limits: so it has a place for as long as it is there. */
function isSuspect({ suspect, status }: TaskRecord): boolean {
  return suspect && status !== "dead";
}

/** Everything in line is due again, since when it was. */
function removeLimits(state: MemoryState, name: string, limited: LimitedQueue, now: number): void {
  for (const entry of lineOf(limited)) {
    leaveLine(state, entry);
    if (limited.kind === "runs") releaseRun(state, entry, now);
    else releaseTask(state, entry);
  }
  for (const { runId, seq } of placesIn(state, limited)) state.places.delete(`${runId}/${seq}`);
  state.limited.delete(name);
  hintQueue(state, limited);
}

function releaseRun(state: MemoryState, { runId, at }: InQueue, now: number): void {
  const row = state.runs.get(runId) as RunRecord;
  row.waitingFor = [];
  setAvailable(state, row, at, now);
}

function releaseTask(state: MemoryState, { runId, seq, at }: InQueue): void {
  const task = state.tasks.get(`${runId}/${seq}`) as TaskRecord;
  task.inLine = false;
  task.availableAt = at;
  state.dueTasks.add(`${runId}/${seq}`);
}

export function listQueues(state: MemoryState, params: ListQueuesParams, now: number): QueueState[] {
  const { namespace } = params;
  const names = new Set(state.queues.get(namespace));
  for (const limited of state.limited.values()) if (limited.namespace === namespace) names.add(limited.queue);
  return [...names]
    .filter((name) => params.queue === undefined || name === params.queue)
    .sort()
    .map((name) => ({
      name,
      limits: state.limited.get(limitedKey("runs", namespace, name))?.limits ?? null,
      runs: loadOf(state, "runs", name, params, now),
      tasks: loadOf(state, "tasks", name, params, now),
    }));
}

/** How many runs wait in a queue: due, or in line. */
export function waitingIn(state: MemoryState, namespace: string, queue: string, now: number): number {
  return loadOf(state, "runs", queue, { namespace, holdersMax: 0 }, now).waiting;
}

function loadOf(state: MemoryState, kind: QueueKind, queue: string, params: ListQueuesParams, now: number): QueueLoad {
  const { namespace, key, holdersMax } = params;
  const limited = state.limited.get(limitedKey(kind, namespace, queue));
  const isIn = (placed: Placed): boolean =>
    placed.namespace === namespace && placed.queue === queue && (key === undefined || keyOf(state, placed) === key);
  const all: (Placed & Pick<RunRecord, "availableAt" | "heldBy">)[] =
    kind === "runs"
      ? [...state.runs.values()].map((row) => ({ ...placedRun(row), availableAt: row.availableAt, heldBy: row.heldBy }))
      : [...state.tasks.values()];
  const there = all.filter(isIn);
  const isLined = ({ runId, seq }: Placed): boolean => state.inLine.has(`${runId}/${seq}`);
  const due = there.flatMap((one) => (isDue(one.availableAt, now) && !isLined(one) ? [one.availableAt as number] : []));
  const line = limited ? lineOf(limited, key).map(({ at }) => at) : [];
  const places = limited ? placesIn(state, limited).filter((place) => key === undefined || place.key === key) : [];
  const waiting = [...due, ...line];
  return {
    waiting: waiting.length,
    running: limited ? places.length : there.filter(({ heldBy }) => heldBy !== null).length,
    oldestDueAt: waiting.reduce((first: number | null, at) => Math.min(first ?? at, at), null),
    perSecond: limited ? paceNow(limited.pace, now) : 0,
    tokenAt: limited ? tokenWaitedFor(limited, key, now) : null,
    holders: places
      .sort(byTime)
      .slice(0, holdersMax)
      .map((place) => holderOf(state, place)),
  };
}

function tokenWaitedFor({ limits, state, keys }: LimitedQueue, key: string | undefined, now: number): number | null {
  if (key === undefined) return nextTokenAt(limits, state.bucket, now);
  return nextTokenAt(keyLimits(limits, key), keys.get(key)?.bucket ?? null, now);
}

function holderOf(state: MemoryState, { runId, seq, key, at }: InQueue): PlaceHolder {
  const { id } = state.runs.get(runId) as RunRecord;
  const op = state.tasks.get(`${runId}/${seq}`)?.op;
  return { id, runId, key: key === NO_KEY ? null : key, ...(op === undefined ? {} : { op }), since: at };
}
