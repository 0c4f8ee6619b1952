import {
  type AnyWorkflow,
  DEFAULT_QUEUE,
  DEFAULT_VERSION,
  isPriority,
  requireWorkflow,
} from "../define/definitions.ts";
import { isAttributes, storedAttributes } from "../errors/attribute-checks.ts";
import { HoldfastError } from "../errors/holdfast-error.ts";
import {
  checkedLater,
  checkOptions,
  invalidOption,
  isDate,
  isId,
  isName,
  isText,
  type OptionChecks,
  oneOf,
  optionsOf,
  requireDuration,
  requireName,
  requireOwnName,
  requireTimeout,
} from "../errors/option-checks.ts";
import { isBatchNamespace } from "../model/batch.ts";
import { type Duration, formatDuration } from "../model/duration.ts";
import { EMPTY_PAYLOAD } from "../model/payload.ts";
import type { NewRun } from "../model/run.ts";
import { type TraceHeaders, traceContext } from "../model/trace-context.ts";
import type { CarriedMessage, RefusedStart, StartOutcome, StartRun } from "../ports/store.ts";
import { keyFrom } from "../replay/ops/start-options.ts";
import { startLabels } from "../report/telemetry-labels.ts";
import { tracedSeed } from "../report/traced-start.ts";
import { checkInput } from "./call-checks.ts";
import type { ClientCore } from "./client-core.ts";
import type { DebounceOptions, StartOptions } from "./client-options.ts";
import { defaultsOf, keyMissing } from "./registered-starts.ts";
import type { StartedRun } from "./run-handle.ts";
import { runMoved } from "./run-moved.ts";

/** Finds a workflow offered by a worker of this process: a start by name gets its schema, key, queue and version from it. */
export type KnownWorkflows = (name: string, version: string | undefined) => AnyWorkflow | undefined;

export interface Start {
  readonly workflow: AnyWorkflow | string;
  readonly input: unknown;
  readonly options: StartOptions;
  /** False: nothing is started, only what would be is looked at. */
  readonly starts?: false;
}

export const START_OPTIONS: OptionChecks<StartOptions> = {
  id: isId("run id"),
  version: isName("version"),
  queue: isName("queue name"),
  priority: isPriority,
  key: isName("key"),
  debounce: optionsOf<DebounceOptions>({ for: checkedLater, max: checkedLater }),
  startAt: isDate,
  delay: checkedLater,
  timeout: checkedLater,
  attributes: isAttributes,
  ifRunning: oneOf("return", "fail", "replace"),
  ifClosed: oneOf("return", "start", "fail"),
  trace: optionsOf<TraceHeaders>({ traceparent: isText, tracestate: isText }),
};

/** A run to be started. `pick`: what chooses its version, if that was looked at already. */
export interface PreparedRun extends NewRun {
  readonly pick?: number;
}

type NewRunDraft = { -readonly [K in keyof PreparedRun]: PreparedRun[K] };

/** The run to store, checked and with ids. A promise only if the schema may be asynchronous, or this process does not have the workflow. */
export function newRun(core: ClientCore, known: KnownWorkflows, start: Start): PreparedRun | Promise<PreparedRun> {
  const { workflow, input, options } = start;
  if (typeof workflow !== "string") requireWorkflow(workflow, "start: the first argument");
  const name = typeof workflow === "string" ? workflow : workflow.name;
  if (isBatchNamespace(core.namespace)) requireName(name, "workflow name");
  else requireOwnName(name, "workflow name");
  checkOptions(options, START_OPTIONS, `start of workflow "${name}"`);
  // The options of a definition were checked when it was made.
  const definition = typeof workflow === "string" ? known(workflow, options.version) : workflow;
  if (!definition) return byName(core, name, start);
  const run = draftOf(core, name, start, definition);
  if (definition.inputSchema) return withCheckedInput(core, run, definition, input);
  return withInput(core, withKey(run, definition, input), input);
}

async function byName(core: ClientCore, name: string, start: Start): Promise<PreparedRun> {
  const { input, options } = start;
  const rows = await core.registered.versionsOf(name);
  const pick = options.version === undefined ? core.ports.random.next() : null;
  const found = defaultsOf(rows, options.version ?? DEFAULT_VERSION, pick);
  if (found?.starts.keyed && options.key === undefined) throw keyMissing(name, found.version);
  const run = draftOf(core, name, start, { ...found?.starts, version: DEFAULT_VERSION });
  if (pick !== null) run.pick = pick;
  return withInput(core, run, input);
}

/** What a definition, or a registered version, gives its runs. */
interface Defaults {
  readonly version: string;
  readonly queue?: string;
  readonly priority?: number;
  readonly timeoutMs?: number | null | undefined;
}

