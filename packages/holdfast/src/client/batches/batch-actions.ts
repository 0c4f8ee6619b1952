/**
 * What a batch does to the runs of a page.
 *
 * Invariant B1: an action is done to a run at most once for each batch, however often a page is repeated. Every action leaves the
 * batch with the run: in the id of a message, in the event that it writes, or in the error that it ends the run with.
 */
import { runClosed, runNotFound } from "../../calls/refused-message.ts";
import { isTransient } from "../../calls/store-retry.ts";
import { toErrorRecord } from "../../errors/error-record.ts";
import { HoldfastError, isHoldfastError } from "../../errors/holdfast-error.ts";
import type { ErrorRecord } from "../../model/error-record.ts";
import { batchMessageId } from "../../model/ids.ts";
import { messageFrom, type Who } from "../../model/operator-notes.ts";
import { isClosed, type Run, type RunStatus } from "../../model/run.ts";
import type { DeliverMessage } from "../../ports/store.ts";
import type { ClientCore } from "../client-core.ts";
import { pauseRun, resumeRun, retryRun, withWho } from "../operations.ts";
import { lastOfChain } from "../queries.ts";
import type { SkippedRun } from "./batch-result.ts";

/** Runs that are read and changed at once, where each takes calls of its own. */
const AT_ONCE = 10;

export type BatchActionName = "cancel" | "terminate" | "signal" | "pause" | "resume" | "retry" | "purge";

/** What a batch is to do, as its input has it. */
export interface BatchAction {
  readonly name: BatchActionName;
  readonly who: Who;
  readonly signal?: { readonly name: string; readonly payload: unknown };
}

export interface Acting {
  readonly core: ClientCore;
  readonly action: BatchAction;
  /** Who does it, with the batch. */
  readonly who: Who & { readonly batch: string };
  /** Whether nobody has begun with this page before. */
  readonly first: boolean;
  readonly abort: AbortSignal;
}

export interface Acted {
  readonly done: number;
  readonly skipped: readonly SkippedRun[];
}

/** The code with which a run is skipped that was found with this status; undefined if the action may be possible. */
export function unfit(action: BatchActionName, status: RunStatus): string | undefined {
  if (action === "retry") return status === "failed" ? undefined : "run_not_failed";
  if (action === "purge") return isClosed(status) ? undefined : "run_not_closed";
  return isClosed(status) ? "run_closed" : undefined;
}

/** Throws if the store cannot be reached: the page is then repeated. */
export async function actOn(acting: Acting, runIds: readonly string[]): Promise<Acted> {
  const codes = await codesOf(acting, runIds);
  const skipped = runIds.flatMap((runId, i) => (codes[i] === undefined ? [] : [{ runId, code: codes[i] as string }]));
  return { done: runIds.length - skipped.length, skipped };
}

type Code = string | undefined;

function codesOf(acting: Acting, runIds: readonly string[]): Promise<readonly Code[]> {
  const { action } = acting;
  if (action.name === "purge") return purge(acting, runIds);
  if (action.name === "cancel") return deliver(acting, runIds, { kind: "cancel", ...messageFrom(acting.who) });
  if (action.signal) {
    const { name, payload } = action.signal;
    const encoded = acting.core.ports.codec.encode(payload, `payload of signal "${name}"`);
    return deliver(acting, runIds, { kind: "signal", name, payload: encoded });
  }
  if (action.name === "terminate") return terminate(acting, runIds);
  return oneByOne(acting, runIds, (runId) => operate(acting, runId));
}

function oneByOne(
  { abort }: Acting,
  runIds: readonly string[],
  act: (runId: string) => Promise<void>,
): Promise<readonly Code[]> {
  return someAtOnce(runIds, (runId) => {
    abort.throwIfAborted();
    return codeOf(act(runId));
  });
}

/** One call of the store for all of them. */
function deliver(
  { core, who }: Acting,
  runIds: readonly string[],
  message: Pick<DeliverMessage, "kind" | "name" | "payload">,
): Promise<Code[]> {
  const send = async (runId: string): Promise<Code> => {
    const messageId = batchMessageId(who.batch, runId);
    const { outcome } = await core.messages.add({ ...message, messageId, to: { namespace: core.namespace, runId } });
    if (outcome === "not_found") return "run_not_found";
    if (outcome === "closed") return "run_closed";
    return outcome === "full" ? "too_many_signals" : undefined;
  };
  return Promise.all(runIds.map(send));
}

