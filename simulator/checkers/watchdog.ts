import type { Checker } from "../evidence.ts";

/** What a watchdog does is fenced, recorded, and only done to what has made no progress; a rule on trial does nothing. */
export const watchdog: Checker = {
  name: "watchdog",
  needs: ["watchdogFaults"],
  check: ({ runs, watchdogFaults = [] }) => [
    ...watchdogFaults,
    ...runs.flatMap(({ run: { runId }, history }) =>
      history
        .filter(({ meta }) => meta?.messageId?.startsWith("\twatchdog\tcancel") && meta.by !== "watchdog")
        .map(({ seq }) => ({ runId, text: `event ${seq} does not say that the watchdog has canceled it` })),
    ),
  ],
};
