/** What people do to runs from outside: pause, resume and retry. What is recorded of it is in model/operator-notes.ts. */
import { pausedError, startTimeOf } from "../calls/paused-error.ts";
import { runClosed, runNotFound } from "../calls/refused-message.ts";
import { retryEvent } from "../calls/retry-event.ts";
import { HoldfastError } from "../errors/holdfast-error.ts";
import { checkOptions, type OptionChecks, requireReason } from "../errors/option-checks.ts";
import type { ErrorRecord } from "../model/error-record.ts";
import type { EventDraft } from "../model/event.ts";
import { messageFrom, PAUSED, resumeNote, type Who, whoOf } from "../model/operator-notes.ts";
import { isClosed, type Run, type RunStatus } from "../model/run.ts";
import { waitsForPlace } from "../model/waiting.ts";
import type { RunRef } from "../ports/store.ts";
import type { ClientCore } from "./client-core.ts";

/** Who does something to a run, and why. Both are in its history. */
export interface OperatorOptions {
  /**
   * Who does it: a name, an address, a program.
   * @defaultValue nobody is named
   */
  readonly by?: string;
  /**
   * Why.
   * @defaultValue no reason is given
   */
  readonly reason?: string;
}

export const OPERATOR_OPTIONS: OptionChecks<OperatorOptions> = {
  by: (value, where) => requireReason(value, where, "by"),
  reason: (value, where) => requireReason(value, where),
};

/** A bare reason will do. */
export function readWho(given: OperatorOptions | string | undefined, call: string): Who {
  if (typeof given !== "object" || given === null) {
    requireReason(given, call);
    return whoOf({ reason: given });
  }
  checkOptions(given, OPERATOR_OPTIONS, call);
  return whoOf(given);
}

/** Why a run was terminated. The texts are not cut, as those of other errors are. */
export function withWho(record: ErrorRecord, who: Who): ErrorRecord {
  return Object.keys(who).length === 0 ? record : { ...record, data: { ...who } };
}

/** `read`: the run as it is now, and the one that it continued as, if it did. */
export type ReadRun = () => Promise<Run>;

/**
 * Parks the run at once if nobody holds it; otherwise its holder gets a message. The run may change between the look at it and
 * either call: then the store refuses, and the run is looked at again.
 */
export async function pauseRun(core: ClientCore, read: ReadRun, who: Who, messageId = core.newId()): Promise<void> {
  for (;;) {
    const run = await read();
    if (isClosed(run.status)) throw runClosed(run.id, run.status);
    if (run.status === "parked" && run.error?.code === PAUSED) return;
    if (run.heldBy === null) {
      const outcome = await pauseIdle(core, run, who);
      if (outcome === "parked") return;
      if (outcome === "moved") continue;
    }
    if (await send(core, run, "pause", who, messageId)) return;
  }
}

async function pauseIdle(core: ClientCore, run: Run, who: Who): Promise<"parked" | "moved" | "held" | "behind"> {
  // One that waits for a place in its queue is due: it has its deadline in place of its start time.
  const unbegun = run.startedAt === null && !waitsForPlace(run.waitingFor);
  const error = pausedError(who, unbegun ? (run.availableAt ?? startTimeOf(run.error)) : null);
  let sends = 0;
  const { outcome } = await core.untilNotBusy((store) => {
    sends += 1;
    return store.runs.pauseIfIdle({ run: refOf(run), epoch: run.epoch, error });
  });
  if (outcome === "not_found") throw runNotFound(run.id, core.namespace);
  // An earlier send whose answer was lost may have parked the run, and others have gone on with it since.
  if (outcome === "moved" && sends > 1 && (await wasPaused(core, run))) return "parked";
  return outcome as "parked" | "moved" | "held" | "behind";
}

/** Whether the next thing that happened to the run was a pause, by this call or by another one. */
async function wasPaused(core: ClientCore, { namespace, runId, eventCount }: Run): Promise<boolean> {
  const [run] = await core.call((store) => store.runs.read({ runs: [{ namespace, runId }] }));
  const next = run ? (await core.readHistory(run))[eventCount] : undefined;
  return next?.type === "run_parked" && next.meta?.error?.code === PAUSED;
}

/**
 * Makes a parked run due; one that may be pausing gets a message, which says that it is to go on. Any other open run is left
 * alone.
 */
