import { crashLoops } from "../../../model/decisions/watchdog.ts";
import { afterOf, type Detect } from "./detector.ts";

/** Workers that die again and again, and what kills them. */
export const detectCrashLoops: Detect = async (sight, rule) =>
  crashLoops(sight.workers, await sight.backlog(), afterOf(rule), rule.workflow);
