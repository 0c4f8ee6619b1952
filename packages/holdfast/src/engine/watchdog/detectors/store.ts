import { isSlow, slowText } from "../../../model/decisions/watchdog.ts";
import { afterOf, type Detect } from "./detector.ts";

/** A store that answers slowly. One that does not answer is found by the watchdog itself: nothing can be read from it. */
export const detectSlowStore: Detect = async ({ latency, sightings, now }, rule) => {
  const since = sightings.since("store", isSlow(latency) ? "slow" : "quick", now);
  if (!isSlow(latency) || now - since < afterOf(rule)) return [];
  return [{ detect: "store", key: "slow", text: slowText(latency), since }];
};
