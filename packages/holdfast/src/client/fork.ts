/** `handle.fork`: a new run that begins as another one did, up to a cut, and then goes its own way. */
import { runNotFound } from "../calls/refused-message.ts";
import { toErrorRecord } from "../errors/error-record.ts";
import { HoldfastError } from "../errors/holdfast-error.ts";
import {
  checkedLater,
  invalidOption,
  isId,
  isPlainObject,
  type OptionCheck,
  type OptionChecks,
  requireOptions,
  wholeNumber,
} from "../errors/option-checks.ts";
import { shownValue } from "../errors/shown-value.ts";
import type { EventDraft } from "../model/event.ts";
import { valueFault } from "../model/names.ts";
import { whoOf } from "../model/operator-notes.ts";
import type { Payload } from "../model/payload.ts";
import type { NewRun, Run, RunRow } from "../model/run.ts";
import type { RecordedEdit } from "../replay/history/edits.ts";
import type { ClientCore } from "./client-core.ts";
import { cutAt, type ForkPlan, type Origin, planFork, requireEditable } from "./fork-plan.ts";
import { OPERATOR_OPTIONS, type OperatorOptions } from "./operations.ts";
import { type ForkIdentity, findFork } from "./same-fork.ts";

/** How an op is to end in a fork, instead of being executed. */
export type EditedOutcome = { readonly result: unknown } | { readonly error: unknown };

/** Options of `handle.fork`. `I`: the input of the workflow, if the handle was made from its definition. */
export interface ForkOptions<I = unknown> extends OperatorOptions {
  /**
   * Where the fork leaves its origin: before the first event of this op, or before the event with this number.
   */
  readonly before: string | number;
  /**
   * Another input. It must lead to the same ops before the cut, otherwise the fork is parked with `replay_divergence`.
   * @defaultValue the input of the run
   */
  readonly input?: I;
  /**
   * Ops that are not executed, by their id, and how each of them ends: `{ charge: { result: { id: "p1" } } }`. They must end
   * behind the cut.
   * @defaultValue all ops are executed
   */
  readonly edit?: Readonly<Record<string, EditedOutcome>>;
  /**
   * The id of the fork. No run may have it, open or closed, except for this very fork, if it was made before: then the call gives
   * that run. So a caller that has died, or was not answered, can repeat the call.
   * @defaultValue a new id
   */
  readonly id?: string;
}

const areEdits: OptionCheck = (value, where, option) => {
  if (!isPlainObject(value)) throw invalidOption(where, option, `is ${shownValue(value)}, not an object with op ids`);
  for (const [op, outcome] of Object.entries(value as object)) {
    const keys = isPlainObject(outcome) ? Object.keys(outcome as object) : [];
    if (keys.length !== 1 || (keys[0] !== "result" && keys[0] !== "error"))
      throw invalidOption(where, `${option}[${JSON.stringify(op)}]`, "is neither { result } nor { error }");
  }
};

const isCut: OptionCheck = (value, where, option) => {
  if (typeof value === "number") return wholeNumber(1)(value, where, option);
  const fault =
    typeof value === "string" ? (value === "" ? "is empty" : valueFault(value)) : "is neither an op id nor a number";
  if (fault !== undefined) throw invalidOption(where, option, fault);
};

const FORK_OPTIONS: OptionChecks<ForkOptions> = {
  ...OPERATOR_OPTIONS,
  before: isCut,
  input: checkedLater,
  edit: areEdits,
  id: isId("run id"),
};

export interface Forking {
  readonly core: ClientCore;
  readonly options: ForkOptions;
  /** The run as it is now. */
  readonly read: () => Promise<Run>;
  /** The new input, checked as that of a start is. */
  readonly checkInput: (input: unknown) => Promise<unknown>;
}

export function checkForkOptions(options: unknown): void {
  requireOptions(options, FORK_OPTIONS, "fork");
  if ((options as ForkOptions).before === undefined)
    throw invalidOption("fork", "before", "is missing. Pass the id of an op, or the number of an event");
}