export async function resumeRun(core: ClientCore, read: ReadRun, who: Who, messageId = core.newId()): Promise<void> {
  const event = resumeNote(who);
  for (let resumed = false; ; ) {
    const run = await read();
    if (isClosed(run.status)) {
      if (resumed) return;
      const message = `Run "${run.id}" is ${run.status}; there is nothing to resume.`;
      throw new HoldfastError("run_closed", message, { data: { id: run.id, status: run.status } });
    }
    if (run.status === "parked") {
      const dueAt = startTimeOf(run.error);
      const params = { run: refOf(run), epoch: run.epoch, event, dueAt };
      const answer = await core.call((store) => store.runs.resumeIfParked(params));
      if (answer.status === null) throw runNotFound(run.id, core.namespace);
      // If not by this call, then by an earlier send of it, or by somebody else: in any case after this call began.
      resumed = true;
      if (!answer.pauses) return;
    } else if (!mayBePausing(run)) return;
    if (await send(core, run, "resume", who, messageId)) return;
  }
}

/** Reopens a failed run, at what failed. */
export async function retryRun(core: ClientCore, read: ReadRun, who: Who): Promise<void> {
  const run = await read();
  const events = await core.readHistory(run);
  // For the store, an open run that has more events than were read is reopened: by an earlier send of this call, or by another one.
  if (run.status !== "failed") throw notFailed(run.id, run.status);
  const retry = retryEvent(run, events, who);
  const callId = core.newId();
  const event: EventDraft = { ...retry, meta: { ...retry.meta, messageId: callId } };
  const params = { run: refOf(run), eventCount: run.eventCount, event };
  let sends = 0;
  const { outcome, status } = await core.untilNotBusy((store) => {
    sends += 1;
    return store.runs.reopenIfFailed(params);
  });
  if (outcome === "superseded") throw superseded(run.id, status);
  // The run was failed when it was read: a repeated send may find it open, or failed once more, because of the first one.
  if (outcome !== "reopened" && sends === 1 && status !== "failed") throw notFailed(run.id, status);
  if (!(await isNext(core, run, callId))) throw retriedByOther(run.id, status);
}

/** Whether what happened to the run next was this call, and not that of somebody else; also if nobody can tell any more. */
async function isNext(core: ClientCore, { namespace, runId, eventCount }: Run, callId: string): Promise<boolean> {
  const runs = [{ namespace, runId, afterSeq: eventCount }];
  const [[next] = []] = await core.call((store) => store.histories.read({ runs, limitPerRun: 1 }));
  return next === undefined || next.meta?.messageId === callId;
}

function notFailed(id: string, status: RunStatus | null): HoldfastError {
  const advice = status === "parked" ? " Use resume()." : "";
  const message = `Run "${id}" cannot be retried: it is ${status}, not failed.${advice}`;
  return new HoldfastError("run_not_failed", message, { data: { id, status } });
}

function retriedByOther(id: string, status: RunStatus | null): HoldfastError {
  const message = `Run "${id}" has been retried by somebody else since this call has looked at it; this call has changed nothing.`;
  return new HoldfastError("run_not_failed", message, { data: { id, status } });
}

function superseded(id: string, status: RunStatus | null): HoldfastError {
  const message = `Run "${id}" cannot be retried: a newer run has its id.`;
  return new HoldfastError("run_closed", message, { data: { id, status } });
}

/** A run that is pausing is held, or about to be claimed. */
function mayBePausing({ heldBy, delivered, consumed, status }: Run): boolean {
  return heldBy !== null || delivered > consumed || status === "running" || status === "compensating";
}

/** False if the run is parked meanwhile, and so nobody would read it, or if it has another epoch: it must be looked at again. */
async function send(
  core: ClientCore,
  run: Run,
  kind: "pause" | "resume",
  who: Who,
  messageId: string,
): Promise<boolean> {
  const message = { to: refOf(run), kind, messageId, epoch: run.epoch, ...messageFrom(who) };
  const { outcome, status } = await core.messages.add(message);
  if (outcome === "not_found") throw runNotFound(run.id, core.namespace);
  if (outcome === "closed") throw runClosed(run.id, status);
  return outcome !== "parked" && outcome !== "moved";
}

function refOf({ namespace, runId }: Run): RunRef {
  return { namespace, runId };
}
