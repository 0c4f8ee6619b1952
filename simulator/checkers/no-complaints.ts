import type { Checker } from "../evidence.ts";

/** The engine finds nothing wrong with itself: no broken invariant, no error that nobody expected, no lost rejection. */
export const noComplaints: Checker = {
  name: "no-complaints",
  needs: ["complaints"],
  check: ({ complaints = [] }) => complaints.map((text) => ({ text })),
};