/** The row of a fork, and whether this call has made it. */
export interface Fork {
  readonly run: Pick<RunRow, "id" | "runId" | "workflow">;
  readonly created: boolean;
}

/** Creates the fork. What the origin does meanwhile changes nothing, unless it begins to undo. */
export async function forkRun({ core, options, read, checkInput }: Forking): Promise<Fork> {
  const runId = core.newRunId(options.id);
  const given = options.input === undefined ? undefined : { value: await checkInput(options.input) };
  const edits = encodedEdits(core, options);
  for (;;) {
    const run = await read();
    const origin: Origin = { run, events: await core.readHistory(run) };
    const copied = cutAt(origin, options.before) - 1;
    const { codec } = core.ports;
    const input = given ? codec.encode(given.value, `input of workflow "${run.workflow}"`) : run.input;
    // Before anything is refused: since it was made, its origin may have undone what it has.
    const known = await knownFork(core, options, { origin: run, copied, input, edits });
    if (known) return { run: known, created: false };
    const plan = planFork(origin, copied);
    for (const [op, outcome] of Object.entries(options.edit ?? {}))
      requireEditable(origin, copied, op, "error" in outcome);
    const params = {
      origin: { namespace: run.namespace, runId: run.runId },
      copied,
      judged: run.eventCount,
      numberedFrom: plan.numberedFrom,
      run: newRun(run, plan, runId, options.id, input),
      event: forkEvent(run, runId, edits, options),
    };
    const { outcome, run: row } = await core.untilNotBusy((store) => store.runs.fork(params));
    if (outcome === "forked") return { run: row as RunRow, created: true };
    if (outcome === "not_found") throw runNotFound(run.id, core.namespace);
    if (outcome !== "exists") continue;
    const meanwhile = await knownFork(core, options, { origin: run, copied, input, edits });
    if (!meanwhile) throw alreadyExists(row as RunRow);
    return { run: meanwhile, created: false };
  }
}

function newRun(origin: Run, plan: ForkPlan, runId: string, id: string | undefined, input: Payload): NewRun {
  const { namespace, workflow, version, queue, priority, seed, key } = origin;
  const { attributes, timeoutMs } = plan;
  const run = { namespace, runId, id: id ?? runId, workflow, version, queue, priority, input, seed, attributes };
  return { ...run, ...(timeoutMs === undefined ? {} : { timeoutMs }), ...(key === undefined ? {} : { key }) };
}

/** A fork without an id of its own is always another one. */
async function knownFork(
  core: ClientCore,
  { id }: ForkOptions,
  about: Omit<ForkIdentity, "id">,
): Promise<Run | undefined> {
  return id === undefined ? undefined : findFork(core, { id, ...about });
}

function encodedEdits({ ports: { codec, redact } }: ClientCore, options: ForkOptions): Payload | undefined {
  const edits = Object.entries(options.edit ?? {});
  if (edits.length === 0) return undefined;
  const recorded = edits.map(([op, outcome]): [string, RecordedEdit] => {
    if (!("error" in outcome)) return [op, { result: outcome.result }];
    return [op, { error: toErrorRecord(outcome.error, { op, ...(redact ? { redact } : {}) }) }];
  });
  return codec.encode(Object.fromEntries(recorded), "edits of a fork");
}

function forkEvent({ runId, id }: Run, seed: string, edits: Payload | undefined, options: ForkOptions): EventDraft {
  const meta = { forkedFrom: { runId, id }, seed, ...whoOf(options) };
  const event: EventDraft = { type: "run_forked", op: null, meta };
  return edits === undefined ? event : { ...event, payload: edits };
}

function alreadyExists({ id, runId, status }: RunRow): HoldfastError {
  const message = `Run "${id}" already exists and is ${status}, and it is not this fork. A fork needs an id that no other run has: choose another one, or none.`;
  return new HoldfastError("run_already_exists", message, { data: { id, runId, status } });
}
