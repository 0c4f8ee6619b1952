import type { NewTask, Run, Task, TaskFailure, TaskFinisher, TaskKey, TaskResult } from "holdfast/adapter";
import { bytes } from "../../sample-data.ts";
import { newTask, secretOf } from "../../sample-tasks.ts";
import { someNamespace, someWorkerId } from "../choices.ts";
import type { Dice } from "../dice.ts";
import { someKey } from "../limits/calls.ts";
import type { World } from "../world.ts";

/** Usually one that somebody works on, sometimes any. */
export function someTask(world: World, dice: Dice): Task | undefined {
  const { tasks } = world.contents;
  const inProgress = tasks.filter(({ status }) => status === "held" || status === "external");
  return dice.pick(dice.chance(0.85) && inProgress.length > 0 ? inProgress : tasks);
}

/** The key and the epoch of a task, now and then wrong. */
export function someHold(task: Task, dice: Dice) {
  const { runId, seq, epoch } = task;
  return {
    namespace: someNamespace(task.namespace, dice),
    runId,
    seq: dice.chance(0.97) ? seq : seq + 1,
    epoch: epoch + (dice.chance(0.9) ? 0 : dice.of(-1, 1)),
  };
}

export function keyOf({ runId, seq }: TaskKey): TaskKey {
  return { runId, seq };
}

/** The tasks that these events schedule. */
export function randomTask(world: World, dice: Dice, run: Run, seq: number): NewTask {
  const earlier = (world.contents.histories[run.runId] ?? []).filter(({ type }) => type === "task_scheduled");
  const inputSeq = dice.chance(0.15) ? dice.pick(earlier)?.seq : undefined;
  const limit = (...ms: readonly [number, ...number[]]): number | null => (dice.chance(0.25) ? dice.of(...ms) : null);
  const holdBy = dice.chance(0.3) ? { workerId: someWorkerId(world, dice), claimId: world.newClaimId() } : null;
  return newTask(seq, {
    inputSeq: inputSeq ?? seq,
    name: dice.of("mail", "mail", "sms"),
    queue: dice.of("default", "default", "slow"),
    ...(world.limited ? someKey(dice) : {}),
    requires: dice.of([], [], ["gpu"], ["gpu", "gpu=a100"]),
    priority: dice.of(0, 0, 0, 5, -5),
    external: dice.chance(0.15),
    failOnCrash: dice.chance(0.15),
    secret: secretOf(dice.int(1_000)),
    holdBy,
    timeoutMs: limit(1, 500, 1_500),
    startTimeoutMs: limit(1, 300, 900),
    totalTimeoutMs: limit(5, 900, 3_000),
    heartbeatMs: limit(50, 900),
  });
}

/** Whoever may end the attempt, or nearly; `expiry` is left to those that time has passed for. */
export function someFinisher(
  world: World,
  dice: Dice,
  task: Task,
): Exclude<TaskFinisher, { type: "expiry" | "order" }> {
  if (task.heldBy !== null && dice.chance(0.7)) return { type: "holder", workerId: task.heldBy };
  if (dice.chance(0.15)) return { type: "holder", workerId: someWorkerId(world, dice) };
  return { type: "token", secret: dice.chance(0.9) ? task.secret : secretOf(7_777), finishId: world.newFinishId() };
}

export function someResult(dice: Dice, task: Task, by: TaskFinisher["type"], now: number): TaskResult {
  const failure: TaskFailure = { attempt: task.attempt, at: now, name: "Error", message: `no luck ${dice.int(9)}` };
  const failures = [...task.failures, failure].slice(-10);
  const kind = dice.int(by === "holder" ? 8 : 5);
  if (kind <= 1 && by !== "expiry") return { type: "completed", payload: bytes(String(dice.int(100))) };
  if (kind <= 2) return { type: "failed", payload: bytes("no luck"), failures, keep: dice.chance(0.5) };
  if (kind <= 4) return { type: "retry", delayMs: dice.of(0, 0, 1, 700), failures };
  const died: TaskResult = { type: "died", alone: dice.chance(0.5), suspectAfter: 2, parkAfter: 3, failures };
  const released: TaskResult = dice.chance(0.3) ? { type: "release", delayMs: 700 } : { type: "release" };
  return dice.of<TaskResult>(released, died, { type: "external" });
}
