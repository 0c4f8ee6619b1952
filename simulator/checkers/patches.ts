import { eventRole } from "../../packages/holdfast/src/model/event.ts";
import type { Checker, CommitRecord, Found } from "../evidence.ts";

/**
 * New code begins only in a turn that was not finished before: a patch is written together with the event of its turn.
 */
export const patches: Checker = {
  name: "patches",
  needs: ["commits"],
  check: ({ commits = [] }) => commits.filter(({ applied }) => applied).flatMap(inFinishedTurns),
};

function inFinishedTurns({ runId, commit, events }: CommitRecord): Found[] {
  // The first turn has no event; the first commit finishes it.
  const opened = commit === 0 ? 0 : events.findIndex(({ type }) => eventRole(type) === "delivered");
  const early = opened < 0 ? events : events.slice(0, opened);
  return early
    .filter(({ type }) => type === "patched")
    .map(({ seq, op }) => ({ runId, text: `patch "${op}" (event ${seq}) is in a turn that was finished before` }));
}
