import type { Checker } from "../evidence.ts";

/**
 * Never more runs or tasks are let into a queue than its limits allow at that moment, for all of it and for each key, nor faster than its
 * rates; and only claims let them in. By the simulator's own account of who is inside.
 */
export const limitPlaces: Checker = {
  name: "limit-places",
  needs: ["placeFaults"],
  check: ({ placeFaults = [] }) => [...placeFaults],
};
