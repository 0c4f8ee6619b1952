import type { EndErrorRecord } from "../../model/error-record.ts";
import type { Attributes } from "../../model/event.ts";
import { newRunId } from "../../model/ids.ts";
import type { Payload } from "../../model/payload.ts";
import { WAITING_FOR_MAX } from "../../model/run.ts";
import { traceOf } from "../../model/run-seed.ts";
import { NONE } from "../../model/short-list.ts";
import { RETRYING_SUFFIX, waitingEntry } from "../../model/waiting.ts";
import type { Transition } from "../../ports/store.ts";
import type { StartAbout } from "../../ports/telemetry.ts";
import { isCancellation } from "../../replay/context/cancellation.ts";
import type { Machine, Outcome, RetriedOutcome } from "../../replay/machine.ts";
import { writeRetriedRun } from "../../report/failure-lines.ts";
import { tracedSeed } from "../../report/traced-start.ts";
import type { WorkflowCode } from "../code/workflow-registry.ts";
import type { ExecutorHost } from "./executor-host.ts";
import { handedOn } from "./pausing.ts";

/** How many times a run postpones its end for messages that have just come in and that its code does not look for. */
const ENDS_REFUSED_MAX = 3;

type EndHost = Pick<ExecutorHost, "random" | "storeTime" | "record" | "lines" | "telemetry">;

/** The end of one run, from when its code has come to it until it is durable; or the next try of the whole run. */
export class RunEnd {
  readonly #code: WorkflowCode;
  readonly #host: EndHost;
  #end: Transition | undefined;
  #retry: Transition | undefined;
  #refused = 0;

  constructor(code: WorkflowCode, host: EndHost) {
    this.#code = code;
    this.#host = host;
  }

  /**
   * How the run is let go of to be tried again as a whole, once that is recorded. From then on its code is given nothing more: what
   * comes is for the next try, whose turns are recorded behind each event.
   */
  get retry(): Transition | undefined {
    return this.#retry;
  }

  /** `looked`: a look in vain can still be taken back. */
  transition(machine: Machine, outcome: Outcome, attributes: Attributes, looked: boolean): Transition {
    if (outcome.type === "retried") {
      this.#retry ??= retryTransition(machine, outcome, this.#code, this.#host);
      return this.#retry;
    }
    this.#end ??= endTransition(machine, outcome, attributes, this.#host);
    // Under a stream of messages that its code does not look for a run must still be able to end.
    const patient = (looked || this.#refused < ENDS_REFUSED_MAX) && !wasNeverCalled(outcome);
    if (this.#end.type === "end" && this.#end.unlessBehind !== patient)
      this.#end = { ...this.#end, unlessBehind: patient };
    return this.#end;
  }

  /** Messages have come before it: nothing of it was written. */
  refused(): void {
    this.#refused += 1;
  }

  /** The run is still here after what was written: if it is to be tried again, messages wait for its next try. */
  kept(): void {
    if (this.#retry) this.#retry = { type: "release" };
  }

  /** The code goes back behind it, and may come to another. */
  takenBack(): void {
    this.#end = undefined;
  }
}

/** The code has come to an end. Whatever comes for a run that continues as new is handed on. */
export function hasEnded(outcome: Outcome | undefined): boolean {
  return outcome?.type === "completed" || (outcome?.type === "failed" && !outcome.neverCalled);
}

/** Nothing in history says so: what is written of such a run must be all of it. */
export function wasNeverCalled(outcome: Outcome | undefined): boolean {
  return outcome?.type === "failed" && outcome.neverCalled === true;
}

/** What the outcome of the workflow function means for the run. */
function endTransition(
  machine: Machine,
  outcome: Exclude<Outcome, RetriedOutcome>,
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
      error: host.record(machine.cancellation),
      compensation,
    };
  }
  if (outcome.type === "completed") {
    const { output } = outcome;
    return { type: "end", status: "completed", unlessBehind: true, output, error: null, compensation: null };
  }
  if (outcome.type === "continued") return continueTransition(machine, outcome.input, attributes, host);
  const canceled = machine.cancelCause === "cancel" && isCancellation(outcome.error);
  const record = host.record(outcome.error);
  const error: EndErrorRecord = canceled ? record : { ...record, ...outcome.retry };
  return {
    type: "end",
    status: canceled ? "canceled" : "failed",
    unlessBehind: true,
    output: null,
    error,
    compensation: outcome.compensation,
  };
}

/** `attributes` are those in the store: they may have changed since the machine was made. */
function continueTransition(machine: Machine, input: Payload, attributes: Attributes, host: EndHost): Transition {
  const { run } = machine;
  const { namespace, id, workflow, version, queue, priority } = run;
  const runId = newRunId(namespace, id, host.storeTime.now(), host.random.bytes(16));
  const timeoutMs = run.timeoutMs === null ? {} : { timeoutMs: run.timeoutMs };
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
      seed: tracedSeed(host.telemetry, { ...run, runId }, continuing(run.seed)),
      ...timeoutMs,
      ...(run.key === undefined ? {} : { key: run.key }),
    },
    carried: [...machine.unreceived().map((signal) => ({ kind: "signal" as const, ...signal })), ...handedOn(machine)],
  };
}

