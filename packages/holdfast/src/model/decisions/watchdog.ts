/** What is wrong, judged from what the store says. Each detector of the watchdog is one of these; so is most of `hf.health()`. */
import type { Backlog, RunBacklog, TaskBacklog } from "../backlog.ts";
import { formatDuration } from "../duration.ts";
import type { Finding, FoundRun } from "../finding.ts";
import type { Run } from "../run.ts";
import { offeredLabels, type Task } from "../task.ts";
import { isAlive, offers, type WorkerRow } from "../worker-row.ts";
import { fitsTask } from "./task.ts";

/** A worker that died longer ago than this is history. */
export const DEAD_WORKER_MS = 10 * 60 * 1000;
/** A store whose calls take so long, half of them or the slowest, keeps runs from making progress. */
export const SLOW_P50_MS = 500;
export const SLOW_P99_MS = 5_000;
/** So many deaths of workers of one name in the time of the rule are a crash loop. */
export const CRASHES = 3;

/** The workers that have rules, in line: the one that has been there for the longest time keeps watch over the namespace. */
export function guardsOf(workers: readonly WorkerRow[], now: number): string[] {
  const able = workers.filter((one) => one.status === "online" && isAlive(one, now) && hasRules(one));
  able.sort((a, b) => a.startedAt - b.startedAt || (a.workerId < b.workerId ? -1 : 1));
  return able.map(({ workerId }) => workerId);
}

function hasRules({ about }: WorkerRow): boolean {
  return Number(about.options?.["watchdogRules"] ?? 0) > 0;
}

export function foundRun({ id, runId, workflow, epoch, commit, eventCount }: Run): FoundRun {
  return { id, runId, workflow, epoch, commit, eventCount };
}

/** A worker holds it, and has recorded nothing of it for too long. */
export function stalledRun(run: Run, holder: string, since: number, now: number, afterMs: number): Finding | undefined {
  if (run.heldBy === null || now - since < afterMs) return undefined;
  const what = `Worker ${holder} has held run "${run.id}" (${run.workflow}) for ${age(now - since)}`;
  return {
    detect: "stalled_run",
    key: `${run.runId}/${run.epoch}/${run.commit}/${run.eventCount}`,
    text: `${what} without recording anything.`,
    since,
    run: foundRun(run),
    workflow: run.workflow,
    worker: holder,
  };
}

/** An attempt takes too long, and has not reported for half of that time. */
export function stalledTask(
  task: Task,
  run: Run,
  { begunAt, heardAt }: { readonly begunAt: number; readonly heardAt: number },
  now: number,
  afterMs: number,
): Finding | undefined {
  if (task.status !== "held" || task.canceled) return undefined;
  if (now - begunAt < afterMs || now - heardAt < afterMs / 2) return undefined;
  const { op, seq, epoch, attempt, name, queue } = task;
  return {
    detect: "stalled_task",
    key: `${task.runId}/${seq}/${epoch}`,
    text: `Attempt ${attempt} of task "${op}" (${name}) of run "${run.id}" has been running for ${age(now - begunAt)}, and has reported nothing for ${age(now - heardAt)}.`,
    since: begunAt,
    run: foundRun(run),
    task: { seq, op, epoch, attempt },
    workflow: run.workflow,
    queue,
  };
}

/** Runs that wait for each other. The youngest of them is the one to end: it has done the least. */
export function circleOf(circle: readonly string[], runs: readonly Run[], since: number): Finding | undefined {
  const [youngest] = [...runs].sort((a, b) => b.createdAt - a.createdAt || (a.runId < b.runId ? 1 : -1));
  if (!youngest) return undefined;
  const named = circle.map((id) => `"${id}"`).join(", ");
  return {
    detect: "circle",
    key: JSON.stringify([...circle].sort()),
    text: `Runs ${named} wait for each other in a circle; none of them ends on its own.`,
    since,
    run: foundRun(youngest),
    workflow: youngest.workflow,
    circle,
  };
}

/** Whether it is silent for too long, or has died and nobody has taken its place. `afterMs` null: half its lease. */
export function sickWorkers(workers: readonly WorkerRow[], now: number, afterMs: number | null): Finding[] {
  return workers.flatMap((worker): Finding[] => {
    const { workerId, name, status, heartbeatAt, leaseMs, died, stoppedAt } = worker;
    const silentMs = Math.max(0, now - heartbeatAt);
    const about = { detect: "worker", key: workerId, since: heartbeatAt, worker: name } as const;
    if (status !== "offline") {
      if (silentMs <= (afterMs ?? leaseMs / 2)) return [];
      return [{ ...about, text: `Worker ${name} is silent: its last heartbeat is ${age(silentMs)} old.` }];
    }
    const recent = died && now - (stoppedAt ?? now) < DEAD_WORKER_MS;
    if (!recent || silentMs <= (afterMs ?? 0) || workers.some((other) => succeeds(other, worker))) return [];
    return [{ ...about, text: `Worker ${name} has died; its last heartbeat is ${age(silentMs)} old.` }];
  });
}

/**
 * Whether `other` has replaced the dead worker: it has the same host and name, and registered after the dead worker's
 * last heartbeat. A worker that registered earlier only shares the name.
 */
export function succeeds(other: WorkerRow, dead: WorkerRow): boolean {
  const samePlace = dead.host !== undefined && other.host === dead.host && other.name === dead.name;
  return samePlace && other.workerId !== dead.workerId && other.startedAt >= dead.heartbeatAt;
}

export function isSlow({ p50Ms, p99Ms }: { readonly p50Ms: number | null; readonly p99Ms: number | null }): boolean {
  return (p50Ms ?? 0) > SLOW_P50_MS || (p99Ms ?? 0) > SLOW_P99_MS;
}

