/** Runs whose code is in another language: what it asks for, step by step. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Duration, durationMs, timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type BeginStepRequest,
  type BeginStepResponseSchema,
  type CompleteStepRequest,
  type CompleteStepResponseSchema,
  fromErrorDetail,
  RawPayload,
  type RetryPolicy,
  readStepId,
  type Step,
  StepKind,
  StepSchema,
  StepStatus,
  stepId,
  toErrorDetail,
  toPayload,
  toWorkflowStatus,
  type WorkerService,
  type WorkflowStatus,
} from "@holdfast/protocol";
import {
  type GuestEnd,
  type GuestRun,
  type HistoryEvent,
  HoldfastError,
  isHoldfastError,
  type ResolvedStepOptions,
  resolveStepOptions,
  shouldRetry,
} from "holdfast/adapter";
import type { GuestRuns } from "../guests/guest-runs.ts";
import type { Call, Handlers } from "./call.ts";
import { refused, required } from "./pages.ts";
import { receivedPayload, type WorkflowServiceParams } from "./received-payload.ts";

const SLEEP_MS_MAX = 100 * 365 * 24 * 3_600_000;

export type StepHandlers = Pick<
  Handlers<typeof WorkerService>,
  "beginStep" | "completeStep" | "failStep" | "completeWorkflow" | "failWorkflow" | "sleep"
>;

export interface GuestStepsParams extends WorkflowServiceParams {
  readonly guests: GuestRuns;
}

/** What every call about a run has. */
interface AboutRun {
  readonly taskToken: string;
  readonly runId: string;
}

export function stepHandlers(params: GuestStepsParams): StepHandlers {
  const { guests } = params;
  const runOf = ({ taskToken, runId }: AboutRun, { namespace, workerHeader }: Call): GuestRun =>
    guests.find(namespace, taskToken, runId, workerHeader).run;
  return {
    async beginStep(message, call) {
      const run = runOf(message, call);
      return begin(run, readBegin(run, message));
    },

    async completeStep(message, call) {
      return completeStep(params, runOf(message, call), message, call);
    },

    async failStep(message, call) {
      const run = runOf(message, call);
      const { retryAt } = await run.fail(opOf(run, message.stepId), fromErrorDetail(message.error), message.attempt);
      return retryAt === undefined ? {} : { scheduledRetry: true, retryAt: timestampFromMs(retryAt) };
    },

    async sleep(message, call) {
      const run = runOf(message, call);
      return { elapsed: await run.sleep(opOf(run, message.stepId), sleepMs(message.duration)) };
    },

    async completeWorkflow(message, call) {
      const output = await receivedPayload(params, call, message.output, "output");
      const { dropOpenSteps: dropsOpenSteps } = message;
      return { status: await ended(params, message, call, { type: "completed", output, dropsOpenSteps }) };
    },

    async failWorkflow(message, call) {
      return { status: await ended(params, message, call, { type: "failed", error: fromErrorDetail(message.error) }) };
    },
  };
}

async function completeStep(
  params: GuestStepsParams,
  run: GuestRun,
  { stepId: id, output, attempt, begin: next }: CompleteStepRequest,
  call: Call,
): Promise<MessageInitShape<typeof CompleteStepResponseSchema>> {
  const op = opOf(run, id);
  // Before anything is recorded: a call that is refused has done nothing.
  const asked = next && readBegin(run, next);
  const event = await run.complete(op, await receivedPayload(params, call, output, "output"), attempt);
  if (event.type !== "step_completed")
    throw new HoldfastError("step_failed", `Step "${op}" has failed: ${event.meta?.error?.message ?? ""}`);
  const step = stepMessage(run, event);
  return asked ? { step, begun: await begin(run, asked) } : { step };
}

interface AskedStep {
  readonly name: string;
  /** Undefined for a sleep. */
  readonly options: ResolvedStepOptions | undefined;
}

/** Throws whatever is wrong with it. */
function readBegin(run: GuestRun, message: BeginStepRequest): AskedStep {
  const { stepName, kind, retryPolicy, timeout, runId } = message;
  const name = required(stepName, "step_name");
  if (runId !== "" && runId !== run.run.runId) throw refused("run_id", "is another run than that of the call");
  if (kind === StepKind.SLEEP) return { name, options: undefined };
  if (kind !== StepKind.UNSPECIFIED && kind !== StepKind.FUNCTION)
    throw refused("kind", "is neither FUNCTION nor SLEEP: a guest cannot ask for anything else");
  run.requireStepName(name);
  return { name, options: optionsOf(name, retryPolicy, timeout) };
}

