import { checkedLater, oneOf } from "../errors/option-checks.ts";
import type { CheckedDuration } from "../model/checked-duration.ts";

export const RESULT_OPTIONS = { timeout: checkedLater, onParked: oneOf("throw", "wait") };

/** Options of `handle.result`. */
export interface ResultOptions<S extends string = string> {
  /**
   * How long to wait.
   * @defaultValue no limit
   */
  readonly timeout?: CheckedDuration<S>;
  /**
   * If the run is parked for any reason but a person's pause: reject, or wait until it is resumed and ends.
   * @defaultValue `"throw"`
   */
  readonly onParked?: "throw" | "wait";
}
