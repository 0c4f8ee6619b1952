import type { Checker } from "../evidence.ts";

/** A run that moves between stores is open in one of them at most, at any time, and in the end it is in exactly one. */
export const moves: Checker = {
  name: "moves",
  needs: ["moveFaults"],
  check: ({ moveFaults = [] }) => [...moveFaults],
};
