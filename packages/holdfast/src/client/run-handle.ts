import type { StandardSchemaV1 } from "@standard-schema/spec";
import { invalidValue, validateWith } from "../define/standard-schema.ts";
import { readWholeHistory } from "../engine/history-reader.ts";
import type { RunEnd } from "../engine/run-ends.ts";
import { fromErrorRecord, toErrorRecord } from "../errors/error-record.ts";
import { HoldfastError } from "../errors/holdfast-error.ts";
import { RunCanceledError, RunFailedError, RunTerminatedError, RunTimedOutError } from "../errors/run-errors.ts";
import { type Duration, formatDuration } from "../model/duration.ts";
import type { HistoryEvent } from "../model/event.ts";
import { idFault } from "../model/names.ts";
import { EMPTY_PAYLOAD } from "../model/payload.ts";
import { isClosed, type Run, type RunStatus } from "../model/run.ts";
import type { Timer } from "../ports/clock.ts";
import type { DeliverMessage, DeliverOutcome, RunRef } from "../ports/store.ts";
import type { SignalDefinition } from "../replay/context.ts";
import { requireDuration } from "../replay/step-options.ts";
import type { ClientCore } from "./client-core.ts";
import { endOf } from "./result-waiter.ts";
import { retryEvent } from "./retry-event.ts";
import {
  describeRun,
  type EventView,
  foldSteps,
  type RunDescription,
  type StepView,
  viewEvent,
  wholeHistory,
} from "./run-view.ts";

/** What a start tells of its run. */
export type StartedRun = Pick<Run, "runId" | "workflow">;

/** One run, seen from outside. `T` is what its workflow returns. */
export class RunHandle<T = unknown> {
  readonly id: string;
  readonly #core: ClientCore;
  readonly #knownRunId: string | undefined;
  #workflow: string | undefined;

  constructor(core: ClientCore, id: string, run: StartedRun | undefined) {
    this.#core = core;
    this.id = id;
    this.#knownRunId = run?.runId;
    this.#workflow = run?.workflow;
  }

  /** Known at once on a handle from `start`; on one from `get(id)` only `describe()` can tell. */
  get runId(): string {
    if (this.#knownRunId !== undefined) return this.#knownRunId;
    throw new HoldfastError(
      "invalid_option",
      `This handle knows only the id "${this.id}". Use (await handle.describe()).runId.`,
    );
  }

  async describe(): Promise<RunDescription> {
    return describeRun(await this.#read(), this.#core.ports.codec);
  }

  async status(): Promise<RunStatus> {
    return (await this.#read()).status;
  }

  /** The output, once it is durable. Follows continue-as-new. Rejects when the run did not complete. */
  async result(options: { readonly timeout?: Duration } = {}): Promise<T> {
    const { clock } = this.#core.ports;
    const timeoutMs =
      options.timeout === undefined ? undefined : requireDuration(options.timeout, "result()", "timeout");
    if (timeoutMs === undefined) return this.#unwrap(await this.#end(() => {}));
    let timer: Timer | undefined;
    let stop: (() => void) | undefined;
    const limit = new Promise<never>((_, reject) => {
      timer = clock.setTimer(timeoutMs, () => {
        stop?.();
        void this.#timeoutError(timeoutMs).then(reject);
      });
    });
    const ended = this.#end((cancel) => {
      stop = cancel;
    });
    try {
      return this.#unwrap(await Promise.race([ended, limit]));
    } finally {
      timer?.cancel();
    }
  }

  async #end(onWait: (cancel: () => void) => void): Promise<RunEnd> {
    let runId = this.#knownRunId;
    if (runId === undefined) {
      const run = await this.#read();
      if (isClosed(run.status) && run.status !== "continued") return endOf(run);
      runId = run.runId;
    }
    for (;;) {
      const waiting = this.#core.waiter.wait(runId);
      onWait(waiting.cancel);
      const end = await waiting.end;
      if (end.continuedAs === null) return end;
      runId = end.continuedAs;
    }
  }

