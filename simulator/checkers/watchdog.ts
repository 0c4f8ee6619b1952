import type { Checker } from "../evidence.ts";

/** What a watchdog does is fenced, recorded, and only done to what has made no progress; a rule on trial does nothing. */
export const watchdog: Checker = {
  name: "watchdog",
  needs: ["watchdogFaults"],
  check: ({ watchdogFaults = [] }) => [...watchdogFaults],
};
