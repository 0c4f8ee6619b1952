import type { StandardSchemaV1 } from "@standard-schema/spec";
import { HoldfastError } from "../errors/holdfast-error.ts";
import type { RetryIf } from "../errors/retry-rule.ts";
import type { Duration } from "../model/duration.ts";
import { nameFault } from "../model/names.ts";
import type { RetryPolicy } from "../model/retry-policy.ts";
import { PRIORITY_MAX, PRIORITY_MIN } from "../model/run.ts";
import { callSite } from "../replay/call-site.ts";
import type { Context, SignalDefinition } from "../replay/context.ts";
import type { OnBug } from "../replay/machine-params.ts";
import { type RetryOption, requireDuration, resolveRetry } from "../replay/step-options.ts";

export type WorkflowFunction<I, O> = (ctx: Context, input: I) => O | PromiseLike<O>;

/** The version of a workflow that does not name one. */
export const DEFAULT_VERSION = "1";
export const DEFAULT_QUEUE = "default";

export interface WorkflowOptions {
  readonly name: string;
  readonly version?: string;
  readonly input?: StandardSchemaV1;
  readonly output?: StandardSchemaV1;
  readonly queue?: string;
  /** Of the whole run: off unless asked for. */
  readonly retry?: RetryOption;
  readonly retryIf?: RetryIf;
  /** From start to `timed_out`. */
  readonly timeout?: Duration;
  /** Larger is sooner. */
  readonly priority?: number;
  /**
   * What becomes of a run whose code throws a TypeError, ReferenceError, RangeError, SyntaxError or URIError of its own, or
   * gives ctx a bad option or name. `"park"` (default): it waits for fixed code. `"fail"`: it fails and compensates.
   */
  readonly onBug?: "park" | "fail";
}

/** A named, versioned async function. `I` is what callers pass, `O` what they get back. */
export interface WorkflowDefinition<I = unknown, O = unknown> {
  readonly kind: "workflow";
  readonly name: string;
  readonly version: string;
  readonly queue: string;
  readonly priority: number;
  readonly timeoutMs: number | undefined;
  /** Of the run as a whole; undefined: a failed run stays failed. */
  readonly retry: RetryPolicy | undefined;
  readonly retryIf: RetryIf;
  readonly onBug: OnBug;
  readonly inputSchema: StandardSchemaV1 | undefined;
  readonly outputSchema: StandardSchemaV1 | undefined;
  readonly fn: WorkflowFunction<never, O>;
  /** The file that has called `workflow()`, where that can be told. */
  readonly definedIn: string | undefined;
  /** Carry the types; never set. */
  readonly inputType?: I;
  readonly outputType?: O;
}

// biome-ignore lint/suspicious/noExplicitAny: the bound for "whatever definition"; user code never sees the any
export type AnyWorkflow = WorkflowDefinition<any, any>;
export type InputOf<D> = D extends WorkflowDefinition<infer I, unknown> ? I : never;
export type OutputOf<D> = D extends WorkflowDefinition<infer _I, infer O> ? O : never;

type SchemaInput<S> = S extends StandardSchemaV1 ? StandardSchemaV1.InferInput<S> : never;
type SchemaOutput<S> = S extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<S> : never;

export function workflow<I = undefined, O = unknown>(
  name: string,
  fn: WorkflowFunction<I, O>,
): WorkflowDefinition<I, Awaited<O>>;
export function workflow<S extends StandardSchemaV1, O>(
  options: WorkflowOptions & { readonly input: S },
  fn: WorkflowFunction<SchemaOutput<S>, O>,
): WorkflowDefinition<SchemaInput<S>, Awaited<O>>;
export function workflow<I = undefined, O = unknown>(
  options: WorkflowOptions,
  fn: WorkflowFunction<I, O>,
): WorkflowDefinition<I, Awaited<O>>;
export function workflow(
  nameOrOptions: string | WorkflowOptions,
  fn: WorkflowFunction<never, unknown>,
): WorkflowDefinition {
  const given = typeof nameOrOptions === "object" && nameOrOptions !== null;
  const options: WorkflowOptions = given ? nameOrOptions : { name: nameOrOptions };
  const where = `workflow(${JSON.stringify(options.name)})`;
  requireName(options.name, "workflow name");
  if (typeof fn !== "function")
    throw new HoldfastError("invalid_option", `${where}: the second argument is not a function.`);
  const version = options.version ?? DEFAULT_VERSION;
  const queue = options.queue ?? DEFAULT_QUEUE;
  requireName(version, `version of workflow "${options.name}"`);
  requireName(queue, `queue of workflow "${options.name}"`);
  const priority = options.priority ?? 0;
  requirePriority(priority, where);
  const onBug = options.onBug ?? "park";
  if (onBug !== "park" && onBug !== "fail")
    throw new HoldfastError("invalid_option", `${where}: onBug is ${JSON.stringify(onBug)}; it is "park" or "fail".`);
  return {
    kind: "workflow",
    name: options.name,
    version,
    queue,
    priority,
    timeoutMs: options.timeout === undefined ? undefined : requireDuration(options.timeout, where, "timeout"),
    retry: options.retry === undefined ? undefined : resolveRetry(options.retry, where),
    retryIf: options.retryIf ?? "default",
    onBug,
    inputSchema: options.input,
    outputSchema: options.output,
    fn,
    definedIn: callSite()?.replace(/:\d+:\d+$/, ""),
  };
}

/** A typed name for messages that a workflow receives; with a schema, payloads are checked before they are sent. */
export function signal<T = null>(name: string): SignalDefinition<T>;
export function signal<S extends StandardSchemaV1>(
  name: string,
  schema: S,
): SignalDefinition<SchemaOutput<S>, SchemaInput<S>>;
export function signal(name: string, schema?: StandardSchemaV1): SignalDefinition {
  requireName(name, "signal name");
  return { kind: "signal", name, ...(schema === undefined ? {} : { schema }) };
}

/** Plain JavaScript, or modules that import each other in a circle, may hand over something else. */
export function requireWorkflow(value: unknown, where: string): void {
  if ((value as { kind?: unknown } | null | undefined)?.kind === "workflow") return;
  const message = `${where} is ${value === null ? "null" : typeof value}, not a workflow. Make one with workflow(name, fn); undefined may mean that two modules import each other.`;
  throw new HoldfastError("invalid_option", message);
}

export function requireName(name: string, what: string): void {
  const fault = nameFault(name);
  if (fault)
    throw new HoldfastError("invalid_name", `The ${what} ${JSON.stringify(name)} ${fault}.`, { data: { name } });
}

export function requirePriority(priority: number, where: string): void {
  if (Number.isInteger(priority) && priority >= PRIORITY_MIN && priority <= PRIORITY_MAX) return;
  throw new HoldfastError(
    "invalid_option",
    `${where}: priority is ${priority}; it must be a whole number from ${PRIORITY_MIN} to ${PRIORITY_MAX}, larger is sooner.`,
  );
}
