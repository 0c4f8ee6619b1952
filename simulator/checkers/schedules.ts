import type { Checker } from "../evidence.ts";

/**
 * Each time of each schedule is dealt with once, whoever leads: its run starts, or it is skipped for a reason that holds. Nothing starts
 * while the schedule is paused, nor beside an open run, unless its policy allows that; and no time is forgotten.
 */
export const schedules: Checker = {
  name: "schedules",
  needs: ["scheduleFaults"],
  check: ({ scheduleFaults = [] }) => [...scheduleFaults],
};
