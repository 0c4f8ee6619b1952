import type { DurationMetric } from "holdfast";

/** Calls of the store and the like: from a tenth of a millisecond to ten seconds. */
const SHORT = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
/** What users' code does, and waits: from a millisecond to an hour. */
const MEDIUM = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600];
/** Runs: from ten milliseconds to thirty days. */
const LONG = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3_600, 14_400, 86_400, 604_800, 2_592_000];

/** The upper bounds of the buckets of a duration, in seconds. */
export const BUCKETS: Readonly<Record<DurationMetric, readonly number[]>> = {
  run: LONG,
  queue_wait: MEDIUM,
  timer_lateness: MEDIUM,
  replay: SHORT,
  step_attempt: MEDIUM,
  task_attempt: MEDIUM,
  flush: SHORT,
  claim: SHORT,
  store_call: SHORT,
};
