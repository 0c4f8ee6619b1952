import { inboxFull, runClosed, runNotFound } from "../calls/refused-message.ts";
import { requireKind } from "../define/conversations.ts";
import { fromErrorRecord, toErrorRecord } from "../errors/error-record.ts";
import { HoldfastError, isHoldfastError } from "../errors/holdfast-error.ts";
import { checkOptions, requireDuration } from "../errors/option-checks.ts";
import {
  parkedText,
  RunCanceledError,
  RunFailedError,
  RunParkedError,
  RunTerminatedError,
  RunTimedOutError,
} from "../errors/run-errors.ts";
import { formatDuration } from "../model/duration.ts";
import type { HistoryEvent } from "../model/event.ts";
import { messageFrom } from "../model/operator-notes.ts";
import { isClosed, type Run, type RunStatus } from "../model/run.ts";
import type { Timer } from "../ports/clock.ts";
import type { DeliverMessage, DeliverOutcome, RunRef } from "../ports/store.ts";
import type { SignalDefinition } from "../replay/context/context.ts";
import type { Answer, QueryArguments, QueryDefinition, UpdateDefinition } from "../replay/context/conversations.ts";
import { type Offering, type Offers, requireOffered } from "../replay/context/offers.ts";
import { checkedInputOf } from "./call-checks.ts";
import type { ClientCore } from "./client-core.ts";
import { checkForkOptions, type ForkOptions, forkRun } from "./fork.ts";
import {
  type EventWindow,
  HISTORY_OPTIONS,
  type HistoryOptions,
  lastEventAt,
  readWindow,
  viewWindow,
} from "./history-window.ts";
import { type OperatorOptions, pauseRun, readWho, resumeRun, retryRun, withWho } from "./operations.ts";
import { lastOfChain, queryRun } from "./queries.ts";
import { RESULT_OPTIONS, type ResultOptions } from "./result-options.ts";
import { endOf, type RunFate } from "./result-waiter.ts";
import { here, movedError, untilHere } from "./run-moved.ts";
import { describeRun, type EventView, type RunDescription, viewEvents, wholeHistory } from "./run-view.ts";
import { prepareSignal } from "./signals.ts";
import { foldSteps, type StepView } from "./step-view.ts";
import { openTasks, withTasks } from "./task-steps.ts";
import {
  type AcceptedUpdate,
  prepareUpdate,
  sendUpdate,
  sentBefore,
  type UpdateArguments,
  type UpdateOptions,
} from "./updates.ts";

/** What a start says about its run. */
export interface StartedRun extends Pick<Run, "runId" | "workflow"> {
  readonly created: boolean;
}

/** One run, seen from outside. `T` is what its workflow returns, `M` what it can be sent, `I` its input. */
export class RunHandle<T = unknown, M extends Offers = Offers, I = unknown> {
  /** The id of the run: the caller's own, or the run id. */
  readonly id: string;
  /** Whether the start that returned this handle created the run; false if it already existed, and for `get`. */
  readonly created: boolean;
  readonly #core: ClientCore;
  readonly #knownRunId: string | undefined;
  /** The workflow that the run must be of. */
  readonly #expected: Offering | undefined;
  #workflow: string | undefined;

  constructor(core: ClientCore, id: string, run: StartedRun | undefined, expected?: Offering) {
    this.#core = core;
    this.id = id;
    this.created = run?.created ?? false;
    this.#knownRunId = run?.runId;
    this.#expected = expected;
    this.#workflow = run?.workflow || undefined;
  }