async function begin(
  run: GuestRun,
  { name, options }: AskedStep,
): Promise<MessageInitShape<typeof BeginStepResponseSchema>> {
  const id = stepId(run.run.runId, name);
  if (options === undefined) return { stepId: id, shouldExecute: !run.done.some(({ op }) => op === name) };
  const begun = await run.begin(name, options);
  if (begun.type === "execute") {
    const { attempt, idempotencyKey } = begun;
    return { stepId: id, shouldExecute: true, attempt, idempotencyKey };
  }
  const { output, error, attemptNumber } = stepMessage(run, begun.event);
  return {
    stepId: id,
    attempt: attemptNumber,
    ...(output ? { cachedOutput: output } : {}),
    ...(error ? { cachedError: error } : {}),
  };
}

/** The status of a run that its guest has ended, now or with an earlier call whose answer was lost. */
async function ended(
  { guests }: GuestStepsParams,
  about: AboutRun,
  call: Call,
  end: GuestEnd,
): Promise<WorkflowStatus> {
  const { namespace, workerHeader } = call;
  let { taskToken: token } = about;
  try {
    const held = guests.find(namespace, token, about.runId, workerHeader);
    token = held.token;
    await held.run.end(end);
  } catch (error) {
    const before = isHoldfastError(error, "guest_run_lost") ? await guests.endedAs(namespace, token) : undefined;
    if (before === undefined) throw error;
    return toWorkflowStatus(before);
  }
  const status = await guests.endedAs(namespace, token);
  return toWorkflowStatus(status ?? (end.type === "completed" ? "completed" : "failed"));
}

/** The op of a step id, which may also be the bare name. */
function opOf({ run }: GuestRun, id: string): string {
  const read = readStepId(required(id, "step_id"));
  return read?.runId === run.runId ? read.op : id;
}

/** A step as its last event shows it. */
export function stepMessage({ run }: GuestRun, { type, op, at, payload, meta }: HistoryEvent): Step {
  const output = payload && toPayload(new RawPayload(payload));
  const error = type === "step_failed" && meta?.error ? toErrorDetail(meta.error) : undefined;
  return create(StepSchema, {
    namespace: run.namespace,
    stepId: stepId(run.runId, op ?? ""),
    runId: run.runId,
    name: op ?? "",
    kind: type === "timer_fired" ? StepKind.SLEEP : StepKind.FUNCTION,
    status: type === "step_failed" ? StepStatus.FAILED : StepStatus.COMPLETED,
    attemptNumber: meta?.attempt ?? 1,
    finishedAt: timestampFromMs(at),
    ...(output ? { output } : {}),
    ...(error ? { error } : {}),
  });
}

function optionsOf(name: string, policy: RetryPolicy | undefined, timeout: Duration | undefined): ResolvedStepOptions {
  const timeoutMs = timeout === undefined ? 0 : durationMs(timeout);
  if (timeoutMs < 0) throw refused("timeout", "is negative");
  return resolveStepOptions(
    {
      ...(policy ? retryOf(policy) : {}),
      ...(timeoutMs > 0 ? { timeout: { milliseconds: timeoutMs } } : {}),
    },
    `step "${name}"`,
  );
}

function retryOf(policy: RetryPolicy): Pick<ResolvedStepOptions, "retryIf"> & { readonly retry: object } {
  const { maximumAttempts, initialIntervalMs, backoffCoefficient, maximumIntervalMs, nonRetryableErrors } = policy;
  if (maximumAttempts < 0 || initialIntervalMs < 0n || maximumIntervalMs < 0n || backoffCoefficient < 0)
    throw refused("retry_policy", "has a negative number");
  const initial = Number(initialIntervalMs) || 1_000;
  return {
    retry: {
      attempts: maximumAttempts || 3,
      initial: { milliseconds: initial },
      factor: backoffCoefficient || 2,
      max: { milliseconds: Math.max(initial, Number(maximumIntervalMs) || 60_000) },
    },
    retryIf:
      nonRetryableErrors.length === 0
        ? "default"
        : (error, about) => !isNamed(error, about, nonRetryableErrors) && shouldRetry("default", error, about),
  };
}

/** Whether the code, the kind, the name or the message of an error begins with one of these. */
function isNamed(error: unknown, { kind }: { readonly kind: string }, names: readonly string[]): boolean {
  const { code, name, message } = error as HoldfastError;
  return [code, kind, name, message].some((text) => names.some((start) => start !== "" && text?.startsWith(start)));
}

function sleepMs(duration: Duration | undefined): number {
  const ms = duration === undefined ? 0 : durationMs(duration);
  if (ms < 0 || ms > SLEEP_MS_MAX) throw refused("duration", "must be between 0 and 100 years");
  return ms;
}
