import type { ClaimTasksParams, FinishTask, Task, TaskBeat, TaskStatus } from "holdfast/adapter";
import { bytes } from "../../sample-data.ts";
import type { Call } from "../call.ts";
import { someNamespace, someWorkerId, workerFor } from "../choices.ts";
import type { Dice } from "../dice.ts";
import { claimedQueues, isLimited } from "../limits/calls.ts";
import { NAMESPACES, type World } from "../world.ts";
import { keyOf, someFinisher, someHold, someResult, someTask } from "./choices.ts";

export function claimTasksCall(world: World, dice: Dice): Call | undefined {
  const worker = dice.chance(0.95) ? workerFor(world.contents.tasks, world, dice) : undefined;
  const suspects = world.contents.tasks.some((task) => task.suspect && task.availableAt !== null);
  const params: ClaimTasksParams = {
    workerId: worker?.workerId ?? someWorkerId(world, dice),
    claimId: world.newClaimId(),
    again: false,
    namespace: someNamespace(worker?.namespace, dice),
    queues: claimedQueues(
      dice.of(["default", "slow"], ["default", "slow"], ["slow", "default"], ["default"], ["slow"]),
      world,
      dice,
    ),
    names: dice.of(["mail", "sms"], ["sms", "mail"], ["mail", "sms"], ["mail"], []),
    labels: dice.of(["gpu", "gpu=a100", "smtp"], ["gpu", "gpu=a100"], ["smtp", "gpu"], []),
    limit: dice.of(1, 2, 100),
    solo: dice.chance(suspects ? 0.6 : 0.1),
  };
  const limit = decidableTaskLimit(params, world);
  return limit === undefined ? undefined : { method: "tasks.claim", params: { ...params, limit } };
}

/** False for a claim that stores may answer in different ways. */
export function isDecidableTaskClaim(params: ClaimTasksParams, world: World): boolean {
  if (!params.again) return decidableTaskLimit(params, world) === (params.solo ? 1 : params.limit);
  // If no task is left that was claimed under the id, the store may claim or not.
  return world.contents.tasks.some((task) => task.heldBy === params.workerId && task.claimId === params.claimId);
}

/** As for runs: if the limit falls between tasks that the contract does not order, it is moved past them. */
function decidableTaskLimit(params: ClaimTasksParams, world: World): number | undefined {
  if (!params.solo && params.queues.some((queue) => isLimited(world, params.namespace, queue)))
    return params.queues.length === 1 ? params.limit : undefined;
  const due = world.contents.tasks
    .filter((task) => isTakenBy(task, params) && task.availableAt !== null && task.availableAt <= world.now)
    .sort((a, b) => b.priority - a.priority || (a.availableAt ?? 0) - (b.availableAt ?? 0));
  const limit = params.solo ? 1 : params.limit;
  const [last, next] = [due[limit - 1], due[limit]];
  if (!last || !next || last.priority !== next.priority) return limit;
  const equals = due.filter((task) => task.priority === last.priority);
  const oneLane = equals.every((task) => taskLaneOf(task) === taskLaneOf(last));
  if (oneLane && last.availableAt !== next.availableAt) return limit;
  return params.solo ? undefined : due.filter((task) => task.priority >= last.priority).length;
}

/** The order of a claim is promised within a lane. */
export function taskLaneOf({ queue, name, requires, priority }: Task): string {
  return [queue, name, requires.join(), priority].join("\n");
}

function isTakenBy(task: Task, params: ClaimTasksParams): boolean {
  if (task.namespace !== params.namespace || task.suspect !== params.solo) return false;
  if (!params.queues.includes(task.queue) || !params.names.includes(task.name)) return false;
  return task.requires.every((label) => params.labels.includes(label));
}

export function finishTasksCall(world: World, dice: Dice): Call | undefined {
  const tasks = [someTask(world, dice), ...(dice.chance(0.3) ? [someTask(world, dice)] : [])];
  const finishes = tasks.flatMap((task): FinishTask[] => {
    if (!task) return [];
    const by = dice.chance(0.1) ? ({ type: "order" } as const) : someFinisher(world, dice, task);
    return [{ ...someHold(task, dice), by, result: someResult(dice, task, by.type, world.now) }];
  });
  return finishes.length === 0 ? undefined : { method: "tasks.finish", params: { finishes: distinct(finishes) } };
}

/** Time passes until a limit has; or nearly. */
export function expireTaskCall(world: World, dice: Dice): Call | undefined {
  const task = dice.pick(world.contents.tasks.filter(({ expiresAt }) => expiresAt !== null));
  if (!task) return finishTasksCall(world, dice);
  const late = dice.chance(0.9) ? 0 : -1;
  world.now = Math.max(world.now, (task.expiresAt as number) + late);
  if (dice.chance(0.3)) return { method: "tasks.expired", params: { limit: 1_000 } };
  const result = someResult(dice, task, "expiry", world.now);
  return {
    method: "tasks.finish",
    params: { finishes: [{ ...someHold(task, dice), by: { type: "expiry" }, result }] },
  };
}

export function beatTasksCall(world: World, dice: Dice): Call | undefined {
  const tasks = [someTask(world, dice), ...(dice.chance(0.3) ? [someTask(world, dice)] : [])];
  const beats = tasks.flatMap((task): TaskBeat[] => {
    if (!task) return [];
    const details = dice.chance(0.5) ? bytes(String(dice.int(100))) : null;
    return [{ ...someHold(task, dice), by: someFinisher(world, dice, task), details }];
  });
  return beats.length === 0 ? undefined : { method: "tasks.beat", params: { beats: distinct(beats) } };
}

export function cancelTasksCall(world: World, dice: Dice): Call | undefined {
  const tasks = dice.some(world.contents.tasks, 2);
  const namespace = someNamespace(tasks[0]?.namespace, dice);
  return tasks.length === 0 ? undefined : { method: "tasks.cancel", params: { namespace, tasks: tasks.map(keyOf) } };
}

export function lookAtTasksCall(world: World, dice: Dice): Call | undefined {
  const task = dice.pick(world.contents.tasks);
  const namespace = dice.pick(NAMESPACES) as string;
  if (!task) return undefined;
  switch (dice.int(4)) {
    case 0:
      return { method: "tasks.position", params: { namespace, ...keyOf(task), atMost: dice.of(1, 100) } };
    case 1:
      return { method: "tasks.expired", params: { limit: 1_000 } };
    case 2:
      return { method: "tasks.read", params: { namespace, tasks: [keyOf(task), { ...keyOf(task), seq: 99 }] } };
    default: {
      const filter = {
        ...(dice.chance(0.3) ? { name: dice.of("mail", "sms") } : {}),
        ...(dice.chance(0.3) ? { queue: dice.of("default", "slow") } : {}),
        ...(dice.chance(0.3) ? { status: dice.of<TaskStatus>("due", "held", "external", "dead") } : {}),
        ...(dice.chance(0.3) ? { runId: task.runId } : {}),
        ...(dice.chance(0.4) ? { after: keyOf(task) } : {}),
      };
      return { method: "tasks.list", params: { namespace, ...filter, limit: dice.of(1, 2, 100) } };
    }
  }
}

/** Within one call each task occurs once. */
function distinct<T extends { readonly runId: string; readonly seq: number }>(items: readonly T[]): T[] {
  return items.filter(
    ({ runId, seq }, i) => items.findIndex((other) => other.runId === runId && other.seq === seq) === i,
  );
}