  /** Known at once on a handle from `start`; for one from `get(id)`, use `describe()`. */
  get runId(): string {
    if (this.#knownRunId !== undefined) return this.#knownRunId;
    throw new HoldfastError(
      "invalid_option",
      `This handle has only the id "${this.id}". Use (await handle.describe()).runId.`,
    );
  }

  /** The run with its input, output and error. */
  async describe(): Promise<RunDescription> {
    const run = await this.#read();
    return describeRun(run, await lastEventAt(this.#core, run), this.#core.ports);
  }

  /** Where the run stands. */
  async status(): Promise<RunStatus> {
    return (await this.#read()).status;
  }

  /**
   * The output, once it is durable. Follows continue-as-new. Rejects if the run did not complete, and if it is parked,
   * because it may never be resumed. A parked run has not ended: you can call `result()` again.
   */
  async result<S extends string = string>(options: ResultOptions<S> = {}): Promise<T> {
    const { clock } = this.#core.ports;
    checkOptions(options, RESULT_OPTIONS, "result()");
    const patient = options.onParked === "wait";
    const timeoutMs =
      options.timeout === undefined ? undefined : requireDuration(options.timeout, "result()", "timeout");
    if (timeoutMs === undefined) return this.#unwrap(await this.#fate(patient, () => {}));
    let timer: Timer | undefined;
    let stop: (() => void) | undefined;
    const limit = new Promise<never>((_, reject) => {
      timer = clock.setTimer(timeoutMs, () => {
        stop?.();
        void this.#timeoutError(timeoutMs).then(reject, reject);
      });
    });
    const ended = this.#fate(patient, (cancel) => {
      stop = cancel;
    });
    try {
      return this.#unwrap(await Promise.race([ended, limit]));
    } finally {
      timer?.cancel();
    }
  }

  async #fate(patient: boolean, onWait: (cancel: () => void) => void): Promise<RunFate> {
    let runId = this.#knownRunId;
    if (runId === undefined) {
      const run = await this.#read();
      if (isClosed(run.status) && run.status !== "continued") return endOf(run);
      runId = run.runId;
    }
    for (;;) {
      const waiting = this.#core.waiter.wait(runId, patient);
      onWait(waiting.cancel);
      const fate = await waiting.fate;
      if (fate.status === "parked" || fate.continuedAs === null) return fate;
      runId = fate.continuedAs;
    }
  }

  async #timeoutError(timeoutMs: number): Promise<HoldfastError> {
    const run = await this.#read().catch(() => undefined);
    this.#core.life.assertOpen();
    const stands =
      run?.status === "parked"
        ? `parked: ${parkedText(run.error?.message)}`
        : `${run?.status ?? "unreachable"}. The run itself continues.`;
    const message = `Run "${this.id}" has not ended within ${formatDuration(timeoutMs)}; it is ${stands}`;
    return new HoldfastError("result_timeout", message, { data: { id: this.id, status: run?.status } });
  }

  #unwrap(end: RunFate): T {
    const { codec } = this.#core.ports;
    if (end.status === "completed") return (end.output === null ? undefined : codec.decode(end.output)) as T;
    const cause = end.error === null ? undefined : fromErrorRecord(end.error);
    const undone = end.status !== "parked" && end.compensation !== null ? { compensation: end.compensation } : {};
    const about = { id: this.id, runId: end.runId, workflow: this.#workflow ?? "", cause, ...undone };
    const reason = end.error?.data?.["reason"];
    const why = typeof reason === "string" ? { reason } : {};
    if (end.status === "moved") throw movedError(this.id, end.error);
    if (end.status === "parked") throw new RunParkedError(about);
    if (end.status === "canceled") throw new RunCanceledError({ ...about, ...why });
    if (end.status === "terminated") throw new RunTerminatedError({ ...about, ...why });
    if (end.status === "timed_out") throw new RunTimedOutError(about);
    throw new RunFailedError(about);
  }

