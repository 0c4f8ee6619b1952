/** Messages that come with the start of their run: one atomic call, whether the run is new or open. */
import { inboxFull, runClosed } from "../calls/refused-message.ts";
import type { AnyWorkflow, InputOf } from "../define/definitions.ts";
import { HoldfastError } from "../errors/holdfast-error.ts";
import { checkedLater, checkOptions, invalidOption, isId, type OptionChecks } from "../errors/option-checks.ts";
import type { CheckedDuration } from "../model/checked-duration.ts";
import type { Message } from "../model/message.ts";
import type { RunStatus } from "../model/run.ts";
import type { CarriedMessage, DeliverOutcome, StartOutcome } from "../ports/store.ts";
import type { UpdateDefinition } from "../replay/context/conversations.ts";
import type { Offers } from "../replay/context/offers.ts";
import { offering } from "./call-checks.ts";
import type { ClientCore } from "./client-core.ts";
import type { StartOptions } from "./client-options.ts";
import { START_OPTIONS } from "./new-run.ts";
import type { RunHandle } from "./run-handle.ts";
import { prepareUpdate, sendUntilTaken } from "./updates.ts";

/** Options of `hf.signalWithStart`. If the newest run of the id is closed, a new one starts, unless `ifClosed` says otherwise. */
export interface SignalWithStartOptions<S extends string = string> extends StartOptions<S> {
  /** The id of the run, open or new. */
  readonly id: string;
  /**
   * Two signals with the same name and this id are one.
   * @defaultValue a new id
   */
  readonly signalId?: string;
  /**
   * If the newest run of this id is closed: start another, return its handle, or refuse with `run_already_exists`.
   * @defaultValue `"start"`
   */
  readonly ifClosed?: "return" | "start" | "fail";
}

/** Options of `hf.updateWithStart`. If the newest run of the id is closed, a new one starts, unless `ifClosed` says otherwise. */
export interface UpdateWithStartOptions<S extends string = string> extends StartOptions<S> {
  /** The id of the run, open or new. */
  readonly id: string;
  /**
   * Two updates with the same name and this id are one: the second starts nothing, and gets the first one's answer. One with
   * the id of another update is refused with `update_id_taken`.
   * @defaultValue a new id
   */
  readonly updateId?: string;
  /**
   * How long to wait for the answer; then the call rejects with `update_timeout`. Neither run nor update is withdrawn.
   * @defaultValue no limit
   */
  readonly updateTimeout?: CheckedDuration<S>;
  /**
   * If the newest run of this id is closed: start another, return its handle, or refuse with `run_already_exists`.
   * @defaultValue `"start"`
   */
  readonly ifClosed?: "return" | "start" | "fail";
}

/** What `hf.updateWithStart` resolves with. */
export interface StartedUpdate<T, Out, M extends Offers = Offers, I = unknown> {
  /** The run that has answered; `run.created` says whether it is new. */
  readonly run: RunHandle<T, M, I>;
  /** What the handler returned. */
  readonly result: Out;
}

/** The input of the run, if it is new. A workflow given by name accepts any. */
export type WithStartInput<D extends AnyWorkflow | string> = D extends AnyWorkflow ? InputOf<D> : unknown;

const SIGNAL_WITH_START: OptionChecks<SignalWithStartOptions> = { ...START_OPTIONS, signalId: isId("signal id") };

const UPDATE_WITH_START: OptionChecks<UpdateWithStartOptions> = {
  ...START_OPTIONS,
  updateId: isId("update id"),
  updateTimeout: checkedLater,
};

/** Without an id, every call would start a run of its own. */
export function checkWithStart(
  options: { readonly id?: unknown } | undefined,
  call: "signalWithStart" | "updateWithStart",
): void {
  if (call === "signalWithStart") checkOptions(options, SIGNAL_WITH_START, call);
  else checkOptions(options, UPDATE_WITH_START, call);
  if ((options as StartOptions | undefined)?.debounce !== undefined)
    throw invalidOption(call, "debounce", "does not go with a message: the id says which run to start or to reach");
  if (options?.id === undefined)
    throw new HoldfastError(
      "invalid_option",
      `${call}: the option id is missing: it says which run to start or to reach.`,
    );
}

/** What became of the message of a start. Throws if the run has not got it. */
export function requireDelivered({ outcome, run, messages }: StartOutcome): DeliverOutcome["outcome"] {
  const [delivered] = messages ?? [];
  const { runId, status } = run;
  if (delivered === "closed") throw runClosed(run.id, status, { runId });
  if (delivered === "full") throw inboxFull(run.id, { runId, status });
  if (delivered === undefined)
    throw new HoldfastError(
      "invariant_broken",
      `The start of run "${run.id}" (${outcome}) says nothing of its message.`,
    );
  return delivered;
}

/** The messages that a new run begins with, as its holder would read them. */
export function firstMessages(
  { runId, createdAt: at }: StartOutcome["run"],
  sent: readonly CarriedMessage[],
): Message[] {
  return sent.map((message, i) => ({ ...message, runId, number: i + 1, at }));
}

/** A message that has started its run, or reached it. */
interface StartedWith {
  readonly run: RunHandle<never>;
  readonly runId: string;
  readonly status: RunStatus;
  readonly delivered: DeliverOutcome["outcome"];
}

interface AskedWithStart {
  readonly workflow: AnyWorkflow | string;
  readonly update: UpdateDefinition<never, never, never>;
  readonly argument: unknown;
  readonly options: UpdateWithStartOptions;
}

/** `start` starts the run with the message, or sends it to the run that is open. */
export async function updateWithStart(
  core: ClientCore,
  { workflow, update, argument, options }: AskedWithStart,
  start: (options: StartOptions, message: CarriedMessage) => Promise<StartedWith>,
  during: <R>(answer: Promise<R>) => Promise<R>,
): Promise<StartedUpdate<never, never>> {
  const { updateId: id, updateTimeout: timeout, ...given } = options;
  const own = { ...(id === undefined ? {} : { id }), ...(timeout === undefined ? {} : { timeout }) };
  const prepared = await prepareUpdate(core, update, argument, own, offering(workflow));
  let run: RunHandle<never> | undefined;
  const answer = sendUntilTaken(core, prepared, async ({ name, messageId, payload }) => {
    const started = await start(given, { kind: "update", name, messageId, payload });
    run = started.run;
    return { outcome: started.delivered, runId: started.runId, status: started.status, created: run.created };
  });
  const result = (await during(answer)) as never;
  return { run: run as RunHandle<never>, result };
}
