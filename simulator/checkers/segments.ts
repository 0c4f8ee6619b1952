import type { Checker } from "../evidence.ts";

/** Segments hold the events of their run and no others; what is read from them is what the events say, and damage is reported. */
export const segments: Checker = {
  name: "segments",
  needs: ["segmentFaults"],
  check: ({ segmentFaults = [] }) => [...segmentFaults],
};
