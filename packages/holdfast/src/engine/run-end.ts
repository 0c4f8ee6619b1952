import { isHoldfastError } from "../errors/holdfast-error.ts";
import { readProperty } from "../errors/safe-read.ts";
import type { ErrorRecord } from "../model/error-record.ts";
import type { Attributes } from "../model/event.ts";
import { uuidV7 } from "../model/ids.ts";
import type { Payload } from "../model/payload.ts";
import type { Transition } from "../ports/store.ts";
import type { Outcome } from "../replay/machine-params.ts";
import type { RunMachine } from "../replay/run-machine.ts";
import type { ExecutorHost } from "./executor-host.ts";
import { writeRetriedRun } from "./failure-lines.ts";
import type { WorkflowCode } from "./workflow-registry.ts";

/** How many of the ops that a run waits for its row names. */
const WAITING_FOR_MAX = 20;

type EndHost = Pick<ExecutorHost, "random" | "storeTime" | "record" | "lines">;

/** What the outcome of the workflow function means for the run. */
export function endTransition(
  machine: RunMachine,
  outcome: Exclude<Outcome, { type: "retried" }>,
  attributes: Attributes,
  host: EndHost,
): Transition {
  if (machine.cancelCause === "deadline") {
    const compensation = outcome.type === "failed" ? outcome.compensation : null;
    return {
      type: "end",
      status: "timed_out",
      unlessBehind: true,
      output: null,
      error: host.record(machine.root.canceled),
      compensation,
    };
  }
  if (outcome.type === "completed") {
    const { output } = outcome;
    return { type: "end", status: "completed", unlessBehind: true, output, error: null, compensation: null };
  }
  if (outcome.type === "continued") return continueTransition(machine, outcome.input, attributes, host);
  const canceled = machine.cancelCause === "cancel" && isCancellation(outcome.error);
  return {
    type: "end",
    status: canceled ? "canceled" : "failed",
    unlessBehind: true,
    output: null,
    error: host.record(outcome.error),
    compensation: outcome.compensation,
  };
}

/** The cancellation itself, or an error that was thrown because of it. */
function isCancellation(error: unknown): boolean {
  for (let current = error, depth = 0; current && depth < 5; current = readProperty(current, "cause"), depth++) {
    if (isHoldfastError(current, "run_canceled")) return true;
  }
  return false;
}

/** `attributes` are those in the store: they may have changed since the machine was made. */
function continueTransition(machine: RunMachine, input: Payload, attributes: Attributes, host: EndHost): Transition {
  const { run } = machine;
  const runId = uuidV7(host.storeTime.now(), host.random.bytes(16));
  const { namespace, id, workflow, version, queue, priority } = run;
  const timeoutMs = run.deadlineAt === null ? {} : { timeoutMs: run.deadlineAt - run.createdAt };
  return {
    type: "continue",
    next: {
      namespace,
      runId,
      id,
      workflow,
      version,
      queue,
      priority,
      attributes: { ...attributes, ...machine.freshAttributes },
      input,
      seed: runId,
      ...timeoutMs,
    },
    carried: machine.signals.unreceived().map((signal) => ({ kind: "signal" as const, ...signal })),
  };
}

/** Codes of what other code may be able to deal with. */
const FIXABLE: ReadonlySet<string | undefined> = new Set(["workflow_bug", "replay_divergence"]);

/** Nothing here can go on with the run; a deployment of other code may, if it was the code's fault. */
export function parking(error: ErrorRecord, { identity }: WorkflowCode): Transition {
  return { type: "park", error, ...(FIXABLE.has(error.code) ? { code: identity } : {}) };
}

/** The run goes to sleep and starts over from its history, without the failures that it is to forget. Records that. */
export function retryTransition(
  machine: RunMachine,
  outcome: Extract<Outcome, { type: "retried" }>,
  code: WorkflowCode,
  host: EndHost,
): Transition {
  const attempt = machine.retries + 1;
  const now = host.storeTime.now();
  const delayMs = code.retryDelayMs(attempt, () => host.random.next());
  const retryAt = now + delayMs;
  const error = host.record(outcome.error);
  const meta = { attempt, error, retryAt, forgets: outcome.forgets };
  writeRetriedRun(host.lines, machine.run, attempt, error, delayMs);
  machine.append({ type: "run_retried", op: null, meta }, now);
  return { type: "suspend", status: "sleeping", availableAt: retryAt, waitingFor: outcome.forgets };
}

/** Nothing of the run is to be done now: it is let go of until then, or until a message comes. */
export function suspension(machine: RunMachine, availableAt: number | null): Transition {
  const ops = machine.ops.pending().filter((op) => op.kind !== "retired");
  const idle = ops.some((op) => op.kind === "receive") ? "waiting" : "sleeping";
  const status = machine.compensating ? "compensating" : idle;
  return { type: "suspend", status, availableAt, waitingFor: ops.slice(0, WAITING_FOR_MAX).map((op) => op.id) };
}
