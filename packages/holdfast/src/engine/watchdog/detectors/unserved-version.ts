import { unserved } from "../../../model/decisions/watchdog.ts";
import { afterOf, type Detect } from "./detector.ts";

/** What is due and no live worker can take. */
export const detectUnserved: Detect = async (sight, rule) =>
  unserved(sight.workers, await sight.backlog(), afterOf(rule), rule.workflow);
