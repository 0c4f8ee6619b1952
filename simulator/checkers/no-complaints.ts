import type { Checker } from "../evidence.ts";

/** The engine reports nothing wrong with itself: no broken invariant, no unexpected error, no unhandled rejection. */
export const noComplaints: Checker = {
  name: "no-complaints",
  needs: ["complaints"],
  check: ({ complaints = [] }) => complaints.map((text) => ({ text })),
};
