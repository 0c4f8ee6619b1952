import type { Checker, Found } from "../evidence.ts";
import { completedOnce } from "./completed-once.ts";
import { durableBeforeEffect } from "./durable-before-effect.ts";
import { historyUnbroken } from "./history-unbroken.ts";
import { holderAppends } from "./holder-appends.ts";
import { withinLease } from "./within-lease.ts";

const RULES = [historyUnbroken, holderAppends, completedOnce, durableBeforeEffect, withinLease];

/** A fork keeps the rules of every run: among them, that nothing is executed again of what its origin had completed before the cut. */
export const forks: Checker = {
  name: "forks",
  needs: ["forks"],
  async check({ forks: evidence }) {
    const found: Found[] = [];
    for (const rule of evidence ? RULES : [])
      found.push(...(await rule.check(evidence as NonNullable<typeof evidence>)));
    return found;
  },
};
