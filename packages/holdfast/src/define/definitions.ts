import type { StandardSchemaV1 } from "@standard-schema/spec";
import { HoldfastError } from "../errors/holdfast-error.ts";
import {
  checkedLater,
  checkOptions,
  invalidOption,
  isFunction,
  isName,
  isSchema,
  listOf,
  type OptionCheck,
  type OptionChecks,
  oneOf,
  requireName,
  requireOwnName,
  requireTimeout,
  wholeNumber,
} from "../errors/option-checks.ts";
import { isRetryIf, type RetryIf } from "../errors/retry-rule.ts";
import { shownValue } from "../errors/shown-value.ts";
import type { CheckedDuration } from "../model/checked-duration.ts";
import type { RetryPolicy } from "../model/retry-policy.ts";
import { PRIORITY_MAX, PRIORITY_MIN } from "../model/run.ts";
import type { Stored } from "../model/stored.ts";
import { callSite } from "../replay/code/call-site.ts";
import type { Context, SignalDefinition } from "../replay/context/context.ts";
import type { QueryDefinition, UpdateDefinition } from "../replay/context/conversations.ts";
import type { OfferedNames, Offers } from "../replay/context/offers.ts";
import type { GuestHost } from "../replay/guests/guest-run.ts";
import { type RetryOption, resolveRetry } from "../replay/ops/step-options.ts";
import type { OnBug } from "../replay/run-code.ts";

/**
 * The code of a workflow. It is called again from the top after a crash, so everything that could come out differently
 * goes through `ctx`.
 */
export type WorkflowFunction<I, O, M extends Offers = Offers> = (ctx: Context<I, M>, input: I) => O | PromiseLike<O>;

/** The version of a workflow that does not name one. */
export const DEFAULT_VERSION = "1";
export const DEFAULT_QUEUE = "default";
export const DEFAULT_NAMESPACE = "default";

/** A schema from a library that follows Standard Schema, or none. */
export type MaybeSchema = StandardSchemaV1 | undefined;
/** A list of signals, or none. */
export type MaybeSignals = readonly SignalDefinition[] | undefined;
/** A list of updates, or none. */
export type MaybeUpdates = readonly UpdateDefinition[] | undefined;
/** A list of queries, or none. */
export type MaybeQueries = readonly QueryDefinition[] | undefined;

/** Options of a workflow, in place of its bare name. */
export interface WorkflowOptions<
  In extends MaybeSchema = MaybeSchema,
  Out extends MaybeSchema = MaybeSchema,
  S extends string = string,
  Signals extends MaybeSignals = MaybeSignals,
  Updates extends MaybeUpdates = MaybeUpdates,
  Queries extends MaybeQueries = MaybeQueries,
> {
  /** The name of the workflow in the store and in `start("name")`. Under another name it is a new workflow. */
  readonly name: string;
  /**
   * Which code this is. A run stays with the version it was started with.
   * @defaultValue `"1"`
   */
  readonly version?: string;
  /**
   * A schema (zod, valibot, arktype, any Standard Schema) that checks and converts the input before anything is stored. For
   * runs that other runs start, as children or in steps, it must answer at once.
   * @defaultValue no check
   */
  readonly input?: In;
  /**
   * A schema that checks and converts what the function returns. It must answer at once.
   * @defaultValue no check
   */
  readonly output?: Out;
  /**
   * The queue of its runs: only workers that serve this queue claim them.
   * @defaultValue `"default"`
   */
  readonly queue?: string;
  /**
   * What the limits and the fairness of its queue go by, such as a tenant: a function of the input. With a schema it gets what the
   * schema makes of the input.
   * @defaultValue no key
   */
  readonly key?: KeyFunction<In>;
  /**
   * Retries a failed run as a whole, at the steps that failed. `attempts` counts executions of the run.
   * @defaultValue none: a failed run stays failed
   */
  readonly retry?: RetryOption<S>;
  /**
   * Which failures of the run to retry, in addition to `retry`.
   * @defaultValue `"default"`
   */
  readonly retryIf?: RetryIf;
  /**
   * The longest a run may take, from its start; then it is wound up like a canceled run and ends as `timed_out`.
   * @defaultValue no limit
   */
  readonly timeout?: CheckedDuration<S>;
  /**
   * Which due runs workers claim first: a whole number from -9 to 9, larger is sooner.
   * @defaultValue `0`
   */
  readonly priority?: number;
  /**
   * What happens to a run whose code itself throws a TypeError, ReferenceError, RangeError, SyntaxError or URIError, or
   * passes a bad option, name or duration to ctx. `"park"`: the run waits for fixed code. `"fail"`: it fails and
   * compensates.
   * @defaultValue `"park"`
   */
  readonly onBug?: OnBug;
  /**
   * The signals that it receives. Handles made from this workflow send no others, and its code receives no others.
   * @defaultValue any signal
   */
  readonly signals?: Signals;
  /**
   * The updates that it answers; handles and code take no others.
   * @defaultValue any update
   */
  readonly updates?: Updates;
  /**
   * The queries that it answers; handles and code take no others.
   * @defaultValue any query
   */
  readonly queries?: Queries;
}

