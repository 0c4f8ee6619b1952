import { formatDuration } from "../model/duration.ts";
import type { ErrorRecord } from "../model/error-record.ts";
import { isClosed } from "../model/run.ts";
import { isOverdue, offers, type WorkerRow } from "../model/worker-row.ts";
import type { Cause, CauseKind } from "./cause.ts";
import { taskText } from "./task-causes.ts";
import type { Findings } from "./why-causes.ts";

/** How many ops are described one by one. */
const OPS_TOLD_MAX = 5;

/** What keeps the run from ending, in words for the person on call. */
export function reasonOf(findings: Findings, causes: readonly Cause[]): string {
  const { run, now } = findings;
  if (run.status === "continued") return `It continued as run ${run.continuedAs}.`;
  if (isClosed(run.status)) {
    const undone =
      run.compensation === "compensation_failed"
        ? ` At least one compensation failed, so not everything was undone: handle.steps() shows which.${run.status === "failed" ? " handle.retry() repeats it." : ""}`
        : "";
    return `It is ${run.status}${run.error ? `: ${run.error.message}` : ""}; it waits for nothing.${undone}`;
  }
  const holder = holderOf(findings);
  const overdue = holder !== undefined && isOverdue(holder, now);
  const { tasks, workers } = findings;
  const told = [
    ...tasks.map((task) => taskText(task, workers, now)),
    ...causes.map((cause) => causeText(cause, now, overdue)),
  ].filter((text) => text !== "");
  const more = told.length > OPS_TOLD_MAX ? [`The same is true of ${told.length - OPS_TOLD_MAX} more ops.`] : [];
  return [standing(findings, causes), ...told.slice(0, OPS_TOLD_MAX), ...more, cancelText(findings, causes)]
    .filter((text) => text !== "")
    .join(" ");
}

function standing(findings: Findings, causes: readonly Cause[]): string {
  const { run, now } = findings;
  if (run.status === "parked") return `It is parked: ${run.error?.message ?? "no reason recorded"}`;
  if (run.heldBy !== null) {
    const holder = holderOf(findings);
    return holder ? holderText(holder, now) : `Worker ${run.heldBy} is working on it.`;
  }
  const wanted = run.waitingFor.length > 0 ? run.waitingFor.map((op) => `"${op}"`).join(", ") : "its turn";
  if (run.availableAt === null) return `It waits for ${wanted}; no timer is set.`;
  const dueAt = new Date(run.availableAt).toISOString();
  if (causes[0]?.kind === "start_delay") return `It is to start at ${dueAt}.`;
  if (run.availableAt > now) return `It waits for ${wanted}, at the latest until ${dueAt}.`;
  if (causes[0]?.kind === "no_worker") return unservedText(findings);
  if (causes[0]?.kind === "lease")
    return `It is due, but the workers that offer it are silent: ${silentText(findings)}. If they stay silent, their leases end, and the run waits for another worker.`;
  return `It is due and waits for a free slot${run.suspect ? " on an empty worker, because workers died while they ran it" : ""}.`;
}

function unservedText(findings: Findings): string {
  const { workflow, version, queue } = findings.run;
  const silent = silentText(findings);
  return `It is due, but no live worker offers ${workflow}@${version} on queue "${queue}"${silent === "" ? "" : `; ${silent}`}.`;
}

/** When the workers that offer the run, and have not stopped of their own accord, were last heard of: the latest three. */
function silentText({ run, now, workers }: Findings): string {
  return workers
    .filter((one) => offers(one, run) && (one.status !== "offline" || one.died))
    .sort((a, b) => b.heartbeatAt - a.heartbeatAt)
    .slice(0, 3)
    .map(({ name, status, heartbeatAt }) =>
      status === "draining"
        ? `worker ${name} is draining`
        : `the last heartbeat of worker ${name} was ${seconds(now - heartbeatAt)} ago`,
    )
    .join(", ");
}

function holderOf({ run, workers }: Findings): WorkerRow | undefined {
  return workers.find((worker) => worker.workerId === run.heldBy);
}

