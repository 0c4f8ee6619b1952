import { formatDuration } from "../model/duration.ts";
import type { ErrorRecord } from "../model/error-record.ts";
import { isOperatorNote } from "../model/operator-notes.ts";
import { isClosed, WAITING_FOR_MAX } from "../model/run.ts";
import { waitingOps, waitsForPlace } from "../model/waiting.ts";
import { isOverdue, offers, type WorkerRow } from "../model/worker-row.ts";
import type { Cause } from "./cause.ts";
import { limitText } from "./limit-causes.ts";
import { lockText } from "./lock-causes.ts";
import { opWords } from "./op-words.ts";
import { otherText } from "./other-text.ts";
import { taskText } from "./task-causes.ts";
import type { Findings } from "./why-causes.ts";

/** How many ops are described one by one. */
const OPS_TOLD_MAX = 5;

/** What keeps the run from ending, in words for the person on call. */
export function reasonOf(findings: Findings, causes: readonly Cause[]): string {
  const { run, now } = findings;
  if (run.status === "moved")
    return `${run.error?.message ?? "It has moved to another store."}${findings.departed ? " It is not known to have arrived there: repeat hf.move." : ""}`;
  if (run.status === "continued") return `It continued as run ${run.continuedAs}.`;
  if (isClosed(run.status)) {
    const undone =
      run.compensation === "compensation_failed"
        ? ` At least one compensation failed, so not everything was undone: handle.steps() shows which.${run.status === "failed" ? " handle.retry() repeats it." : ""}`
        : "";
    const { message } = run.error ?? {};
    // A message may be a sentence already.
    const waits = message?.endsWith(".") ? " It waits for nothing." : "; it waits for nothing.";
    return `It is ${run.status}${message === undefined ? "" : `: ${message}`}${waits}${undone}`;
  }
  const holder = holderOf(findings);
  const overdue = holder !== undefined && isOverdue(holder, now);
  const { tasks, workers } = findings;
  const told = [
    ...tasks.map((task) => taskText(task, workers, now)),
    ...causes.map((cause) => causeText(cause, run.id, now, overdue)),
  ].filter((text) => text !== "");
  const more = told.length > OPS_TOLD_MAX ? [`The same is true of ${told.length - OPS_TOLD_MAX} more ops.`] : [];
  return [
    standing(findings, causes),
    ...told.slice(0, OPS_TOLD_MAX),
    ...more,
    pausingText(findings),
    cancelText(findings, causes),
  ]
    .filter((text) => text !== "")
    .join(" ");
}

function standing(findings: Findings, causes: readonly Cause[]): string {
  const { run, now } = findings;
  if (causes[0]?.kind === "paused") return pausedText(causes[0]);
  if (run.status === "parked") return `It is parked: ${run.error?.message ?? "no reason recorded"}`;
  if (run.heldBy !== null) {
    const holder = holderOf(findings);
    return holder ? holderText(holder, now) : `Worker ${run.heldBy} is working on it.`;
  }
  // In line, or about to be: what is told of the limit says it all.
  const forPlace = waitsForPlace(run.waitingFor) || causes[0]?.limit !== undefined;
  if (forPlace && causes[0]?.kind !== "lease") {
    if (causes[0]?.kind === "no_worker") return unservedText(findings);
    return run.deadlineAt === null ? "" : `It times out at ${new Date(run.deadlineAt).toISOString()}.`;
  }
  const wanted = wantedText(findings);
  if (run.availableAt === null) return `It waits for ${wanted}; no timer is set.`;
  const dueAt = new Date(run.availableAt).toISOString();
  if (causes[0]?.kind === "start_delay") return `It is to start at ${dueAt}.`;
  if (run.availableAt > now) return `It waits for ${wanted}, at the latest until ${dueAt}.`;
  if (causes[0]?.kind === "no_worker") return unservedText(findings);
  if (causes[0]?.kind === "lease")
    return `It is due, but the workers that offer it are silent: ${silentText(findings)}. If they stay silent, their leases end, and the run waits for another worker.`;
  return `It is due and waits for a free slot${run.suspect ? " on an empty worker, because workers died while they ran it" : ""}.`;
}

function pausedText({ by, reason, since }: Cause): string {
  const who = by === undefined ? "" : ` by ${by}`;
  const when = since ? ` since ${since.toISOString()}` : "";
  return `It is paused${who}${when}${reason === undefined ? "" : ` ("${reason}")`}. handle.resume() lets it continue.`;
}

/** A run that a worker holds is paused once nothing of it runs. */
function pausingText({ run, events }: Findings): string {
  const request = events.findLast((event) => isOperatorNote(event) || event.type === "run_forked");
  if (run.status === "parked" || request?.type !== "pause_requested") return "";
  const { by, reason } = request.meta ?? {};
  const who = by === undefined ? "" : ` by ${by}`;
  const why = reason === undefined ? "" : ` ("${reason}")`;
  return `A pause was requested at ${new Date(request.at).toISOString()}${who}${why}; the run is parked once its running attempts have ended.`;
}

/** The ops that it waits for, the first ones by name. */
function wantedText({ run, steps }: Findings): string {
  const waitingFor = waitingOps(run.waitingFor);
  if (waitingFor.length === 0) return "its turn";
  const words = waitingFor.slice(0, OPS_TOLD_MAX).map((op) => opWords(op, steps.find((step) => step.op === op)?.kind));
  const more = waitingFor.length - words.length;
  if (more === 0) return words.join(", ");
  return `${words.join(", ")} and ${waitingFor.length < WAITING_FOR_MAX ? "" : "at least "}${more} more`;
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
function causeText(cause: Cause, id: string, now: number, overdue: boolean): string {
  const { kind, op, at, since, attempt = 1, attempts, error, queue } = cause;
  if (kind === "child") return otherText(cause, id);
  if (kind === "limit") return [limitText(cause), otherText(cause, id)].filter((text) => text !== "").join(" ");
  if (kind === "lock") return [lockText(cause), otherText(cause, id)].filter((text) => text !== "").join(" ");
  if (kind === "update" && op !== undefined) {
    const began = since ? `; it began ${seconds(now - since.getTime())} ago` : "";
    return `The${opWords(op).slice("the".length)} has not finished${began}.`;
  }
  const due = at ? ` due at ${at.toISOString()}, in ${seconds(at.getTime() - now)}` : " due";
  if (kind === "step" && op === undefined)
    return `The running step is not known: a step is recorded once it has run for about a second. The last event of the run was ${since ? `${seconds(now - since.getTime())} ago` : "long ago"}.`;
  if (kind === "step") {
    const age = seconds(now - (since?.getTime() ?? now));
    const which = attempt > 1 ? ` (attempt ${attempt})` : "";
    return `Step "${op}"${which} ${overdue ? `began ${age} ago` : `has been running for ${age}`}.`;
  }
  if (kind !== "backoff") return "";
  if (attempt === 0)
    return `Task "${op}" was given back, and no attempt was counted: its worker could not read its input and has logged why. It is offered again,${due}.`;
  const often = `failed ${times(attempt)}${attempts === undefined ? "" : ` of at most ${attempts} times`}`;
  const what = op === undefined ? "The whole run has" : `${queue === undefined ? "Step" : "Task"} "${op}" has`;
  return `${what} ${often}${error ? `, with ${errorText(error)}` : ""}; its next attempt is${due}.`;
}

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