function continuing(seed: string): Pick<StartAbout, "by" | "trace"> {
  const trace = traceOf(seed);
  return trace === undefined ? { by: "continuation" } : { by: "continuation", trace };
}

/** The run goes to sleep and starts over from its history, without the failures that it is to forget. Records that. */
function retryTransition(machine: Machine, outcome: RetriedOutcome, code: WorkflowCode, host: EndHost): Transition {
  const attempt = machine.retries + 1;
  const now = host.storeTime.now();
  const delayMs = code.retryDelayMs(outcome.error, attempt, () => host.random.next());
  const retryAt = now + delayMs;
  const error = host.record(outcome.error);
  const meta = { attempt, error, retryAt, forgets: outcome.forgets };
  writeRetriedRun(host.lines, machine.run, attempt, error, delayMs);
  machine.noteRun({ type: "run_retried", op: null, meta }, now);
  // Whoever claims it next parks it.
  if (machine.pausing) return { type: "release" };
  // Somebody has to wake up at the deadline, too: the run times out then.
  const availableAt = outcome.canceled ? now : Math.min(retryAt, machine.run.deadlineAt ?? retryAt);
  const waitingFor = outcome.forgets.slice(0, WAITING_FOR_MAX).map((op) => op + RETRYING_SUFFIX);
  return { type: "suspend", status: "sleeping", availableAt, waitingFor };
}

const HOLD_RUNNING: Transition = { type: "hold", status: "running" };
const HOLD_COMPENSATING: Transition = { type: "hold", status: "compensating" };

/** The run stays with its worker. */
export function holding({ compensating }: Machine): Transition {
  return compensating ? HOLD_COMPENSATING : HOLD_RUNNING;
}

/** Nothing of the run is to be done now: it is let go of until then, or until a message comes. */
export function suspension(machine: Machine, availableAt: number | null): Transition {
  const idle = machine.waitsForOthers || machine.regaining ? "waiting" : "sleeping";
  const status = machine.compensating ? "compensating" : idle;
  const regained = machine.regaining ? machine.locks.active().filter(({ held }) => !held) : NONE;
  const locks = regained.map(({ op }) => waitingEntry(op, "lock"));
  const ops = machine.firstPending(WAITING_FOR_MAX).map(({ id, kind }) => waitingEntry(id, kind));
  const waitingFor = locks.length === 0 ? ops : [...new Set([...locks, ...ops])].slice(0, WAITING_FOR_MAX);
  return { type: "suspend", status, availableAt, waitingFor };
}
