import type { StandardSchemaV1 } from "@standard-schema/spec";
import { HoldfastError } from "../errors/holdfast-error.ts";
import {
  checkedLater,
  checkOptions,
  isName,
  isSchema,
  type OptionChecks,
  requireDuration,
  requireName,
  wholeNumber,
} from "../errors/option-checks.ts";
import { isRetryIf, type RetryIf } from "../errors/retry-rule.ts";
import { shownValue } from "../errors/shown-value.ts";
import type { Duration } from "../model/duration.ts";
import type { RetryPolicy } from "../model/retry-policy.ts";
import { PRIORITY_MAX, PRIORITY_MIN } from "../model/run.ts";
import type { Context, SignalDefinition } from "../replay/context.ts";
import { type RetryOption, resolveRetry } from "../replay/step-options.ts";

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
  readonly inputSchema: StandardSchemaV1 | undefined;
  readonly outputSchema: StandardSchemaV1 | undefined;
  readonly fn: WorkflowFunction<never, O>;
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

/** Larger is sooner. */
export const isPriority = wholeNumber(PRIORITY_MIN, PRIORITY_MAX, ", larger is sooner");

const WORKFLOW_OPTIONS: OptionChecks<WorkflowOptions> = {
  name: checkedLater,
  version: isName("version of workflow"),
  input: isSchema,
  output: isSchema,
  queue: isName("queue of workflow"),
  retry: checkedLater,
  retryIf: isRetryIf,
  timeout: checkedLater,
  priority: isPriority,
};

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
  requireName(options.name, "workflow name");
  const where = `workflow(${JSON.stringify(options.name)})`;
  checkOptions(options, WORKFLOW_OPTIONS, where);
  if (typeof fn !== "function")
    throw new HoldfastError("invalid_option", `${where}: the second argument is not a function.`);
  return {
    kind: "workflow",
    name: options.name,
    version: options.version ?? DEFAULT_VERSION,
    queue: options.queue ?? DEFAULT_QUEUE,
    priority: options.priority ?? 0,
    timeoutMs: options.timeout === undefined ? undefined : requireDuration(options.timeout, where, "timeout"),
    retry: options.retry === undefined ? undefined : resolveRetry(options.retry, where),
    retryIf: options.retryIf ?? "default",
    inputSchema: options.input,
    outputSchema: options.output,
    fn,
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
  if (schema !== undefined) isSchema(schema, `signal(${JSON.stringify(name)})`, "the schema");
  return { kind: "signal", name, ...(schema === undefined ? {} : { schema }) };
}

/** Plain JavaScript, or modules that import each other in a circle, may hand over something else. */
export function requireWorkflow(value: unknown, where: string): void {
  if (isDefinition(value, "workflow") && typeof (value as { fn?: unknown }).fn === "function") return;
  const message = `${where} is ${value === null ? "null" : typeof value}, not a workflow. Make one with workflow(name, fn); undefined may mean that two modules import each other.`;
  throw new HoldfastError("invalid_option", message);
}

/** The same for a signal. A name alone does not say what its payload is, and a typing error in it would be found by nobody. */
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
