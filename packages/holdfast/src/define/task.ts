import type { StandardSchemaV1 } from "@standard-schema/spec";
import { HoldfastError } from "../errors/holdfast-error.ts";
import {
  checkedLater,
  checkOptions,
  isBoolean,
  isSchema,
  type OptionChecks,
  requireName,
} from "../errors/option-checks.ts";
import { invalidValue, validateWith } from "../errors/standard-schema.ts";
import { isPromiseLike } from "../model/promise-like.ts";
import type { Stored } from "../model/stored.ts";
import type { TaskSpec } from "../model/task.ts";
import { callSite } from "../replay/code/call-site.ts";
import {
  isTask,
  readSettings,
  TASK_SETTINGS,
  type TaskDefinition,
  type TaskFunction,
  type TaskSettings,
} from "../replay/ops/task-options.ts";
import { DEFAULT_QUEUE, type MaybeSchema } from "./definitions.ts";

/** Options of a task, in place of its bare name. */
export interface TaskOptions<
  In extends MaybeSchema = MaybeSchema,
  Out extends MaybeSchema = MaybeSchema,
  S extends string = string,
> extends TaskSettings<S> {
  /** The name of the task, in the store and in history. Under another name it is another task. */
  readonly name: string;
  /**
   * A schema (zod, valibot, arktype, any Standard Schema) that checks and converts the input where `ctx.task` is called. It
   * must answer at once.
   * @defaultValue no check
   */
  readonly input?: In;
  /**
   * A schema that checks and converts what the function returns. What `hf.tasks.complete` is given is not checked: the caller
   * has only the token.
   * @defaultValue no check
   */
  readonly output?: Out;
  /**
   * No worker executes the task: someone with its token completes or fails it. Such a task has no function.
   * @defaultValue `false`
   */
  readonly external?: boolean;
}

/** Options of a task without a function. */
export interface ExternalTaskOptions<
  In extends MaybeSchema = MaybeSchema,
  Out extends MaybeSchema = MaybeSchema,
  S extends string = string,
> extends TaskOptions<In, Out, S> {
  /** No worker executes the task. */
  readonly external: true;
}

type SchemaInput<S> = S extends StandardSchemaV1 ? StandardSchemaV1.InferInput<S> : never;
type SchemaOutput<S> = S extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<S> : never;
/** What goes into a schema, or `T` where there is none. */
type Before<S, T> = S extends StandardSchemaV1 ? SchemaInput<S> : T;
/** What comes out of a schema, or `T` where there is none. */
type After<S, T> = S extends StandardSchemaV1 ? SchemaOutput<S> : T;

const TASK_OPTIONS: OptionChecks<TaskOptions> = {
  ...TASK_SETTINGS,
  name: checkedLater,
  input: isSchema,
  output: isSchema,
  external: isBoolean,
};

/**
 * Defines a task: work that a workflow hands to other workers with `ctx.task`, through a queue, or to people and other systems
 * through a token.
 */
export function task<I = undefined, O = unknown>(
  name: string,
  fn: TaskFunction<I, O>,
): TaskDefinition<I, Stored<Awaited<O>>>;
export function task<
  I = undefined,
  O = unknown,
  In extends MaybeSchema = undefined,
  Out extends MaybeSchema = undefined,
  S extends string = string,
>(options: ExternalTaskOptions<In, Out, S>): TaskDefinition<Before<In, I>, Stored<After<Out, O>>>;
export function task<
  I = undefined,
  O = unknown,
  In extends MaybeSchema = undefined,
  Out extends MaybeSchema = undefined,
  S extends string = string,
>(
  options: TaskOptions<In, Out, S>,
  fn: TaskFunction<After<In, I>, O>,
): TaskDefinition<Before<In, I>, Stored<Awaited<After<Out, O>>>>;
export function task(nameOrOptions: string | TaskOptions, fn?: TaskFunction<never, unknown>): TaskDefinition {
  const given = typeof nameOrOptions === "object" && nameOrOptions !== null;
  const options: TaskOptions = given ? nameOrOptions : { name: nameOrOptions };
  const { name, external = false, input, output } = options;
  requireName(name, "task name");
  const where = `task(${JSON.stringify(name)})`;
  checkOptions(options, TASK_OPTIONS, where);
  requireFunction(fn, external, where);
  const queue = options.queue ?? DEFAULT_QUEUE;
  const { queue: _queue, ...settings } = readSettings(options, where);
  const spec: TaskSpec = {
    name,
    ...(queue === DEFAULT_QUEUE ? {} : { queue }),
    ...settings,
    ...(external ? { external } : {}),
  };
  return {
    kind: "task",
    name,
    spec,
    queue,
    external,
    retryIf: options.retryIf ?? "default",
    checkInput: input && ((value) => checked(input, value, name)),
    outputSchema: output,
    fn,
    definedAt: callSite(),
  };
}

function requireFunction(fn: unknown, external: boolean, where: string): void {
  if (external && fn !== undefined)
    throw new HoldfastError("invalid_option", `${where}: an external task has no function; leave it out.`);
  if (!external && typeof fn !== "function")
    throw new HoldfastError(
      "invalid_option",
      `${where}: the second argument is not a function. A task without one is external: true.`,
    );
}

/** Workflow code cannot wait for a schema. */
function checked(schema: StandardSchemaV1, value: unknown, name: string): unknown {
  const outcome = validateWith(schema, value);
  if (isPromiseLike(outcome)) {
    void Promise.resolve(outcome).catch(() => {});
    throw new HoldfastError(
      "invalid_option",
      `task("${name}"): the input schema is asynchronous; inside a workflow only schemas that answer at once can be used.`,
    );
  }
  if (outcome.ok) return outcome.value;
  throw invalidValue("invalid_input", `input of task "${name}"`, outcome.issues);
}

/** Plain JavaScript, or modules that import each other in a circle, may pass something else. */
export function requireTask(value: unknown, where: string): void {
  if (isTask(value)) return;
  const message = `${where} is ${value === null ? "null" : typeof value}, not a task. Make one with task(name, fn); undefined may mean that two modules import each other.`;
  throw new HoldfastError("invalid_option", message);
}
