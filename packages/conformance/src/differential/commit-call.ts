import {
  type CarriedMessage,
  type HistoryEvent,
  isResult,
  type Run,
  type RunCommit,
  type Transition,
  timeInHistory,
} from "holdfast/adapter";
import { PAUSED } from "../fixture.ts";
import { APPEND, bytes, CODES, end, HOLD, park, RELEASE, someEvents, suspend } from "../sample-data.ts";
import { taskEvent } from "../sample-tasks.ts";
import type { Call } from "./call.ts";
import { randomRun, someNamespace } from "./choices.ts";
import type { Dice } from "./dice.ts";
import type { Subject } from "./operations.ts";
import { changesByTalks } from "./talks/changes.ts";
import { randomTask } from "./tasks/choices.ts";
import type { World } from "./world.ts";

/** `about`: it may schedule tasks, or give up children and answer updates. */
export function commitCall(world: World, dice: Dice, about: Subject): Call | undefined {
  const target = dice.chance(0.9) ? dice.pick(world.heldRuns) : dice.pick(world.contents.runs);
  if (!target) return undefined;
  const others = world.heldRuns.filter((run) => run !== target);
  const runs = [target, ...(dice.chance(0.5) ? dice.some(others, 2) : [])];
  return { method: "runs.commit", params: { commits: runs.map((run) => randomCommit(world, dice, run, about)) } };
}

function randomCommit(world: World, dice: Dice, run: Run, about: Subject): RunCommit {
  const commit = someCommit(world, dice, run, about);
  if (!dice.chance(0.25)) return commit;
  const { namespace, runId, workerId, epoch, commit: number } = commit;
  const at = timeInHistory(run, lastEventAt(world, run.runId), world.now);
  const events = someEvents(run.eventCount, dice.of(1, 1, 2, 4), at);
  const nothing = { consumed: run.consumed, attributes: null, clearDeadline: false };
  const count = run.eventCount + events.length;
  return {
    namespace,
    runId,
    workerId,
    epoch,
    commit: number,
    events,
    eventCount: count,
    ...nothing,
    transition: APPEND,
  };
}

function someCommit(world: World, dice: Dice, run: Run, about: Subject): RunCommit {
  const some = run.consumed + dice.int(run.delivered - run.consumed + 1);
  const consumed = dice.chance(0.6) ? run.delivered : some;
  const withTasks = about === "tasks";
  const scheduled = withTasks ? dice.of(0, 1, 1, 2, 3) : 0;
  const transition =
    scheduled > 0 && dice.chance(0.6)
      ? dice.of(HOLD, HOLD, suspend(null))
      : randomTransition(world, dice, run, consumed);
  // Usually parked without progress, so that one code after the other parks the same run.
  const count = transition.type === "park" ? dice.of(0, 0, 0, 1) : dice.of(0, 0, 1, 2, 4);
  const at = timeInHistory(run, lastEventAt(world, run.runId), world.now);
  const events = someEvents(run.eventCount, count, at);
  const tasks = Array.from({ length: scheduled }, (_, i) =>
    randomTask(world, dice, run, run.eventCount + count + 1 + i),
  );
  const holder = dice.chance(0.95) ? run.heldBy : null;
  const all = [...events, ...tasks.map((task): HistoryEvent => taskEvent(task, at))];
  return {
    namespace: someNamespace(run.namespace, dice),
    runId: run.runId,
    workerId: holder ?? dice.pick(world.workerIds) ?? world.strangeId(),
    epoch: run.epoch + (dice.chance(0.9) ? 0 : dice.of(-1, 1)),
    commit: run.commit + (dice.chance(0.9) ? 0 : dice.of(-1, 1)),
    events: all,
    eventCount: run.eventCount + all.length,
    consumed,
    attributes: dice.chance(0.2) ? dice.of({}, { region: "us" }, { region: true, n: 1.5 }) : null,
    clearDeadline: dice.chance(0.1),
    ...(tasks.length > 0 ? { tasks } : {}),
    ...(withTasks ? changesOfTasks(world, dice, run, consumed, transition) : {}),
    ...(about === "conversations" ? changesByTalks(world, dice, run, consumed, run.eventCount + count) : {}),
    transition,
  };
}

/** What becomes of the tasks that the run has already. */
function changesOfTasks(
  world: World,
  dice: Dice,
  run: Run,
  consumed: number,
  transition: Transition,
): Pick<RunCommit, "settled" | "dropTasks" | "results"> {
  const own = world.contents.tasks.filter(({ runId }) => runId === run.runId).map(({ seq }) => seq);
  const settled = dice.chance(0.25) ? [...dice.some(own, 2), ...dice.of([], [77])] : [];
  const ends = transition.type === "end" || transition.type === "continue";
  const inbox = world.contents.inboxes[run.runId] ?? [];
  const results = inbox.filter(({ kind, number }) => isResult(kind) && number <= consumed);
  const deleted = dice.chance(0.8) ? results : dice.some(results, 1);
  return {
    ...(settled.length > 0 ? { settled } : {}),
    ...(dice.chance(ends ? 0.6 : 0.05) ? { dropTasks: true } : {}),
    ...(deleted.length > 0 ? { results: deleted.map(({ number }) => number) } : {}),
  };
}

function randomTransition(world: World, dice: Dice, run: Run, consumed: number): Transition {
  switch (dice.int(10)) {
    case 0:
    case 1:
      return dice.of(HOLD, HOLD, { type: "hold", status: "compensating" });
    case 2:
    case 3:
      return suspend(dice.of(null, null, world.now - 5, world.now, world.now + 700, world.now + 1_000_000), {
        ...(dice.chance(0.2) ? { status: "compensating" as const } : {}),
        waitingFor: dice.of([], ["approved"], ["sleep", "charge#2#00"], ["receive:go#2", "charge#01"]),
      });
    case 4:
      return RELEASE;
    case 5:
    case 6:
      return randomEnd(dice);
    case 7:
      if (dice.chance(0.3)) return { type: "park", error: PAUSED, paused: true, unlessBehind: dice.chance(0.7) };
      return park("diverged", dice.of(undefined, CODES[0], CODES[0], CODES[1]));
    default:
      return {
        type: "continue",
        next: randomRun(world, dice, run.namespace, run.id),
        carried: carry(world, dice, run, consumed),
      };
  }
}

function randomEnd(dice: Dice): Transition {
  const unlessBehind = dice.chance(0.5);
  if (dice.chance(0.5)) return end({ unlessBehind, output: dice.of(bytes('"done"'), bytes(""), null) });
  return end({
    status: dice.of("failed", "failed", "canceled", "timed_out"),
    output: null,
    error: { name: "Error", message: "no luck", kind: "Timeout", attempts: 2 },
    unlessBehind,
    compensation: dice.of(null, "compensated", "compensation_failed"),
  });
}

/** Some of the messages that are in history with this commit. */
function carry(world: World, dice: Dice, run: Run, consumed: number): CarriedMessage[] {
  const known = (world.contents.inboxes[run.runId] ?? []).filter(
    ({ number, kind }) => number <= consumed && !isResult(kind) && kind !== "update",
  );
  if (known.length === 0 || dice.chance(0.5)) return [];
  return dice
    .some(known, 2)
    .map(({ kind, name, messageId, payload }): CarriedMessage => ({ kind, name, messageId, payload }));
}

function lastEventAt({ contents }: World, runId: string): number {
  return contents.histories[runId]?.at(-1)?.at ?? 0;
}