/** One call of the store for all that it can end at once: others are locked, have continued as new, or have ended. */
async function terminate(acting: Acting, runIds: readonly string[]): Promise<Code[]> {
  const { core, who } = acting;
  const { namespace } = core;
  const error = withWho(toErrorRecord(new HoldfastError("run_terminated", who.reason ?? "terminated")), who);
  const runs = runIds.map((runId) => ({ namespace, runId }));
  const outcomes = await core.call((store) => store.runs.terminate({ runs, error }));
  for (const { owes, runId } of outcomes) if (owes && runId !== null) core.payer.note({ namespace, runId });
  const left = runIds.filter((_, i) => outcomes[i]?.outcome !== "terminated");
  const codes = await oneByOne(acting, left, (runId) => terminateOne(acting, error, runId));
  return runIds.map((runId) => codes[left.indexOf(runId)]);
}

async function terminateOne({ core, who }: Acting, error: ErrorRecord, runId: string): Promise<void> {
  const { namespace } = core;
  const ended = await core.terminate({ namespace, runId }, error);
  if (ended.outcome === "not_found") throw runNotFound(runId, namespace);
  if (ended.outcome !== "closed") return;
  const run = await core.queries.read({ namespace, runId: ended.runId ?? runId });
  if (run?.error?.data?.["batch"] !== who.batch) throw runClosed(runId, ended.status);
}

async function operate({ core, action, who, first }: Acting, runId: string): Promise<void> {
  const read = async (): Promise<Run> => {
    const run = await core.queries.read({ namespace: core.namespace, runId });
    if (!run) throw runNotFound(runId, core.namespace);
    return lastOfChain(core, run);
  };
  const messageId = batchMessageId(who.batch, runId);
  const isDone = async (): Promise<boolean> => !first && (await wasDone(core, await read(), who.batch, messageId));
  if (await isDone()) return;
  try {
    if (action.name === "retry") await retryRun(core, read, who);
    else await (action.name === "pause" ? pauseRun : resumeRun)(core, read, who, messageId);
  } catch (error) {
    // A worker that has lost the batch, and does not know it yet, may have been faster.
    if (!isRefusal(error) || !(await isDone())) throw error;
  }
}

async function wasDone(core: ClientCore, run: Run, batch: string, messageId: string): Promise<boolean> {
  return (await core.readHistory(run)).some(({ meta }) => meta?.batch === batch || meta?.messageId === messageId);
}

/** A run that is gone counts as done: whoever has purged it, it is as this batch would leave it. */
async function purge({ core }: Acting, runIds: readonly string[]): Promise<Code[]> {
  const { namespace } = core;
  const params = { namespace, endedBefore: Number.MAX_SAFE_INTEGER, runIds, limit: runIds.length };
  const { purged } = await core.call((store) => store.runs.purge(params));
  if (purged === runIds.length) return runIds.map(() => undefined);
  const left = await Promise.all(runIds.map((runId) => core.queries.read({ namespace, runId })));
  return left.map((run, i) => {
    // In place of a purged run, its continuation is found.
    if (!run || run.runId !== runIds[i]) return undefined;
    return isClosed(run.status) ? "run_still_needed" : "run_not_closed";
  });
}

/** The code of the error that a run is skipped for; throws any error that says nothing about the run itself. */
async function codeOf(acting: Promise<void>): Promise<Code> {
  try {
    await acting;
    return undefined;
  } catch (error) {
    if (isRefusal(error)) return error.code;
    throw error;
  }
}

function isRefusal(error: unknown): error is HoldfastError {
  return isHoldfastError(error) && !isTransient(error) && error.code !== "client_closed";
}

async function someAtOnce<T, R>(items: readonly T[], each: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let i = next++; i < items.length; i = next++) results[i] = await each(items[i] as T);
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, work));
  return results;
}
