import type { WatchdogOptions } from "../packages/holdfast/src/engine/watchdog/watchdog-options.ts";
import type { WorkloadSettings } from "./configuration.ts";

/** The rules of every worker; false: there is no watchdog. Without cancels, the rule that cancels is on trial: it must not happen. */
export function watchdogOf({
  watchdogMs: afterMs,
  watchdogCancels: cancels,
}: WorkloadSettings): WatchdogOptions | false {
  if (afterMs === 0) return false;
  const after = { milliseconds: afterMs };
  return {
    every: "1s",
    rules: [
      // A run that is restarted makes progress: it would never be canceled.
      { detect: "stalled_run", after, action: "restart", dryRun: cancels },
      { detect: "stalled_task", after, action: "timeout_task" },
      { detect: "stalled_run", after, action: "cancel", dryRun: !cancels },
      { detect: "backlog", after, action: "report" },
      { detect: "crash_loop", action: "report" },
      { detect: "worker", action: "report" },
    ],
  };
}
