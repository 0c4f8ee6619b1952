import { shownError } from "../model/error-record.ts";
import type { HistoryEvent } from "../model/event.ts";
import { RECEIVE_PREFIX, UNTIL_PREFIX } from "../model/ids.ts";
import type { LiveRun } from "../model/live-run.ts";
import { isOperatorNote, PAUSED, whoOf } from "../model/operator-notes.ts";
import { isClosed, type Run } from "../model/run.ts";
import { waitsForPlace } from "../model/waiting.ts";
import { isAlive, isOverdue, offers, type WorkerRow } from "../model/worker-row.ts";
import type { Cause } from "./cause.ts";
import { isInLine } from "./limit-causes.ts";
import type { StepView } from "./step-view.ts";
import { type AwaitedTask, taskCause } from "./task-causes.ts";

/** A cancel request for a run that is still open. */
export interface RequestedCancel {
  readonly at: Date;
  readonly reason: string | null;
}

/** Everything that the answer is derived from. */
export interface Findings {
  readonly run: Run;
  readonly now: number;
  readonly workers: readonly WorkerRow[];
  readonly events: readonly HistoryEvent[];
  readonly steps: readonly StepView[];
  readonly live: LiveRun | undefined;
  readonly cancel: PendingCancel | undefined;
  /** The tasks that it waits for. */
  readonly tasks: readonly AwaitedTask[];
  /** The limits of queues that keep it, or its tasks, from beginning. */
  readonly limits: readonly Cause[];
  /** The locks and the other runs that it waits for. */
  readonly others: readonly Cause[];
  /** It has moved to another store, and is not known to have arrived. */
  readonly departed: boolean;
}

export interface PendingCancel extends RequestedCancel {
  /** Whether the code has received the cancel. */
  readonly takenIn: boolean;
}

/** What is known to keep the run from ending, running steps first. */
export function causesOf(findings: Findings): readonly Cause[] {
  const { run, now, events, steps } = findings;
  if (isClosed(run.status))
    return [{ kind: "ended", ...some("since", date(run.endedAt)), ...some("error", shownError(run.error)) }];
  if (run.status === "parked") return [causeWhileParked(findings)];
  if (run.heldBy !== null) return causesWhileHeld(findings);
  const due = run.availableAt !== null && run.availableAt <= now;
  if (due) return [causeWhileDue(findings, new Date(run.availableAt as number))];
  if (waitsForPlace(run.waitingFor)) return [causeInLine(findings)];
  if (run.startedAt === null) return [{ kind: "start_delay", ...some("at", date(run.availableAt)) }];
  const last = events.findLast((event) => !isOperatorNote(event));
  if (last?.type === "run_retried" && last.meta?.retryAt !== undefined)
    return [
      {
        kind: "backoff",
        at: new Date(last.meta.retryAt),
        ...some("attempt", last.meta.attempt),
        ...some("error", last.meta.error),
      },
    ];
  return [...tasksOf(findings), ...findings.others, ...waits(steps, undefined)];
}

function causeWhileParked({ run, events }: Findings): Cause {
  const paused = run.error?.code === PAUSED;
  const since = date(events.findLast(({ type }) => type === "run_parked")?.at ?? null);
  const who = paused ? whoOf(run.error?.data ?? {}) : {};
  return { kind: paused ? "paused" : "parked", ...some("since", since), ...who, ...some("error", run.error) };
}

/** The tasks that it waits for. */
function tasksOf({ tasks, limits, workers, now }: Findings): Cause[] {
  const others = tasks.filter(({ task }) => task.status !== "dead" && !isInLine(task));
  return [...limits, ...others.map((task) => taskCause(task, workers, now))];
}

/** It waits for a place in its queue, unless nobody could claim it anyway. */
function causeInLine({ run, now, workers, limits, events }: Findings): Cause {
  const serving = workers.some((one) => one.status === "online" && isAlive(one, now) && offers(one, run));
  const since = new Date(events.at(-1)?.at ?? run.createdAt);
  return serving && limits[0] ? limits[0] : { kind: serving ? "limit" : "no_worker", since };
}

/** A run that is due is claimed at once, unless the workers that offer it are gone, silent or full, or its queue has limits. */
function causeWhileDue({ run, now, workers, limits }: Findings, since: Date): Cause {
  const serving = workers.filter((one) => one.status === "online" && isAlive(one, now) && offers(one, run));
  const [first] = serving;
  if (!first) return { kind: "no_worker", since };
  const ofRun = limits.find(({ op }) => op === undefined);
  if (!serving.every((one) => isOverdue(one, now))) return { ...ofRun, kind: "limit", since };
  return { kind: "lease", since, worker: first.name, at: new Date(first.leaseExpiresAt) };
}

function causesWhileHeld(findings: Findings): Cause[] {
  const { run, now, workers, events, steps, live } = findings;
  const holder = workers.find(({ workerId }) => workerId === run.heldBy);
  const worker = { worker: holder?.name ?? (run.heldBy as string) };
  // Nothing runs on that worker any more.
  if (holder && (holder.status === "offline" || holder.leaseExpiresAt <= now))
    return [{ kind: "lease", ...worker, at: new Date(holder.leaseExpiresAt) }, ...waits(steps, undefined)];
  const running = steps
    .filter(({ status, kind }) => status === "running" && kind !== "task" && kind !== "update" && kind !== "lock")
    .map(({ op, attempts }): Cause => {
      const seen = live?.running.find((step) => step.op === op);
      return {
        kind: "step",
        op,
        ...worker,
        since: new Date(seen?.startedAt ?? startOf(op, events)),
        attempt: attempts,
        ...some("attempts", live?.attemptsMax.get(op)),
      };
    });
  const known = [...running, ...tasksOf(findings), ...findings.others, ...waits(steps, live)];
  // The code may also be in the middle of a turn, or waiting for its next slot; both end in a moment.
  const since = new Date(events.at(-1)?.at ?? run.startedAt ?? run.createdAt);
  return running.length > 0 || (live?.pending && known.length > 0)
    ? known
    : [{ kind: "step", ...worker, since }, ...known];
}

/** What the code waits for, except running steps. */
function waits(steps: readonly StepView[], live: LiveRun | undefined): Cause[] {
  return steps.flatMap((step): Cause[] => {
    const { op, attempts, dueAt, error, status, kind, startedAt, retry } = step;
    const at = some("at", dueAt);
    if (kind === "update") return status === "running" ? [{ kind: "update", op, ...some("since", startedAt) }] : [];
    if (kind === "task" || kind === "child" || kind === "message" || kind === "lock") return [];
    if (status === "retrying")
      return [
        {
          kind: "backoff",
          op,
          attempt: attempts,
          ...some("attempts", live?.attemptsMax.get(op) ?? retry?.attempts),
          ...at,
          ...some("error", error),
        },
      ];
    if (status !== "waiting") return [];
    return [{ kind: waitKind(op), op, ...at, ...some("since", startedAt) }];
  });
}

function waitKind(op: string): Cause["kind"] {
  if (op.startsWith(RECEIVE_PREFIX)) return "signal";
  return op.startsWith(UNTIL_PREFIX) ? "condition" : "timer";
}

/** When the newest attempt of the step began, according to history. */
function startOf(op: string, events: readonly HistoryEvent[]): number {
  const started = events.findLast((event) => event.op === op && event.type === "step_started") as HistoryEvent;
  return started.at - (started.meta?.ms ?? 0);
}

function some<K extends string, T>(key: K, value: T | null | undefined): { readonly [P in K]?: T } {
  return value == null ? {} : ({ [key]: value } as { readonly [P in K]?: T });
}

function date(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}
