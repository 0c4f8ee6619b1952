import { circleOf } from "../../../model/decisions/watchdog.ts";
import type { Finding } from "../../../model/finding.ts";
import { OPEN_STATUSES, type Run } from "../../../model/run.ts";
import { waitKind } from "../../../model/waiting.ts";
import type { ListedRun } from "../../../ports/store.ts";
import type { Sight } from "../sight.ts";
import { afterOf, type Detect } from "./detector.ts";

/** So many open runs are listed in one look; the next one goes on behind them. */
const LISTED_MAX = 1_000;
/** Of so many runs it is found out what they wait for in the end. */
const FOLLOWED_MAX = 20;

/**
 * Runs that wait for each other. Whoever closes a circle has changed since: a run that was followed before, and has not changed, need
 * not be followed again, unless a circle was found there.
 */
export function makeCircleDetector(): Detect {
  let behind: { readonly createdAt: number; readonly runId: string } | undefined;
  const followed = new Map<string, string>();
  let circles: readonly (readonly string[])[] = [];
  return async (sight, rule) => {
    const { store, namespace } = sight;
    const at = behind ? { before: behind } : {};
    const page = await store.runs.list({ namespace, statuses: OPEN_STATUSES, limit: LISTED_MAX, ...at });
    behind = page.length < LISTED_MAX ? undefined : page.at(-1);
    if (!behind) forgetGone(followed);
    const waiting = page.filter((run) => waitsForOthers(run, sight.now - afterOf(rule)));
    const changed = waiting.filter((run) => followed.get(run.runId) !== markOf(run)).slice(0, FOLLOWED_MAX);
    const found = new Map<string, readonly string[]>();
    for (const id of [...circles.map(([first]) => first as string), ...changed.map((run) => run.id)])
      for (const circle of await sight.circlesOf(id)) found.set(JSON.stringify([...circle].sort()), circle);
    for (const run of changed) followed.set(run.runId, markOf(run));
    circles = [...found.values()];
    return findings(sight, circles, rule.workflow);
  };
}

async function findings(
  { store, namespace, sightings, now }: Sight,
  circles: readonly (readonly string[])[],
  workflow: string | undefined,
): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  for (const circle of circles) {
    const rows = await store.runs.read({ runs: circle.map((id) => ({ namespace, id })) });
    const runs = rows.filter((run): run is Run => run !== null);
    if (workflow !== undefined && !runs.some((run) => run.workflow === workflow)) continue;
    const finding = circleOf(circle, runs, sightings.since(`circle ${JSON.stringify([...circle].sort())}`, "", now));
    if (finding) found.push(finding);
  }
  return found;
}

const OTHERS: ReadonlySet<string> = new Set(["lock", "child", "limit"]);

function waitsForOthers({ heldBy, waitingFor, lastEventAt, startedAt, createdAt }: ListedRun, since: number): boolean {
  if (heldBy !== null || (lastEventAt ?? startedAt ?? createdAt) > since) return false;
  return waitingFor.some((entry) => OTHERS.has(waitKind(entry)));
}

function markOf({ epoch, commit, eventCount }: ListedRun): string {
  return `${epoch}/${commit}/${eventCount}`;
}

/** So many are remembered. */
const FOLLOWED_KEPT = 10_000;

function forgetGone(followed: Map<string, string>): void {
  if (followed.size > FOLLOWED_KEPT) followed.clear();
}
