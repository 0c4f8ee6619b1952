import type { HoldfastError } from "../../errors/holdfast-error.ts";
import {
  invalidOption,
  isFunction,
  type OptionCheck,
  type OptionChecks,
  optionsOf,
} from "../../errors/option-checks.ts";
import { shownValue } from "../../errors/shown-value.ts";

/** Options of `verifyReplay`. */
export interface VerifyReplayOptions {
  /**
   * Which part of the runs that end on this worker is replayed: above 0, up to 1.
   * @defaultValue `1`: every run
   */
  readonly sample?: number;
  /**
   * Called for each run whose code did something else when it was replayed. The run has ended, and stays as it is.
   * @defaultValue none; the log has an error, and telemetry counts `replays_verified`
   */
  readonly onDivergence?: (error: HoldfastError, run: ReplayedRun) => void;
}

/** A run that was replayed after its end. */
export interface ReplayedRun {
  readonly id: string;
  readonly runId: string;
  readonly workflow: string;
  readonly version: string;
}

const isShare: OptionCheck = (value, where, option) => {
  if (typeof value !== "number" || !(value > 0 && value <= 1))
    throw invalidOption(where, option, `is ${shownValue(value)}, not a number above 0, up to 1`);
};

const VERIFY_REPLAY: OptionChecks<VerifyReplayOptions> = { sample: isShare, onDivergence: isFunction };

export const isVerifyReplay: OptionCheck = optionsOf(VERIFY_REPLAY);