export function slowText({ p50Ms, p99Ms }: { readonly p50Ms: number | null; readonly p99Ms: number | null }): string {
  return `The store answers slowly: half of its last calls took longer than ${p50Ms} ms, and one in a hundred ${p99Ms} ms.`;
}

/** Queues in which something has been due for too long. `workflow`: only runs of that one count, and no tasks. */
export function backlogs({ now, runs, tasks }: Backlog, afterMs: number, workflow?: string): Finding[] {
  const of = workflow === undefined ? "" : ` of ${workflow}`;
  const wanted = runs.filter((one) => workflow === undefined || one.workflow === workflow);
  return [
    ...byQueue(wanted, now, afterMs, `runs${of}`, workflow),
    ...(workflow === undefined ? byQueue(tasks, now, afterMs, "tasks") : []),
  ];
}

function byQueue(
  lanes: readonly (RunBacklog | TaskBacklog)[],
  now: number,
  afterMs: number,
  what: string,
  workflow?: string,
): Finding[] {
  return [...new Set(lanes.map(({ queue }) => queue))].flatMap((queue): Finding[] => {
    const there = lanes.filter((lane) => lane.queue === queue);
    const since = Math.min(...there.map(({ oldestDueAt }) => oldestDueAt));
    if (now - since < afterMs) return [];
    const count = there.reduce((sum, { waiting }) => sum + waiting, 0);
    const text = `${count} ${what} wait in queue "${queue}", the oldest for ${age(now - since)}.`;
    return [
      { detect: "backlog", key: JSON.stringify([what, queue]), text, since, queue, ...(workflow ? { workflow } : {}) },
    ];
  });
}

/** Workers of one name that die again and again, and runs or tasks that have seen too many deaths. */
export function crashLoops(
  workers: readonly WorkerRow[],
  { now, runs, tasks }: Backlog,
  afterMs: number,
  workflow?: string,
): Finding[] {
  const suspects = [
    ...runs
      .filter((one) => one.suspects > 0 && (workflow === undefined || one.workflow === workflow))
      .map(({ queue, suspects: n, oldestDueAt, ...one }) => {
        const what = `${one.workflow}@${one.version}`;
        return suspected(`runs of ${what}`, n, queue, oldestDueAt, { workflow: one.workflow, version: one.version });
      }),
    ...tasks
      .filter((one) => one.suspects > 0 && workflow === undefined)
      .map(({ queue, suspects: n, oldestDueAt, name }) => suspected(`tasks ${name}`, n, queue, oldestDueAt, {})),
  ];
  return workflow === undefined ? [...dyingWorkers(workers, now, afterMs), ...suspects] : suspects;
}

function suspected(what: string, count: number, queue: string, since: number, about: Partial<Finding>): Finding {
  const text = `${count} ${what} in queue "${queue}" have killed their workers repeatedly; each is executed alone until it makes progress, or parked.`;
  return { detect: "crash_loop", key: JSON.stringify([what, queue]), text, since, queue, ...about };
}

function dyingWorkers(workers: readonly WorkerRow[], now: number, afterMs: number): Finding[] {
  const dead = workers.filter(({ died, stoppedAt }) => died && now - (stoppedAt ?? 0) < afterMs);
  return [...new Set(dead.map(({ name }) => name))].flatMap((name): Finding[] => {
    const times = dead.filter((one) => one.name === name).map(({ stoppedAt }) => stoppedAt as number);
    if (times.length < CRASHES) return [];
    const text = `Workers named ${name} have died ${times.length} times within ${age(afterMs)}.`;
    return [
      { detect: "crash_loop", key: JSON.stringify(["worker", name]), text, since: Math.min(...times), worker: name },
    ];
  });
}

/** What is due and no live worker can take: a version of a workflow, or a task. */
export function unserved(
  workers: readonly WorkerRow[],
  { now, runs, tasks }: Backlog,
  afterMs: number,
  workflow?: string,
): Finding[] {
  const live = workers.filter((one) => one.status === "online" && isAlive(one, now));
  const lone = runs
    .filter((run) => now - run.oldestDueAt >= afterMs && !live.some((one) => offers(one, run)))
    .filter((run) => workflow === undefined || run.workflow === workflow)
    .map(({ queue, waiting, oldestDueAt: since, workflow: name, version }): Finding => {
      const text = `No live worker offers ${name}@${version} on queue "${queue}"; ${waiting} ${runsText(waiting)}, the oldest for ${age(now - since)}.`;
      const key = JSON.stringify(["run", name, version, queue]);
      return { detect: "unserved_version", key, text, since, workflow: name, version, queue };
    });
  const able = live.map(({ tasks: names = [], queues, labels }) => ({ names, queues, labels: offeredLabels(labels) }));
  const idle = tasks
    .filter((task) => now - task.oldestDueAt >= afterMs && !able.some((one) => fitsTask(task, one)))
    .map(({ queue, waiting, oldestDueAt: since, name, requires }): Finding => {
      const labels = requires.length === 0 ? "" : ` with ${requires.join(", ")}`;
      const text = `No live worker${labels} executes task "${name}" on queue "${queue}"; ${waiting} ${waiting === 1 ? "waits" : "wait"}, the oldest for ${age(now - since)}.`;
      return { detect: "unserved_version", key: JSON.stringify(["task", name, requires, queue]), text, since, queue };
    });
  return workflow === undefined ? [...lone, ...idle] : lone;
}

function runsText(count: number): string {
  return count === 1 ? "run waits" : "runs wait";
}

function age(ms: number): string {
  return formatDuration(ms < 1_000 ? Math.round(ms) : Math.round(ms / 1_000) * 1_000);
}
