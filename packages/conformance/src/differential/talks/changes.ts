import { isResult, type NewReply, type Run, type RunCommit } from "holdfast/adapter";
import { errorRecord } from "../../sample-data.ts";
import type { Dice } from "../dice.ts";
import type { World } from "../world.ts";

/** What a commit does to children, and to the updates and the ends that its run has read. */
export function changesByTalks(
  world: World,
  dice: Dice,
  run: Run,
  consumed: number,
  eventCount: number,
): Pick<RunCommit, "closes" | "replies" | "results"> {
  const closes = dice.chance(0.25) ? someChildren(world, dice, run) : [];
  const inbox = (world.contents.inboxes[run.runId] ?? []).filter(({ number }) => number <= consumed);
  const results = inbox.filter(({ kind }) => isResult(kind)).map(({ number }) => number);
  const replies = inbox
    .filter(({ kind }) => kind === "update")
    .filter(() => dice.chance(0.5))
    .map(({ number }) => someReply(dice, number, eventCount));
  return {
    ...(closes.length > 0 ? { closes } : {}),
    ...(results.length > 0 && dice.chance(0.8) ? { results } : {}),
    ...(replies.length > 0 ? { replies } : {}),
  };
}

/** Some that exist, and one that may be started later. */
function someChildren(world: World, dice: Dice, run: Run): string[] {
  const own = world.contents.runs.filter(({ lineage }) => lineage?.parent.runId === run.runId);
  const closes = dice.some(own, 2).map(({ firstRunId }) => firstRunId);
  if (dice.chance(0.3)) {
    const runId = world.newRunId();
    world.unborn.push({ runId, parent: run });
    if (dice.chance(0.7)) closes.push(runId);
  }
  return [...new Set(closes)];
}

function someReply(dice: Dice, number: number, eventCount: number): NewReply {
  if (dice.chance(0.2)) return { number };
  if (eventCount === 0 || dice.chance(0.4)) return { number, error: errorRecord(`no ${dice.int(9)}`) };
  return { number, seq: 1 + dice.int(eventCount) };
}
