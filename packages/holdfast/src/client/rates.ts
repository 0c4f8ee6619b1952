import { invalidOption, isDate, isName, type OptionChecks, requireOptions } from "../errors/option-checks.ts";
import { RATE_GRAIN_MS } from "../model/rates.ts";
import type { ClientCore } from "./client-core.ts";

const HOUR_MS = 60 * 60 * 1000;
/** Up to here, rates are shown by the minute. */
const BY_MINUTE_MAX_MS = 24 * HOUR_MS;

/** The stretch of time whose rates are wanted. */
export interface RateOptions {
  /** Included. */
  readonly from: Date;
  /** Not included. */
  readonly to: Date;
  /**
   * Only those of one workflow.
   * @defaultValue all workflows
   */
  readonly workflow?: string;
}

/** What happened to the runs of one workflow in a minute, or in an hour. */
export interface Rate {
  /** When the minute, or the hour, begins. */
  readonly from: Date;
  readonly workflow: string;
  /** Runs that were executed for the first time; not those that another one continued as. */
  readonly started: number;
  /** Runs that ended on a worker, in whatever way; not those that continued as new. One that is retried ends once more. */
  readonly ended: number;
  /** Of these, runs that failed or timed out. */
  readonly failed: number;
  /** Attempts of steps that failed and were made again. */
  readonly retried: number;
}

const OPTIONS: OptionChecks<RateOptions> = { from: isDate, to: isDate, workflow: isName("workflow") };

export async function readRates(core: ClientCore, options: RateOptions): Promise<Rate[]> {
  requireOptions(options, OPTIONS, "rates");
  const [from, to] = [options.from?.getTime(), options.to?.getTime()];
  if (from === undefined || to === undefined)
    throw invalidOption("rates", from === undefined ? "from" : "to", "is missing");
  if (from > to) throw invalidOption("rates", "to", "is before from");
  const grainMs = to - from <= BY_MINUTE_MAX_MS ? RATE_GRAIN_MS : HOUR_MS;
  const { workflow } = options;
  const asked = { namespace: core.namespace, from, to, grainMs, ...(workflow === undefined ? {} : { workflow }) };
  const rows = await core.call((store) => store.workers.readRates(asked));
  return rows.map((row) => ({ ...row, from: new Date(row.from) }));
}
