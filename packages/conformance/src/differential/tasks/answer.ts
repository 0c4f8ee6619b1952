import type {
  ClaimTasksParams,
  ClaimTasksResult,
  ExpiredTasksResult,
  FinishTask,
  FinishTasksParams,
  FinishTasksResult,
  Task,
  TaskKey,
} from "holdfast/adapter";
import { sortBy } from "../contents.ts";
import { isLimited } from "../limits/calls.ts";
import type { World } from "../world.ts";
import { taskLaneOf } from "./calls.ts";

export function comparableTaskClaim(params: ClaimTasksParams, result: ClaimTasksResult, world: World): unknown {
  const { moreDue, nextDueAt, suspectDue, tasks, ...rest } = result;
  const suspects = world.contents.tasks.some((task) => task.suspect && task.availableAt !== null);
  return {
    ...rest,
    tasks: sortBy(tasks, orderKey),
    ...(params.again || suspects ? {} : { moreDue }),
    ...(params.again || suspects || world.limited ? {} : { nextDueAt }),
    ...(params.again || params.solo ? {} : { suspectDue }),
  };
}

/** What a repeated finish with a token hears depends on what the store still has: see `mayHaveForgotten`. */
export function comparableFinishes({ finishes }: FinishTasksParams, result: FinishTasksResult, world: World): unknown {
  const outcomes = result.outcomes.map(({ outcome }, i) =>
    mayHaveForgotten(finishes[i] as FinishTask, world) ? "done or lost" : outcome,
  );
  return { ...result, outcomes };
}

/** Neither a live row nor a message in the inbox of its run remembers the call for certain. */
function mayHaveForgotten({ runId, seq, by }: FinishTask, world: World): boolean {
  if (by.type !== "token") return false;
  const run = world.contents.runs.find((row) => row.runId === runId);
  if (run?.status === "continued") return true;
  const task = world.contents.tasks.find((row) => row.runId === runId && row.seq === seq);
  const inbox = world.contents.inboxes[runId] ?? [];
  return task?.status === "dead" && !inbox.some(({ messageId }) => messageId.endsWith(`\t${by.finishId}`));
}

/** The longest first; among equals, the contract leaves the order to the store. */
export function comparableExpired({ tasks, ...rest }: ExpiredTasksResult): unknown {
  const inOrder = tasks.every(({ expiresAt }, i) => (tasks[i - 1]?.expiresAt ?? 0) <= (expiresAt ?? 0));
  return { ...rest, inOrder, tasks: sortBy(tasks, orderKey) };
}

/** What is wrong with the order in which a claim took its tasks; undefined if nothing is. */
export function wrongTaskOrder(result: ClaimTasksResult, world: World): string | undefined {
  if (result.tasks.some(({ namespace, queue }) => isLimited(world, namespace, queue))) return undefined;
  const before = new Map(world.contents.tasks.map((task) => [orderKey(task), task]));
  for (const [i, later] of result.tasks.entries()) {
    for (const earlier of result.tasks.slice(0, i)) {
      if (earlier.priority < later.priority) return `${name(later)} has a higher priority than ${name(earlier)}`;
      const [a, b] = [before.get(orderKey(earlier)), before.get(orderKey(later))];
      if (a && b && taskLaneOf(a) === taskLaneOf(b) && (a.availableAt ?? 0) > (b.availableAt ?? 0))
        return `${name(b)} was due before ${name(a)}`;
    }
  }
  return undefined;
}

export function orderKey({ runId, seq }: TaskKey): string {
  return `${runId} ${String(seq).padStart(9, "0")}`;
}

function name({ runId, seq }: Task): string {
  return `task ${seq} of ${runId}`;
}
