import { isResult, type NewLock, type NewReply, type Run, type RunCommit } from "holdfast/adapter";
import { errorRecord } from "../../sample-data.ts";
import type { Dice } from "../dice.ts";
import type { World } from "../world.ts";
import { LOCK_NAMES } from "./contents.ts";

/** What a commit does to children, and to the updates and the ends that its run has read. */
export function changesByTalks(
  world: World,
  dice: Dice,
  run: Run,
  consumed: number,
  eventCount: number,
): Pick<RunCommit, "closes" | "replies" | "results" | "locks" | "unlocks"> {
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
    ...changesOfLocks(world, dice, run, eventCount),
  };
}

/** A lock is requested by the last event of the commit, if it has any. */
function changesOfLocks(world: World, dice: Dice, run: Run, eventCount: number): Pick<RunCommit, "locks" | "unlocks"> {
  const own = Object.values(world.contents.locks).flat();
  const seqs = own.filter(({ runId }) => runId === run.runId).map(({ seq }) => seq);
  const unlocks = dice.chance(0.4) ? [...dice.some(seqs, 2), ...dice.of([], [], [77])] : [];
  const name = dice.pick(LOCK_NAMES) as string;
  const lock: NewLock = { seq: eventCount, op: `lock:${name}`, name, limit: dice.of(1, 1, 2) };
  return {
    ...(eventCount > run.eventCount && dice.chance(0.5) ? { locks: [lock] } : {}),
    ...(unlocks.length > 0 ? { unlocks } : {}),
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
