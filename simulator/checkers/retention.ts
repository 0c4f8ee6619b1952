import type { Checker } from "../evidence.ts";

/** What is deleted has ended, longer ago than it is kept, and nobody needs it any more. */
export const retention: Checker = {
  name: "retention",
  needs: ["purgeFaults"],
  check: ({ purgeFaults = [] }) => [...purgeFaults],
};
