import { backlogs } from "../../../model/decisions/watchdog.ts";
import { afterOf, type Detect } from "./detector.ts";

/** Queues in which something has been due for too long. */
export const detectBacklogs: Detect = async (sight, rule) =>
  backlogs(await sight.backlog(), afterOf(rule), rule.workflow);
