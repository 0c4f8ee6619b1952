import type { Checker } from "../evidence.ts";

/**
 * Requests are granted in the order in which they were made, to as many as the newest one allows, each under a larger fence. What is in
 * line is what the histories of open runs say, and nobody waits for good while a place is free. Noted when each call took effect.
 */
export const lockLine: Checker = {
  name: "lock-line",
  needs: ["lockFaults"],
  check: ({ lockFaults = [] }) => [...lockFaults],
};