/** What the holder is doing, judging by its heartbeats. */
function holderText(holder: WorkerRow, now: number): string {
  const { name, status, leaseMs, heartbeatAt, leaseExpiresAt } = holder;
  if (status === "offline") return `Worker ${name} held it and has stopped; its runs will be reclaimed.`;
  const silentMs = Math.max(0, now - heartbeatAt);
  const heard = `its last heartbeat was ${seconds(silentMs)} ago`;
  if (leaseExpiresAt <= now)
    return `Worker ${name} holds it, but ${heard} and its lease expired ${seconds(now - leaseExpiresAt)} ago; the next sweep of a live worker reclaims its runs.`;
  const ends = `in ${seconds(leaseExpiresAt - now)}`;
  if (isOverdue(holder, now))
    return `Worker ${name} holds it, but is overdue: ${heard}, and one is due every ${seconds(leaseMs / 3)}. If it stays silent, its lease expires ${ends}, and its runs are reclaimed.`;
  return `Worker ${name} is working on it; ${heard}, and its lease expires ${ends}.`;
}

/** What the first sentence does not say. */
function causeText(cause: Cause, now: number, overdue: boolean): string {
  const { kind, op, at, since, attempt = 1, attempts, error, queue } = cause;
  if (kind === "child") return otherText(cause);
  const due = at ? ` due at ${at.toISOString()}, in ${seconds(at.getTime() - now)}` : " due";
  if (kind === "step" && op === undefined)
    return `The running step is not known: a step is recorded once it has run for about a second. The last event of the run was ${since ? `${seconds(now - since.getTime())} ago` : "long ago"}.`;
  if (kind === "step") {
    const age = seconds(now - (since?.getTime() ?? now));
    const which = attempt > 1 ? ` (attempt ${attempt})` : "";
    return `Step "${op}"${which} ${overdue ? `began ${age} ago` : `has been running for ${age}`}.`;
  }
  if (kind !== "backoff") return "";
  const often = `failed ${times(attempt)}${attempts === undefined ? "" : ` of at most ${attempts} times`}`;
  const what = op === undefined ? "The whole run has" : `${queue === undefined ? "Step" : "Task"} "${op}" has`;
  return `${what} ${often}${error ? `, with ${errorText(error)}` : ""}; its next attempt is${due}.`;
}

/** Another run that it waits for, and what that one waits for. */
function otherText({ op, run, cause, circle }: Cause): string {
  const who = `"${op}"${run?.id === undefined || run.id === op ? "" : ` (run "${run.id}")`}`;
  if (circle) return `${who} never ends: ${circle.map((id) => `"${id}"`).join(", ")} wait for each other in a circle.`;
  return cause ? `${who} waits for ${shortText(cause)}.` : "";
}

function shortText({ kind, op, run, cause }: Cause): string {
  if (kind === "child") return `run "${run?.id ?? op}"${cause ? `, which waits for ${shortText(cause)}` : ""}`;
  return op === undefined ? CAUSES[kind] : `${CAUSES[kind]} "${op}"`;
}

/** What a run waits for, in a word or two. */
const CAUSES: Readonly<Record<CauseKind, string>> = {
  step: "step",
  backoff: "the next attempt of",
  task: "task",
  timer: "timer",
  signal: "signal",
  update: "the handler of",
  condition: "a condition,",
  lease: "a worker that is silent or gone",
  no_worker: "a worker that offers it",
  limit: "a free slot",
  start_delay: "its start time",
  parked: "somebody who resumes it, because it is parked",
  paused: "somebody who resumes it, because it is paused",
  ended: "nothing any more: it has just ended",
  child: "run",
};

/** A cancel is a message: it waits in the inbox until the run receives it. */
function cancelText({ cancel, run }: Findings, causes: readonly Cause[]): string {
  if (!cancel) return "";
  const reason = cancel.reason === null ? "" : ` ("${cancel.reason}")`;
  const asked = `A cancel was requested at ${cancel.at.toISOString()}${reason}`;
  if (run.status === "parked")
    return `${asked}; it takes effect when the run is resumed. Call handle.resume(), or handle.terminate() to end the run as it is.`;
  if (cancel.takenIn) return `${asked}, and the run is being wound up.`;
  if (causes[0]?.kind === "no_worker")
    return `${asked}; it takes effect when a worker claims the run; handle.terminate() ends the run as it is.`;
  return `${asked}; it takes effect when ${run.heldBy === null ? "a worker claims the run" : "its worker delivers it"}.`;
}

function errorText({ name, message }: ErrorRecord): string {
  return `${name}: ${message}`;
}

function times(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}

function seconds(ms: number): string {
  return formatDuration(Math.max(0, Math.round(ms / 100) * 100));
}