/** Without its input, and without a key that depends on it. */
function draftOf(core: ClientCore, name: string, { options, starts }: Start, defaults: Defaults): NewRunDraft {
  const where = `start of workflow "${name}"`;
  const queue = options.queue ?? defaults.queue ?? DEFAULT_QUEUE;
  const version = options.version ?? defaults.version;
  const runId = core.newRunId(options.id);
  const id = options.id ?? runId;
  const attributes = options.attributes === undefined ? {} : storedAttributes(options.attributes);
  const priority = options.priority ?? defaults.priority ?? 0;
  const ownTimeoutMs = defaults.timeoutMs ?? undefined;
  const timeoutMs = options.timeout === undefined ? ownTimeoutMs : requireTimeout(options.timeout, where);
  const { namespace } = core;
  const run: NewRunDraft = {
    namespace,
    runId,
    id,
    workflow: name,
    version,
    queue,
    priority,
    input: EMPTY_PAYLOAD,
    seed: runId,
    attributes,
  };
  const { telemetry } = core.ports;
  if ((telemetry?.trace && starts !== false) || options.trace) {
    const trace = options.trace && traceContext(options.trace);
    run.seed = tracedSeed(telemetry, run, trace === undefined ? { by: "call" } : { by: "call", trace });
  }
  if (options.delay !== undefined) run.startDelayMs = readDelay(options.delay, timeoutMs, where);
  if (options.startAt !== undefined) run.startAt = readStartAt(core, options.startAt, timeoutMs, where);
  if (timeoutMs !== undefined) run.timeoutMs = timeoutMs;
  if (options.key !== undefined) run.key = options.key;
  return run;
}

function withKey(run: NewRunDraft, definition: AnyWorkflow, input: unknown): NewRunDraft {
  const key = run.key ?? keyFrom(definition, input);
  if (key !== undefined) run.key = key;
  return run;
}

function readDelay(delay: Duration, timeoutMs: number | undefined, where: string): number {
  const delayMs = requireDuration(delay, where, "delay");
  requireTimeToRun(delayMs, timeoutMs, where, "delay");
  return delayMs;
}

function readStartAt(core: ClientCore, startAt: Date, timeoutMs: number | undefined, where: string): number {
  const at = startAt.getTime();
  if (timeoutMs !== undefined) requireTimeToRun(at - core.ports.clock.now(), timeoutMs, where, "startAt");
  return at;
}

/** The timeout counts from the start, so a timeout shorter than the wait would leave the run no time at all. */
function requireTimeToRun(waitMs: number, timeoutMs: number | undefined, where: string, option: string): void {
  if (timeoutMs === undefined || waitMs <= 0 || waitMs < timeoutMs) return;
  const wait = formatDuration(Math.round(waitMs));
  const [shown, what] = option === "delay" ? [wait, "the delay"] : [`${wait} from now`, "the wait"];
  throw invalidOption(
    where,
    option,
    `is ${shown}, but the timeout of the run is ${formatDuration(timeoutMs)}, counted from the start including ${what}: ` +
      `the run could never begin. Give it a timeout longer than ${what}`,
  );
}

function withInput(core: ClientCore, run: NewRunDraft, input: unknown): PreparedRun {
  run.input = core.ports.codec.encode(input, `input of workflow "${run.workflow}"`);
  return run;
}

async function withCheckedInput(
  core: ClientCore,
  run: NewRunDraft,
  definition: AnyWorkflow,
  input: unknown,
): Promise<PreparedRun> {
  const checked = await checkInput(definition, input);
  return withInput(core, withKey(run, definition, checked), checked);
}

/** `hold`: a worker of this process has a slot for it. */
export function startOf(
  { ports }: ClientCore,
  prepared: PreparedRun,
  { ifRunning = "return", ifClosed = "return", version }: StartOptions,
  hold: boolean,
  messages: readonly CarriedMessage[] | undefined,
): StartRun {
  const { run, pick } = withPick(prepared, version === undefined ? () => ports.random.next() : () => null);
  return messages ? { run, ifRunning, ifClosed, hold, pick, messages } : { run, ifRunning, ifClosed, hold, pick };
}

function withPick(prepared: PreparedRun, choose: () => number | null): Pick<StartRun, "run" | "pick"> {
  if (prepared.pick === undefined) return { run: prepared, pick: choose() };
  const { pick, ...run } = prepared;
  return { run, pick };
}

/** Throws if the queue of the run is full. */
export function requireRoom({ id, queue, workflow }: NewRun, answer: StartOutcome | RefusedStart): StartOutcome {
  if (answer.run !== null) return answer;
  const message = `The run of workflow "${workflow}" was not started: as many runs wait in queue "${queue}" as its backlog allows. Start it again later; hf.queues() shows what waits.`;
  throw new HoldfastError("queue_full", message, { data: { id, queue, workflow } });
}

/** What the handle of a start knows. Throws if the run with that id is not the one to be started. */
export function requireStarted(core: ClientCore, { outcome, run }: StartOutcome, workflow: string): StartedRun {
  if (outcome === "created") core.ports.telemetry?.count("runs_started", 1, startLabels(run));
  if (run.workflow !== workflow) {
    const message = `The id "${run.id}" belongs to a run of workflow "${run.workflow}", not "${workflow}". Choose another id.`;
    throw new HoldfastError("run_already_exists", message, {
      data: { id: run.id, runId: run.runId, workflow: run.workflow },
    });
  }
  if (outcome !== "created" && run.status === "moved") throw runMoved(run.id, "another store");
  if (outcome === "exists") {
    throw new HoldfastError("run_already_exists", `Run "${run.id}" already exists and is ${run.status}.`, {
      data: { id: run.id, runId: run.runId, status: run.status },
    });
  }
  return { runId: run.runId, workflow: run.workflow, created: outcome === "created" };
}

export function isDueAtOnce({ startAt, startDelayMs }: NewRun): boolean {
  return startAt === undefined && startDelayMs === undefined;
}
