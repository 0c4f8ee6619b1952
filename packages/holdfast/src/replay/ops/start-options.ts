import type { StandardSchemaV1 } from "@standard-schema/spec";
import { isAttributes, storedAttributes } from "../../errors/attribute-checks.ts";
import { checkedNow } from "../../errors/checked-now.ts";
import { HoldfastError } from "../../errors/holdfast-error.ts";
import {
  checkedLater,
  checkOptions,
  isId,
  isName,
  kept,
  type OptionChecks,
  requireTimeout,
  thrown,
  wholeNumber,
} from "../../errors/option-checks.ts";
import { shownValue } from "../../errors/shown-value.ts";
import type { CheckedDuration } from "../../model/checked-duration.ts";
import type { ClosePolicy } from "../../model/child.ts";
import type { Attributes } from "../../model/event.ts";
import { nameFault } from "../../model/names.ts";
import { PRIORITY_MAX, PRIORITY_MIN } from "../../model/run.ts";
import type { OfferedNames, Offers } from "../context/offers.ts";
import type { ChildSpec } from "./child-work.ts";

const KEY_ADVICE = "It must return a text for every input, or the start must pass a key.";

/** A workflow, as far as starting a run of it is concerned. Made by `workflow`. */
export interface ChildDefinition<I = unknown, O = unknown, M extends Offers = Offers> {
  readonly kind: "workflow";
  readonly name: string;
  readonly version: string;
  readonly queue: string;
  readonly priority: number;
  readonly keyOf: ((input: never) => string) | undefined;
  readonly timeoutMs: number | undefined;
  readonly inputSchema: StandardSchemaV1 | undefined;
  readonly offers: OfferedNames | undefined;
  /** Only carry the types; never set. */
  readonly inputType?: I;
  readonly outputType?: O;
  readonly offersType?: M;
}

/** Options of `s.start` in a step: those of a child, except what concerns its end. */
export interface StepStartOptions<S extends string = string> {
  /**
   * The id of the run.
   * @defaultValue its run id
   */
  readonly id?: string;
  /**
   * The version of the workflow.
   * @defaultValue the default version set with `hf.versions`, else that of the definition
   */
  readonly version?: string;
  /**
   * The queue of the run.
   * @defaultValue the queue of the workflow
   */
  readonly queue?: string;
  /**
   * Which due runs workers claim first: a whole number from -9 to 9, larger is sooner.
   * @defaultValue the priority of the workflow
   */
  readonly priority?: number;
  /**
   * What the limits and the fairness of its queue go by.
   * @defaultValue what the `key` of the workflow makes of the input, or none
   */
  readonly key?: string;
  /**
   * The longest the run may take; then it is wound up and ends as `timed_out`.
   * @defaultValue the timeout of the workflow, or no limit
   */
  readonly timeout?: CheckedDuration<S>;
  /**
   * Search attributes of the run.
   * @defaultValue none
   */
  readonly attributes?: Attributes;
}

export const START_OPTIONS: OptionChecks<StepStartOptions> = {
  id: isId("run id"),
  version: isName("version"),
  queue: isName("queue name"),
  priority: wholeNumber(PRIORITY_MIN, PRIORITY_MAX, ", larger is sooner"),
  key: isName("key"),
  timeout: checkedLater,
  attributes: isAttributes,
};

/** For a start inside a step, which nobody closes. */
export function resolveStepStart(
  definition: ChildDefinition,
  options: StepStartOptions | undefined,
  where: string,
): ChildSpec {
  if (options !== undefined) checkOptions(options, START_OPTIONS, where);
  return resolveSpec(definition, options ?? {}, where, "abandon");
}

export function resolveSpec(
  definition: ChildDefinition,
  options: StepStartOptions,
  where: string,
  policy: ClosePolicy,
): ChildSpec {
  const { id, version, queue, priority, key, timeout, attributes } = options;
  return {
    workflow: definition.name,
    version: version ?? definition.version,
    versionGiven: version !== undefined,
    queue: queue ?? definition.queue,
    priority: priority ?? definition.priority,
    key,
    timeoutMs: timeout === undefined ? definition.timeoutMs : requireTimeout(timeout, where),
    attributes: attributes === undefined ? {} : storedAttributes(attributes),
    id,
    policy,
  };
}

/** Plain JavaScript may pass something else. */
export function requireChildDefinition(definition: unknown, call: string): void {
  if ((definition as { readonly kind?: unknown } | null | undefined)?.kind === "workflow") return;
  throw new HoldfastError(
    "invalid_option",
    `${call}: the first argument is ${shownValue(definition)}, not a workflow. Make one with workflow("ship", fn).`,
  );
}

/** The key that the definition gives a run with that input, after its schema. Names are checked as everywhere. */
export function keyFrom({ name, keyOf }: Pick<ChildDefinition, "name" | "keyOf">, input: unknown): string | undefined {
  if (!keyOf) return undefined;
  const key = computedKey(name, keyOf, input);
  requireComputedKey(key, name);
  return key;
}

/** Plain JavaScript may return something else. */
function requireComputedKey(key: unknown, name: string): void {
  const fault = nameFault(key);
  if (fault === undefined) return;
  const what = typeof key === "string" ? `which ${fault}` : "not a text";
  const advice = `${KEY_ADVICE} For runs without a key, leave out the option key of the workflow.`;
  const message = `key of workflow "${name}": the function returned ${shownValue(key)}, ${what}. ${advice}`;
  throw new HoldfastError("invalid_name", message, { data: { name: kept(key) } });
}

function computedKey(name: string, keyOf: NonNullable<ChildDefinition["keyOf"]>, input: unknown): string {
  try {
    return keyOf(input as never);
  } catch (error) {
    const where = `key of workflow "${name}"`;
    const message = `${where}: the function threw ${thrown(error)}. ${KEY_ADVICE}`;
    throw new HoldfastError("invalid_option", message, { data: { where, option: "key" }, cause: error });
  }
}

/** The input as it is stored, after the schema of the workflow, if it has one. */
export function checkedInput({ name, inputSchema }: ChildDefinition, input: unknown): unknown {
  return checkedNow(inputSchema, input, "invalid_input", `input of workflow "${name}"`);
}
