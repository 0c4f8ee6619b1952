/**
 * Many starts at once. All requests are checked before the first is sent, so a bad one starts nothing. The store then
 * answers each start on its own (an id may be taken), so an error has the outcome of every request.
 */
import type { AnyWorkflow } from "../define/definitions.ts";
import { HoldfastError, isHoldfastError } from "../errors/holdfast-error.ts";
import { checkedLater, checkOptions, invalidOption, isList, type OptionChecks } from "../errors/option-checks.ts";
import { shownValue } from "../errors/shown-value.ts";
import type { NewRun } from "../model/run.ts";
import type { StartOptions } from "./client-options.ts";
import type { PreparedRun } from "./new-run.ts";
import type { RunHandle } from "./run-handle.ts";
import type { StartRequest } from "./start-request.ts";

/** The outcome of one request, in the error of a `startMany` that was incomplete. */
export type StartManyOutcome =
  | { readonly outcome: "created" | "returned"; readonly id: string; readonly runId: string }
  | { readonly outcome: "refused"; readonly id: string; readonly code: string; readonly message: string };

export interface StartManySteps {
  /** Checks a request and makes a run from it. */
  prepare(request: StartRequest): PreparedRun | Promise<PreparedRun>;
  send(run: PreparedRun, options: StartOptions, workflow: AnyWorkflow | string): Promise<RunHandle>;
}

const REQUEST: OptionChecks<StartRequest> = { workflow: checkedLater, input: checkedLater, options: checkedLater };
/** How many refusals the message names; `data.outcomes` has them all. */
const NAMED_MAX = 3;

export async function startMany(
  requests: readonly StartRequest[],
  { prepare, send }: StartManySteps,
): Promise<RunHandle[]> {
  if (!isList(requests))
    throw invalidOption("startMany", "the first argument", `is ${shownValue(requests)}, not an array of requests`);
  const runs: PreparedRun[] = [];
  for (const [i, request] of (requests as readonly StartRequest[]).entries())
    runs.push(await prepared(request, i, prepare));
  const settled = await Promise.allSettled(
    runs.map((run, i) => send(run, requests[i]?.options ?? {}, requests[i]?.workflow ?? run.workflow)),
  );
  const refused = settled.flatMap((result, i) => (result.status === "rejected" ? [i] : []));
  if (refused.length > 0) throw incomplete(runs, settled, refused);
  return settled.map((result) => (result as PromiseFulfilledResult<RunHandle>).value);
}

async function prepared(
  request: StartRequest,
  index: number,
  prepare: StartManySteps["prepare"],
): Promise<PreparedRun> {
  const where = `startMany: request ${index}`;
  try {
    if (request === undefined) throw invalidOption(where, "the request", "is undefined, not an object");
    checkOptions(request, REQUEST, where);
    return await prepare(request);
  } catch (error) {
    if (!isHoldfastError(error)) throw error;
    const message = error.message.startsWith(where) ? error.message : `${where}: ${error.message}`;
    throw new HoldfastError(error.code, `${message} Nothing was started.`, {
      kind: error.kind,
      data: { ...error.data, index },
      cause: error,
    });
  }
}

function incomplete(
  runs: readonly NewRun[],
  settled: readonly PromiseSettledResult<RunHandle>[],
  refused: readonly number[],
): HoldfastError {
  const reasons = refused.map((i) => (settled[i] as PromiseRejectedResult).reason as unknown);
  const [first] = reasons;
  // A missing answer says nothing about the other requests: report the closed client first.
  const only = reasons.find((reason) => !isHoldfastError(reason, "run_already_exists"));
  if (isHoldfastError(only, "client_closed")) return only;
  const outcomes = settled.map((result, i) => outcomeOf(result, runs[i] as NewRun));
  const named = refused.slice(0, NAMED_MAX).map((i, k) => `request ${i}: ${textOf(reasons[k])}`);
  const more = refused.length > NAMED_MAX ? ` And ${refused.length - NAMED_MAX} more.` : "";
  return new HoldfastError(
    "start_many_incomplete",
    `startMany: ${refused.length} of ${runs.length} requests were refused; the others are stored. ${named.join(" ")}${more}`,
    { data: { outcomes }, ...(isHoldfastError(first) ? { kind: first.kind } : {}), cause: first },
  );
}

function outcomeOf(result: PromiseSettledResult<RunHandle>, run: NewRun): StartManyOutcome {
  if (result.status === "fulfilled") {
    const { id, runId, created } = result.value;
    return { outcome: created ? "created" : "returned", id, runId };
  }
  const { reason } = result as { reason: unknown };
  const code = isHoldfastError(reason) ? reason.code : "unknown";
  return { outcome: "refused", id: run.id, code, message: textOf(reason) };
}

function textOf(reason: unknown): string {
  return reason instanceof Error ? reason.message : shownValue(reason);
}