  async #timeoutError(timeoutMs: number): Promise<HoldfastError> {
    const run = await this.#read().catch(() => undefined);
    const parked = run?.status === "parked" ? ` It is parked: ${run.error?.message}` : "";
    return new HoldfastError(
      "result_timeout",
      `Run "${this.id}" has not ended within ${formatDuration(timeoutMs)}; it is ${run?.status ?? "unreachable"}.${parked} The run itself goes on.`,
      {
        data: { id: this.id, status: run?.status },
      },
    );
  }

  #unwrap(end: RunEnd): T {
    const { codec } = this.#core.ports;
    if (end.status === "completed") return (end.output === null ? undefined : codec.decode(end.output)) as T;
    const cause = end.error === null ? undefined : fromErrorRecord(end.error);
    const about = { id: this.id, runId: end.runId, workflow: this.#workflow ?? "", cause };
    const reason = end.error?.data?.["reason"];
    const why = typeof reason === "string" ? { reason } : {};
    if (end.status === "canceled") throw new RunCanceledError({ ...about, ...why });
    if (end.status === "terminated") throw new RunTerminatedError({ ...about, ...why });
    if (end.status === "timed_out") throw new RunTimedOutError(about);
    throw new RunFailedError(about);
  }

  /** Everything that happened, from event 0 on. */
  async history(): Promise<EventView[]> {
    const { run, events } = await this.#readHistory();
    return wholeHistory(run, events).map((event) => viewEvent(event, this.#core.ports.codec));
  }

  /** The ops of the run, each folded into one row. */
  async steps(): Promise<StepView[]> {
    const { run, events } = await this.#readHistory();
    return foldSteps(run, events, this.#core.ports.codec);
  }

  /** Resolves when the signal is durable. The same `id` twice is one signal. */
  async signal<T, P>(signal: SignalDefinition<T, P>, ...rest: SignalArguments<NoInfer<P>>): Promise<void> {
    const [given, options] = rest as [unknown, { readonly id?: string } | undefined];
    const payload = signal.schema ? await checkedPayload(signal.name, signal.schema, given) : given;
    const { codec } = this.#core.ports;
    const empty = payload === undefined || payload === null;
    const encoded = empty ? EMPTY_PAYLOAD : codec.encode(payload, `payload of signal "${signal.name}"`);
    await this.#deliver({ kind: "signal", name: signal.name, payload: encoded }, options?.id);
  }

  /** Asks the run to stop. It ends as canceled once it has cleaned up; closed runs are left alone. */
  async cancel(reason?: string): Promise<void> {
    await this.#deliver({ kind: "cancel", name: reason ?? "", payload: EMPTY_PAYLOAD }, undefined, true);
  }

  /** Ends the run at once, whoever holds it, without cleaning up; closed runs are left alone. */
  async terminate(reason?: string): Promise<void> {
    const cause = new HoldfastError("run_terminated", reason ?? "terminated", {
      data: reason === undefined ? {} : { reason },
    });
    const { outcome } = await this.#core.terminate(this.#ref(), toErrorRecord(cause));
    if (outcome === "not_found") throw this.#notFound();
  }

  /** A failed run continues at the op that failed; what is recorded stays. A compensation that failed is tried again. */
  async retry(): Promise<void> {
    const { run, events } = await this.#readHistory();
    // An open run that has more events than were read counts as reopened by an earlier try of this very call.
    if (run.status !== "failed") throw this.#notRetried(run.status, `it is ${run.status}, not failed`);
    const event = retryEvent(run, events);
    const params = { run: { runId: run.runId }, eventCount: run.eventCount, event };
    let tries = 0;
    const { outcome, status } = await this.#core.untilNotBusy((store) => {
      tries += 1;
      return store.reopenRunIfFailed(params);
    });
    // It was failed when it was read. A repeated call that finds it otherwise finds what an earlier try has brought about.
    if (outcome === "reopened" || (outcome === "not_failed" && tries > 1)) return;
    throw this.#notRetried(status, outcome === "superseded" ? "a newer run has its id" : `it is ${status}, not failed`);
  }

  #notRetried(status: RunStatus | null, why: string): HoldfastError {
    const message = `Run "${this.id}" cannot be retried: ${why}.`;
    return new HoldfastError("run_closed", message, { data: { id: this.id, status } });
  }

  /** Lets a parked run go on, usually with fixed code. */
  async resume(): Promise<void> {
    let tries = 0;
    const { status } = await this.#core.call((store) => {
      tries += 1;
      return store.resumeRunIfParked(this.#ref());
    });
    if (status === null) throw this.#notFound();
    // An earlier try whose outcome was unknown may have let it go on, and it has ended since.
    if (isClosed(status) && tries === 1)
      throw new HoldfastError("run_closed", `Run "${this.id}" is ${status}; there is nothing to resume.`);
  }

  async #deliver(
    message: Pick<DeliverMessage, "kind" | "name" | "payload">,
    id: string | undefined,
    closedIsFine = false,
  ): Promise<void> {
    if (id !== undefined) {
      const fault = idFault(id);
      if (fault) throw new HoldfastError("invalid_name", `The message id ${JSON.stringify(id)} ${fault}.`);
    }
    const messageId = id ?? this.#core.newId();
    const outcome: DeliverOutcome = await this.#core.messages.add({ ...message, messageId, to: this.#ref() });
    if (outcome.outcome === "not_found") throw this.#notFound();
    if (outcome.outcome === "closed" && !closedIsFine) {
      throw new HoldfastError("run_closed", `Run "${this.id}" is ${outcome.status}; it takes no more messages.`, {
        data: { id: this.id, status: outcome.status },
      });
    }
    if (outcome.outcome === "full")
      throw new HoldfastError(
        "too_many_signals",
        `Run "${this.id}" has too many messages that it has not taken in. Try again later.`,
        { data: { id: this.id } },
      );
  }

  #ref(): RunRef {
    return this.#knownRunId === undefined
      ? { namespace: this.#core.namespace, id: this.id }
      : { runId: this.#knownRunId };
  }

  async #read(): Promise<Run> {
    const [run] = await this.#core.call((store) => store.readRuns({ runs: [this.#ref()] }));
    if (!run || run.namespace !== this.#core.namespace) throw this.#notFound();
    this.#workflow = run.workflow;
    return run;
  }

  async #readHistory(): Promise<{ run: Run; events: HistoryEvent[] }> {
    const run = await this.#read();
    const events = await readWholeHistory(this.#core.ports, run);
    return { run, events };
  }

  #notFound(): HoldfastError {
    return new HoldfastError("run_not_found", `There is no run "${this.id}" in namespace "${this.#core.namespace}".`, {
      data: { id: this.id, namespace: this.#core.namespace },
    });
  }
}

/** Refuses a bad payload before anything is written, with the path of every fault. */
async function checkedPayload(name: string, schema: StandardSchemaV1, payload: unknown): Promise<unknown> {
  const result = await validateWith(schema, payload);
  if (result.ok) return result.value;
  throw invalidValue("invalid_signal", `payload of signal "${name}"`, result.issues);
}

/** A payload is asked for unless the signal has none. */
export type SignalArguments<P> = null extends P
  ? [payload?: P, options?: { readonly id?: string }]
  : [payload: P, options?: { readonly id?: string }];
