import type { AnyWorkflow, InputOf, OffersOf, OutputOf } from "../define/definitions.ts";
import type { StartOptions } from "./client-options.ts";
import type { RunHandle } from "./run-handle.ts";

/** The handle of a run of that workflow. */
export type HandleOf<D> = RunHandle<OutputOf<D>, OffersOf<D>, D extends AnyWorkflow ? InputOf<D> : unknown>;

/**
 * The arguments of `hf.start` after the workflow. Input may be omitted if the workflow takes none; a workflow given by
 * name accepts any input.
 */
export type StartArguments<D, S extends string = string> = [D] extends [string]
  ? [input?: unknown, options?: StartOptions<S>]
  : undefined extends InputOf<D>
    ? [input?: InputOf<D>, options?: StartOptions<S>]
    : [input: InputOf<D>, options?: StartOptions<S>];

/** One start of `startMany`. A workflow given by name accepts any input. */
export type StartRequest<D extends AnyWorkflow | string = AnyWorkflow | string, S extends string = string> = {
  readonly workflow: D;
  readonly options?: StartOptions<S>;
} & (D extends AnyWorkflow
  ? undefined extends InputOf<D>
    ? { readonly input?: InputOf<D> }
    : { readonly input: InputOf<D> }
  : { readonly input?: unknown });

/** The handles of `startMany`, in the order of the requests. */
export type StartedMany<T extends readonly (AnyWorkflow | string)[]> = {
  -readonly [K in keyof T]: HandleOf<T[K]>;
};
