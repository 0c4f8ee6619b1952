import { stalledRun } from "../../../model/decisions/watchdog.ts";
import type { Finding } from "../../../model/finding.ts";
import type { HeldRunState } from "../../../ports/store.ts";
import { afterOf, type Detect, READ_MAX } from "./detector.ts";

/** Runs of which their workers record nothing. */
export const detectStalledRuns: Detect = async (sight, rule) => {
  const { store, namespace, sightings, now } = sight;
  const afterMs = afterOf(rule);
  const { list, seenAt } = await sight.heldRuns();
  const held = list
    .map((run) => ({ ...run, since: sightings.since(`run ${run.runId}`, markOf(run), seenAt) }))
    .filter(({ since }) => now - since >= afterMs)
    .sort((a, b) => a.since - b.since)
    .slice(0, READ_MAX);
  if (held.length === 0) return [];
  const rows = await store.runs.read({ runs: held.map(({ runId }) => ({ namespace, runId })) });
  return held.flatMap(({ worker, since, ...listed }, i): Finding[] => {
    const run = rows[i];
    // It has moved since it was listed, or it is not of the workflow.
    if (!run || markOf(run) !== markOf(listed)) return [];
    if (rule.workflow !== undefined && run.workflow !== rule.workflow) return [];
    const finding = stalledRun(run, worker, since, now, afterMs);
    return finding ? [finding] : [];
  });
};

/** How far a run has come under its holder. */
function markOf({ epoch, commit, eventCount }: Pick<HeldRunState, "epoch" | "commit" | "eventCount">): string {
  return `${epoch}/${commit}/${eventCount}`;
}
