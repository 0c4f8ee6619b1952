import { requireSignal } from "../../define/definitions.ts";
import type { HoldfastError } from "../../errors/holdfast-error.ts";
import {
  checkOptions,
  invalidOption,
  isBoolean,
  isFunction,
  isId,
  type OptionChecks,
  requireOptions,
  wholeNumber,
} from "../../errors/option-checks.ts";
import { BATCH_WORKFLOW } from "../../model/batch.ts";
import { whoOf } from "../../model/operator-notes.ts";
import type { SignalDefinition } from "../../replay/context/context.ts";
import type { ClientCore } from "../client-core.ts";
import type { ListFilter } from "../client-options.ts";
import { LIST_FILTER, runFilter } from "../list-filter.ts";
import { OPERATOR_OPTIONS, type OperatorOptions } from "../operations.ts";
import { prepareSignal } from "../signals.ts";
import type { BatchAction, BatchActionName } from "./batch-actions.ts";
import type { BatchResult } from "./batch-result.ts";
import type { BatchInput } from "./batch-workflow.ts";

/** Options of the actions of `hf.batch`. `by` and `reason` are in the history of every run. */
export interface BatchOptions extends OperatorOptions {
  /**
   * Your own id of the batch. A call with the id of a batch that exists returns the result of that one, once it has ended.
   * @defaultValue a new id
   */
  readonly id?: string;
  /**
   * How many runs may be acted on each second.
   * @defaultValue no limit
   */
  readonly perSecond?: number;
  /**
   * Called with how far the batch is: at most twice a second, and at the end. What it throws is logged and changes nothing.
   * @defaultValue none
   */
  readonly onProgress?: (progress: BatchResult) => unknown;
  /**
   * Counts the runs that match, and does nothing.
   * @defaultValue `false`
   */
  readonly dryRun?: boolean;
}

const BATCH_OPTIONS: OptionChecks<BatchOptions> = {
  ...OPERATOR_OPTIONS,
  id: isId("id of the batch"),
  perSecond: wholeNumber(1),
  onProgress: isFunction,
  dryRun: isBoolean,
};

/** The payload is required unless the signal may be sent without one. */
export type BatchSignalArguments<P> = undefined extends P
  ? [payload?: P, options?: BatchOptions]
  : [payload: P, options?: BatchOptions];

/** How a batch is carried out, once it has been checked. */
export type CarryOut = (input: BatchInput, options: BatchOptions) => Promise<BatchResult>;

/**
 * Actions on all runs that match a filter. Each call is a batch: a run that workers go on with if this process dies, and that a
 * call with the same id comes back to. It meets the runs that match when it comes to them and that were created before it began,
 * the newest first.
 */
export class Batch {
  readonly #core: ClientCore;
  readonly #filter: ListFilter;
  readonly #carryOut: CarryOut;

  constructor(core: ClientCore, filter: ListFilter, carryOut: CarryOut) {
    this.#core = core;
    this.#filter = filter;
    this.#carryOut = carryOut;
  }

  /** Asks the runs to stop, as `handle.cancel` does. Runs that have ended are skipped with `run_closed`. */
  cancel(options?: BatchOptions): Promise<BatchResult> {
    return this.#act("cancel", options);
  }

  /** Ends the runs at once, as `handle.terminate` does. Runs that have ended are skipped with `run_closed`. */
  terminate(options?: BatchOptions): Promise<BatchResult> {
    return this.#act("terminate", options);
  }

  /** Sends each run the signal, once. Runs that have ended are skipped with `run_closed`. */
  signal<T, P>(signal: SignalDefinition<T, P>, ...rest: BatchSignalArguments<NoInfer<P>>): Promise<BatchResult>;
  async signal(signal: SignalDefinition<never, never>, given?: unknown, options?: BatchOptions): Promise<BatchResult> {
    requireSignal(signal, "batch.signal: the first argument");
    this.#check("signal", options);
    const { payload } = await prepareSignal(this.#core, signal, given, undefined, undefined);
    const { name } = signal;
    return this.#act("signal", options, { name, payload: this.#core.ports.codec.decode(payload) });
  }

  /** Stops the runs until they are resumed, as `handle.pause` does. Runs that are paused already count as done. */
  pause(options?: BatchOptions): Promise<BatchResult> {
    return this.#act("pause", options);
  }

  /** Lets parked runs continue, as `handle.resume` does. Open runs that are not parked count as done. */
  resume(options?: BatchOptions): Promise<BatchResult> {
    return this.#act("resume", options);
  }

  /** Continues failed runs at what failed, as `handle.retry` does. Others are skipped with `run_not_failed`. */
  retry(options?: BatchOptions): Promise<BatchResult> {
    return this.#act("retry", options);
  }

  /**
   * Deletes runs that have ended, with their histories and messages. Open runs are skipped with `run_not_closed`, and those that
   * still owe something to another run with `run_still_needed`.
   */
  purge(options?: BatchOptions): Promise<BatchResult> {
    return this.#act("purge", options);
  }

  /** Refuses bad arguments before anything is written. */
  #check(name: BatchActionName, options: BatchOptions | undefined): void {
    this.#core.life.assertOpen();
    requireOptions(this.#filter, LIST_FILTER, "batch");
    if (this.#filter.workflow === BATCH_WORKFLOW) throw ofBatches();
    checkOptions(options, BATCH_OPTIONS, `batch.${name}`);
  }

  async #act(
    name: BatchActionName,
    options: BatchOptions = {},
    signal?: NonNullable<BatchAction["signal"]>,
  ): Promise<BatchResult> {
    this.#check(name, options);
    const { namespace: _, ...filter } = runFilter(this.#core.namespace, this.#filter);
    const { perSecond } = options;
    const action: BatchAction = { name, who: whoOf(options), ...(signal === undefined ? {} : { signal }) };
    return this.#carryOut({ filter, action, ...(perSecond === undefined ? {} : { perSecond }) }, options);
  }
}

function ofBatches(): HoldfastError {
  return invalidOption(
    "batch",
    "workflow",
    `is "${BATCH_WORKFLOW}": a batch never acts on batches. Use hf.batchRun(id)`,
  );
}
