/** What may be done with a version of a workflow: whether anything still needs it. */

export interface VersionFacts {
  readonly version: string;
  readonly isDefault: boolean;
  /** The part of the starts that get it as a canary, 0 to 1. */
  readonly share: number;
  readonly deprecated: boolean;
  /** Open runs; counted up to a bound. */
  readonly open: number;
  /** There may be more open runs than were counted. */
  readonly openIsCapped?: boolean;
  /** Live workers that offer it. */
  readonly workers: number;
  /** Schedules that name it. */
  readonly schedules?: number;
}

export interface VersionState {
  readonly safeToRemove: boolean;
  /** Why not, or that it is; one sentence each. */
  readonly reasons: readonly string[];
  /** Open runs wait for a worker that is not there. */
  readonly unserved: boolean;
}

/** `only`: no other version of the workflow is known. */
export function stateOf(facts: VersionFacts, only: boolean): VersionState {
  const { isDefault, share, open, openIsCapped = false, workers, schedules = 0 } = facts;
  const reasons: string[] = [];
  if (open > 0)
    reasons.push(`${open.toLocaleString("en-US")}${openIsCapped ? "+" : ""} open ${open === 1 ? "run" : "runs"}`);
  if (isDefault) reasons.push("new runs get it");
  else if (only) reasons.push("it is the only version");
  if (share > 0) reasons.push(`it is the canary of ${shareText(share)} of the starts`);
  if (schedules > 0) reasons.push(schedules === 1 ? "a schedule names it" : `${schedules} schedules name it`);
  return { safeToRemove: reasons.length === 0, reasons, unserved: open > 0 && workers === 0 };
}

/** How many of the starts that name no version get it, over all versions: the canary first, the default the rest. */
export function startShare(
  versions: readonly Pick<VersionFacts, "version" | "isDefault" | "share">[],
  version: string,
): number | null {
  const canary = versions.find(({ share }) => share > 0);
  const chosen = versions.find((one) => one.version === version);
  if (!chosen) return null;
  if (!versions.some(({ isDefault }) => isDefault)) return chosen.share > 0 ? chosen.share : null;
  if (chosen.isDefault) return 1 - (canary && canary !== chosen ? canary.share : 0);
  return chosen.share;
}

/** `5 %`, `0.5 %`. */
export function shareText(share: number): string {
  const percent = share * 100;
  return `${Number(percent.toFixed(percent < 1 ? 2 : 1))} %`;
}
