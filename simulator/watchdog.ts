import type { WatchdogOptions } from "../packages/holdfast/src/engine/watchdog/watchdog-options.ts";

/** The rules of every worker; false: there is no watchdog. Cancels would change what runs come to: they are on trial, and must not happen. */
export function watchdogOf(afterMs: number): WatchdogOptions | false {
  if (afterMs === 0) return false;
  const after = { milliseconds: afterMs };
  return {
    every: "1s",
    rules: [
      { detect: "stalled_run", after, action: "restart" },
      { detect: "stalled_task", after, action: "timeout_task" },
      { detect: "stalled_run", after, action: "cancel", dryRun: true },
      { detect: "backlog", after, action: "report" },
      { detect: "crash_loop", action: "report" },
      { detect: "worker", action: "report" },
    ],
  };
}