  /** Every event, from event 0; with options, a window, which reads no more than that. */
  history(): Promise<EventView[]>;
  history(options: HistoryOptions): Promise<EventWindow>;
  async history(options?: HistoryOptions): Promise<EventView[]> {
    const { codec } = this.#core.ports;
    checkOptions(options, HISTORY_OPTIONS, "history()");
    if (options) return viewWindow(await readWindow(this.#core, await this.#read(), options), codec);
    const { run, events } = await this.#readHistory();
    return viewEvents(wholeHistory(run, events), codec);
  }

  /**
   * The ops of the run, each folded into one row. A step is recorded when it ends, and once it has run for about a
   * second; a step on a worker of this client is shown as soon as it begins.
   */
  async steps(): Promise<StepView[]> {
    const { run, events } = await this.#readHistory();
    const { codec } = this.#core.ports;
    const steps = foldSteps({ run, events, codec, live: this.#core.look(run.runId) });
    return withTasks(steps, await openTasks(this.#core, run.runId, steps));
  }

  /**
   * Resolves when the signal is durable. Two signals with the same name and `id` are one. Without a payload, the run
   * receives `true`.
   */
  async signal<T, P>(
    signal: SignalDefinition<T, P> & M["signals"],
    ...rest: SignalArguments<NoInfer<P>>
  ): Promise<void> {
    const [given, options] = rest as [unknown, { readonly id?: string } | undefined];
    const prepared = await prepareSignal(
      this.#core,
      signal as SignalDefinition<never, never>,
      given,
      options,
      this.#expected,
      this.id,
    );
    await this.#deliver(prepared, prepared.messageId);
  }

  /**
   * Asks the run to do something, and waits for the answer of its handler (`ctx.on`). Once per id, whatever is repeated. The
   * answer comes when everything that it depends on is durable. Rejects with `update_rejected`, `update_failed`,
   * `handler_not_found`, `update_timeout`, `update_id_taken`, `run_closed`, `run_continued` or `run_parked`.
   */
  update<In, Out, Sent, S extends string = string>(
    update: UpdateDefinition<In, Out, Sent> & M["updates"],
    argument: NoInfer<Sent>,
    options: UpdateOptions<S> & { readonly wait: "accepted" },
  ): Promise<AcceptedUpdate<Answer<Out>>>;
  update<In, Out, Sent, S extends string = string>(
    update: UpdateDefinition<In, Out, Sent> & M["updates"],
    ...argumentAndOptions: UpdateArguments<NoInfer<Sent>, UpdateOptions<S> & { readonly wait?: "completed" }>
  ): Promise<Answer<Out>>;
  async update(definition: UpdateDefinition<never, unknown, never>, argument?: unknown, options?: UpdateOptions) {
    this.#core.requireNoTransaction("update");
    const prepared = await prepareUpdate(this.#core, definition, argument, options, this.#expected);
    const sent = sendUpdate(this.#core, prepared, async ({ name, payload, messageId }) => {
      try {
        const { outcome, runId, status } = await this.#deliver({ kind: "update", name, payload }, messageId);
        return { outcome, runId: runId as string, status };
      } catch (error) {
        if (!isHoldfastError(error, "run_not_found")) throw error;
        return sentBefore(this.#core, this.#ref(), messageId, error);
      }
    });
    const answer = await this.during(sent);
    if (prepared.wait === "completed") return answer as never;
    const { id, result } = answer as AcceptedUpdate;
    return { id, result: () => this.during(result()) } as never;
  }

  /**
   * Asks the code of the run for a value (`ctx.on`), also after its end. Nothing changes, and no event is recorded. Answered by
   * this process if it has the run or its code, otherwise by a worker that has. Rejects with `handler_not_found`,
   * `query_failed`, `query_timeout` or `run_not_begun`.
   */
  query<Out, In, Sent>(
    query: QueryDefinition<Out, In, Sent> & M["queries"],
    ...argument: QueryArguments<NoInfer<Sent>>
  ): Promise<Answer<Out>>;
  async query(definition: QueryDefinition<unknown, never, never>, argument?: unknown): Promise<never> {
    this.#core.requireNoTransaction("query");
    requireKind(definition, "query", "query: the first argument");
    requireOffered(this.#expected, definition, "query");
    await this.#requireExpected();
    const read = async (): Promise<Run> =>
      here(await lastOfChain(this.#core, this.#found(await this.#core.queries.read(this.#ref()))));
    const asked = queryRun(this.#core, { knownRunId: this.#knownRunId, read }, definition, argument);
    return this.during(asked) as Promise<never>;
  }

  /** The test engine advances its clock while a caller waits. */
  protected during<R>(waiting: Promise<R>): Promise<R> {
    return waiting;
  }

  /**
   * Stops the run until it is resumed: it is parked, with the code `paused`. If a worker holds it, that happens once its running
   * attempts have ended; no new ones begin. Messages wait. A run that is paused is not changed. A closed run is refused with `run_closed`.
   */
  async pause(why?: OperatorOptions | string): Promise<void> {
    this.#core.requireNoTransaction("pause");
    await pauseRun(this.#core, () => this.#readLast(), readWho(why, "pause"));
  }

  /**
   * Lets a parked run continue: one that was paused, or with fixed code. An open run that is not parked is not changed: it may
   * have been taken up meanwhile. A closed run is refused with `run_closed`.
   */
  async resume(why?: OperatorOptions | string): Promise<void> {
    this.#core.requireNoTransaction("resume");
    await resumeRun(this.#core, () => this.#readLast(), readWho(why, "resume"));
  }

  /** Asks the run to stop. It ends as canceled once it has cleaned up, also if it was paused; closed runs are not changed. */
  async cancel(why?: OperatorOptions | string): Promise<void> {
    await this.#deliver({ kind: "cancel", ...messageFrom(readWho(why, "cancel")) }, undefined, true);
  }

  /** Ends the run at once, whichever worker holds it, without cleanup; closed runs are not changed. */
  async terminate(why?: OperatorOptions | string): Promise<void> {
    this.#core.requireNoTransaction("terminate");
    const who = readWho(why, "terminate");
    const cause = new HoldfastError("run_terminated", who.reason ?? "terminated");
    await this.#requireExpected();
    const error = withWho(toErrorRecord(cause), who);
    const { outcome } = await untilHere(this.#core, this.#ref(), (run) => this.#core.terminate(run, error));
    if (outcome === "not_found") throw this.#notFound();
  }

  /**
   * Continues a failed run at the steps that failed, as `retry` of the workflow does; recorded results stay. A compensation that
   * failed is attempted again. Rejects with `run_not_failed` unless the run has failed. Of several calls at once one retries the run,
   * and is in its history; the others reject.
   */
  async retry(why?: OperatorOptions | string): Promise<void> {
    this.#core.requireNoTransaction("retry");
    await retryRun(this.#core, async () => here(await this.#read()), readWho(why, "retry"));
  }

  /**
   * Starts a new run that begins with the events of this one up to a cut, as they are; from there on, it is executed. This run is
   * not changed. Rejects with `fork_refused` if that is not possible, and with `run_already_exists` if another run has the id.
   */
  async fork(options: ForkOptions<I>): Promise<RunHandle<T, M, I>> {
    this.#core.requireNoTransaction("fork");
    checkForkOptions(options);
    const checkInput = (input: unknown): Promise<unknown> => checkedInputOf(this.#expected, input);
    const { run, created } = await forkRun({
      core: this.#core,
      options,
      read: async () => here(await this.#read()),
      checkInput,
    });
    const { id, runId, workflow } = run;
    return this.another(this.#core, id, { runId, workflow, created }, this.#expected) as RunHandle<T, M, I>;
  }

  /** The handle of another run. */
  protected another(core: ClientCore, id: string, run: StartedRun, expected?: Offering): RunHandle {
    return new RunHandle(core, id, run, expected);
  }

  async #deliver(
    message: Pick<DeliverMessage, "kind" | "name" | "payload">,
    id: string | undefined,
    closedIsFine = false,
  ): Promise<DeliverOutcome> {
    await this.#requireExpected();
    const messageId = id ?? this.#core.newId();
    const sent = { ...message, messageId };
    const outcome = await untilHere(this.#core, this.#ref(), (to) => this.#core.messages.add({ ...sent, to }));
    if (outcome.outcome === "not_found") throw this.#notFound();
    if (outcome.outcome === "closed" && !closedIsFine) throw runClosed(this.id, outcome.status);
    if (outcome.outcome === "full") throw inboxFull(this.id);
    return outcome;
  }

  #ref(): RunRef {
    const { namespace } = this.#core;
    return this.#knownRunId === undefined ? { namespace, id: this.id } : { namespace, runId: this.#knownRunId };
  }

  async #read(): Promise<Run> {
    return this.#found(await this.#core.queries.read(this.#ref()));
  }

  /** The run that it continued as, if it did. */
  async #readLast(): Promise<Run> {
    return here(await lastOfChain(this.#core, await this.#read()));
  }

  #found(run: Run | null): Run {
    if (!run) throw this.#notFound();
    this.#workflow = run.workflow;
    this.#compareWorkflow();
    return run;
  }

  /** For calls that read nothing: compares the workflow once per handle, and only if the handle names one. */
  async #requireExpected(): Promise<void> {
    if (this.#expected === undefined) return;
    if (this.#workflow === undefined) await this.#read();
    this.#compareWorkflow();
  }

  #compareWorkflow(): void {
    const workflow = this.#workflow;
    if (this.#expected === undefined || workflow === this.#expected.name) return;
    const expected = this.#expected.name;
    const message = `Run "${this.id}" belongs to workflow "${workflow}", not "${expected}". Correct the id, or use get(id).`;
    throw new HoldfastError("workflow_mismatch", message, { data: { id: this.id, workflow, expected } });
  }

  async #readHistory(): Promise<{ run: Run; events: HistoryEvent[] }> {
    const run = await this.#read();
    return { run, events: await this.#core.readHistory(run) };
  }

  #notFound(): HoldfastError {
    return runNotFound(this.id, this.#core.namespace);
  }
}

/** The payload is required unless the signal may be sent without one. */
export type SignalArguments<P> = undefined extends P
  ? [payload?: P, options?: { readonly id?: string }]
  : [payload: P, options?: { readonly id?: string }];