/** A named, versioned async function, made by `workflow`. `I` is what callers pass, `O` is what they get back. */
export interface WorkflowDefinition<I = unknown, O = unknown, M extends Offers = Offers> {
  readonly kind: "workflow";
  readonly name: string;
  readonly version: string;
  readonly queue: string;
  readonly priority: number;
  /** The key of a run with that input, for the limits and the fairness of its queue; undefined: it has none. */
  readonly keyOf: ((input: never) => string) | undefined;
  readonly timeoutMs: number | undefined;
  /** The retry policy of whole runs; undefined: a failed run stays failed. */
  readonly retry: RetryPolicy | undefined;
  readonly retryIf: RetryIf;
  readonly onBug: OnBug;
  readonly inputSchema: StandardSchemaV1 | undefined;
  readonly outputSchema: StandardSchemaV1 | undefined;
  readonly fn: WorkflowFunction<never, O>;
  /** The names of the signals, updates and queries that it lists; undefined: it has no lists. */
  readonly offers: OfferedNames | undefined;
  /** File and line, for messages about its code. */
  readonly definedAt: string | undefined;
  /** @internal Who brings the guests that execute its runs: its code is in another process. */
  readonly guests?: GuestHost;
  /** Only carries the type; never set. */
  readonly inputType?: I;
  readonly outputType?: O;
  readonly offersType?: M;
}

/** Any workflow, whatever its input and output: for your own functions that take workflows. */
// biome-ignore lint/suspicious/noExplicitAny: the bound for "whatever definition"; user code never sees the any
export type AnyWorkflow = WorkflowDefinition<any, any>;
/** What callers pass to a workflow. */
export type InputOf<D> = D extends WorkflowDefinition<infer I, unknown> ? I : never;
/** What callers get back from a workflow; unknown for a workflow given by name. */
export type OutputOf<D> = D extends WorkflowDefinition<infer _I, infer O> ? O : D extends string ? unknown : never;
/** What the runs of a workflow can be sent; anything, for a workflow given by name. */
export type OffersOf<D> = D extends WorkflowDefinition<infer _I, infer _O, infer M> ? M : Offers;

/** Without a schema the type of the input is known from the function alone, which the compiler looks at later. */
// biome-ignore lint/suspicious/noExplicitAny: see above; with unknown, users would have to cast
export type KeyFunction<In> = (input: In extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<In> : any) => string;

type SchemaInput<S> = S extends StandardSchemaV1 ? StandardSchemaV1.InferInput<S> : never;
type SchemaOutput<S> = S extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<S> : never;

/** Larger is sooner. */
export const isPriority = wholeNumber(PRIORITY_MIN, PRIORITY_MAX, ", larger is sooner");

const WORKFLOW_OPTIONS: OptionChecks<WorkflowOptions> = {
  name: checkedLater,
  version: isName("version of workflow"),
  input: isSchema,
  output: isSchema,
  queue: isName("queue of workflow"),
  key: isFunction,
  retry: checkedLater,
  retryIf: isRetryIf,
  timeout: checkedLater,
  priority: isPriority,
  onBug: oneOf("park", "fail"),
  signals: isListOf("signal"),
  updates: isListOf("update"),
  queries: isListOf("query"),
};

/** Definitions of that kind, each name once. */
function isListOf(kind: keyof OfferedNames): OptionCheck {
  const article = kind === "update" ? "an" : "a";
  const isOne: OptionCheck = (value, where, option) => {
    if (!isDefinition(value, kind))
      throw invalidOption(
        where,
        option,
        `is ${shownValue(value)}, not ${article} ${kind}. Make one with ${kind}("name"); undefined may mean that two modules import each other`,
      );
  };
  return (value, where, option) => {
    listOf(isOne)(value, where, option);
    const names = (value as readonly { readonly name: string }[]).map(({ name }) => name);
    const twice = names.find((name, i) => names.indexOf(name) !== i);
    if (twice !== undefined) throw invalidOption(where, option, `has ${shownValue(twice)} twice`);
  };
}

/** Undefined if it has no lists. */
function offeredNames({ signals, updates, queries }: WorkflowOptions): OfferedNames | undefined {
  if (signals === undefined && updates === undefined && queries === undefined) return undefined;
  const names = (list: readonly { readonly name: string }[]): string[] => list.map(({ name }) => name);
  return {
    ...(signals === undefined ? {} : { signal: names(signals) }),
    ...(updates === undefined ? {} : { update: names(updates) }),
    ...(queries === undefined ? {} : { query: names(queries) }),
  };
}

/** What goes into a schema, or `T` where there is none. */
type Before<S, T> = S extends StandardSchemaV1 ? SchemaInput<S> : T;
/** What comes out of a schema, or `T` where there is none. */
type After<S, T> = S extends StandardSchemaV1 ? SchemaOutput<S> : T;

/**
 * A function whose result goes into the output schema. This conditional type stands beside the type of the function
 * itself: the compiler then knows the schema's type when it checks what the function returns, and infers `"done"` as a
 * literal where one is required.
 */
