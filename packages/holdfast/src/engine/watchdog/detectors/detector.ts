import type { Finding } from "../../../model/finding.ts";
import type { Sight } from "../sight.ts";
import type { ResolvedRule } from "../watchdog-options.ts";

/** Looks for one thing that may be wrong. */
export type Detect = (sight: Sight, rule: ResolvedRule) => Promise<readonly Finding[]>;

/** The time of a rule whose detector has a default of its own. */
export function afterOf({ afterMs }: ResolvedRule): number {
  return afterMs as number;
}

/** So many runs or tasks are read in one look, those that have waited longest first. */
export const READ_MAX = 100;
