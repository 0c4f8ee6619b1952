import type { Checker } from "../evidence.ts";

/**
 * A claim that could take more leaves nobody behind for whom there is a place and a token, and says when there will be one. Within a key
 * the priority decides, raised with age; between keys no one waits longer than its share. In the end nothing is left.
 */
export const limitLine: Checker = {
  name: "limit-line",
  needs: ["lineFaults"],
  check: ({ lineFaults = [] }) => [...lineFaults],
};