type Returning<Out> = Out extends StandardSchemaV1
  ? (ctx: never, input: never) => SchemaInput<Out> | PromiseLike<SchemaInput<Out>>
  : unknown;

/** One of the list, or anything if there is none. */
type OneOf<List> = List extends readonly (infer One)[] ? ([One] extends [never] ? NotOffered : One) : unknown;

/** What stands in messages of the compiler where a list is empty. */
export interface NotOffered {
  readonly "this workflow offers none: its list is empty": true;
}

/**
 * Defines a workflow: a function whose every `await ctx…` is recorded, so that it survives the process that runs it.
 */
export function workflow<I = undefined, O = unknown>(
  name: string,
  fn: WorkflowFunction<I, O>,
): WorkflowDefinition<I, Stored<Awaited<O>>>;
export function workflow<
  I = undefined,
  O = unknown,
  In extends MaybeSchema = undefined,
  Out extends MaybeSchema = undefined,
  S extends string = string,
  const Signals extends MaybeSignals = MaybeSignals,
  const Updates extends MaybeUpdates = MaybeUpdates,
  const Queries extends MaybeQueries = MaybeQueries,
>(
  options: WorkflowOptions<In, Out, S, Signals, Updates, Queries>,
  fn: WorkflowFunction<After<In, I>, O, Offers<OneOf<Signals>, OneOf<Updates>, OneOf<Queries>>> & Returning<Out>,
): WorkflowDefinition<
  Before<In, I>,
  Stored<Awaited<After<Out, O>>>,
  Offers<OneOf<Signals>, OneOf<Updates>, OneOf<Queries>>
>;
export function workflow(
  nameOrOptions: string | WorkflowOptions,
  fn: WorkflowFunction<never, unknown>,
): WorkflowDefinition {
  const given = typeof nameOrOptions === "object" && nameOrOptions !== null;
  const options: WorkflowOptions = given ? nameOrOptions : { name: nameOrOptions };
  const where = `workflow(${typeof options.name === "string" ? JSON.stringify(options.name) : ""})`;
  // First: a name that is missing may stand under a misspelled key.
  checkOptions(options, WORKFLOW_OPTIONS, where);
  requireOwnName(options.name, "workflow name");
  if (typeof fn !== "function")
    throw new HoldfastError("invalid_option", `${where}: the second argument is not a function.`);
  return {
    kind: "workflow",
    name: options.name,
    version: options.version ?? DEFAULT_VERSION,
    queue: options.queue ?? DEFAULT_QUEUE,
    priority: options.priority ?? 0,
    keyOf: options.key,
    timeoutMs: options.timeout === undefined ? undefined : requireTimeout(options.timeout, where),
    retry: options.retry === undefined ? undefined : resolveRetry(options.retry, where),
    retryIf: options.retryIf ?? "default",
    onBug: options.onBug ?? "park",
    inputSchema: options.input,
    outputSchema: options.output,
    offers: offeredNames(options),
    fn,
    definedAt: callSite(),
  };
}

/** What the run receives when a signal is sent as `T`: the value as decoded by the codec; without a payload, `true`. */
export type Received<T> = unknown extends T ? T : undefined extends T ? Stored<Exclude<T, void>> | true : Stored<T>;

/**
 * A typed name for messages that a workflow receives. With a schema, payloads are checked before they are sent. Without
 * a type, the signal has no payload, and receiving it returns `true`.
 */
export function signal<T = undefined>(name: string): SignalDefinition<Received<T>, T>;
export function signal<Schema extends StandardSchemaV1>(
  name: string,
  schema: Schema,
): SignalDefinition<Received<SchemaOutput<Schema>>, SchemaInput<Schema>>;
export function signal(name: string, schema?: StandardSchemaV1): SignalDefinition {
  requireName(name, "signal name");
  if (schema !== undefined) isSchema(schema, `signal(${JSON.stringify(name)})`, "the schema");
  return { kind: "signal", name, ...(schema === undefined ? {} : { schema }) };
}

/** Plain JavaScript, or modules that import each other in a circle, may pass something else. */
export function requireWorkflow(value: unknown, where: string): void {
  if (isDefinition(value, "workflow") && typeof (value as { fn?: unknown }).fn === "function") return;
  const message = `${where} is ${value === null ? "null" : typeof value}, not a workflow. Make one with workflow(name, fn); undefined may mean that two modules import each other.`;
  throw new HoldfastError("invalid_option", message);
}

/** The same for a signal. A bare name does not say what its payload is, and a typo in it would go unnoticed. */
export function requireSignal(value: unknown, where: string): void {
  if (isDefinition(value, "signal")) return;
  const example = typeof value === "string" ? `signal(${shownValue(value)})` : 'signal("approve")';
  const message = `${where} is ${typeof value === "string" ? "a string" : value === null ? "null" : typeof value}, not a signal. Make one with ${example}.`;
  throw new HoldfastError("invalid_option", message);
}

function isDefinition(value: unknown, kind: string): boolean {
  const found = value as { readonly kind?: unknown; readonly name?: unknown } | null | undefined;
  try {
    return found?.kind === kind && typeof found.name === "string";
  } catch {
    return false; // a getter or a proxy that throws
  }
}
