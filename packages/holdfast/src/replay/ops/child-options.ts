import { checkOptions, isFunction, type OptionChecks, oneOf } from "../../errors/option-checks.ts";
import { CLOSE_POLICIES, type ClosePolicy } from "../../model/child.ts";
import type { ChildSpec } from "./child-work.ts";
import { type ChildDefinition, resolveSpec, START_OPTIONS, type StepStartOptions } from "./start-options.ts";
import type { Compensation } from "./step-options.ts";

/** Options of `ctx.child` and `ctx.startChild`. */
export interface ChildOptions<T = unknown, S extends string = string> extends StepStartOptions<S> {
  /**
   * What becomes of the child when the parent ends, continues as new, or gives it up: it is asked to stop, ended at once, or left
   * alone.
   * @defaultValue `"cancel"`
   */
  readonly onParentClose?: ClosePolicy;
  /**
   * How to undo the child if the parent fails, is canceled or times out. If the child has not ended by then, it is canceled, and
   * its end awaited.
   * @defaultValue nothing is undone
   */
  readonly compensate?: Compensation<T>;
}

const CHILD_OPTIONS: OptionChecks<ChildOptions> = {
  ...START_OPTIONS,
  onParentClose: oneOf(...CLOSE_POLICIES),
  compensate: isFunction,
};

export function resolveChildSpec(
  definition: ChildDefinition,
  options: ChildOptions<never> | undefined,
  where: string,
): ChildSpec {
  if (options !== undefined) checkOptions(options, CHILD_OPTIONS, where);
  return resolveSpec(definition, options ?? {}, where, options?.onParentClose ?? "cancel");
}
