import { isDue } from "../../packages/holdfast/src/model/decisions/due-time.ts";
import type { FinishTask } from "../../packages/holdfast/src/ports/store.ts";
import type { Checker } from "../evidence.ts";
import type { TaskChange, TaskSnapshot } from "../task-evidence.ts";

/**
 * Only the worker that holds a task under the current epoch, someone with its token, time, the death of its worker, or its run
 * ends an attempt; whatever takes a task from a worker makes its epoch one higher; only a failed attempt counts as one.
 */
export const taskFence: Checker = {
  name: "task-fence",
  needs: ["taskChanges"],
  check: ({ taskChanges = [] }) =>
    taskChanges.flatMap((change) => {
      const fault = faultOf(change);
      const { runId, seq, op, at, method } = change;
      return fault === undefined ? [] : [{ runId, text: `${method} at ${at.toFixed(1)}: "${op}" (${seq}) ${fault}` }];
    }),
};

function faultOf(change: TaskChange): string | undefined {
  const { before, after } = change;
  if (!before)
    return change.scheduledBy?.match(/^(task_scheduled|op_rescheduled)$/) ? undefined : "exists without its event";
  if (!after) return mayEnd(change, before) ? undefined : "is gone, and nobody was entitled to end it";
  if (after.epoch < before.epoch || after.epoch > before.epoch + 1)
    return `went from epoch ${before.epoch} to ${after.epoch}`;
  if (after.epoch === before.epoch) return faultInEpoch(change, before, after);
  if (!mayEnd(change, before)) return "was taken from its holder, who was entitled to it";
  const retried = change.finishes.some(({ result }) => result.type === "retry");
  if (after.attempt !== before.attempt + Number(retried && after.status !== "dead"))
    return `went from attempt ${before.attempt} to ${after.attempt}`;
  if (retried && after.failures <= before.failures && before.failures < 10) return "failed without a record of it";
  return undefined;
}

/** Within an epoch a task is not taken from anybody, and no attempt begins or ends. */
function faultInEpoch({ finishes }: TaskChange, before: TaskSnapshot, after: TaskSnapshot): string | undefined {
  if (after.attempt !== before.attempt) return "counts another attempt in the same epoch";
  const becameExternal = finishes.some(
    ({ by, result }) => by.type === "holder" && by.workerId === before.heldBy && result.type === "external",
  );
  if (after.heldBy !== before.heldBy && !(becameExternal && after.heldBy === null))
    return `went from ${before.heldBy ?? "nobody"} to ${after.heldBy ?? "nobody"} in the same epoch`;
  if (after.status !== before.status && !becameExternal) return `went from ${before.status} to ${after.status}`;
  return undefined;
}

function mayEnd(
  { method, finishes, claim, runClosed, holderLeft, storeAt }: TaskChange,
  before: TaskSnapshot,
): boolean {
  switch (method) {
    case "tasks.finish":
      return finishes.some((finish) => isEntitled(finish, before, storeAt));
    case "tasks.claim":
      return claim !== undefined && before.status === "due" && (before.inLine || isDue(before.availableAt, storeAt));
    case "runs.commit":
      return true;
    case "workers.sweep":
    case "workers.stop":
    case "workers.register":
      return holderLeft || runClosed;
    default:
      return runClosed;
  }
}

function isEntitled({ epoch, by }: FinishTask, before: TaskSnapshot, storeAt: number): boolean {
  if (epoch !== before.epoch || before.status === "dead") return false;
  if (by.type === "holder") return by.workerId === before.heldBy;
  if (by.type === "expiry") return before.expiresAt !== null && before.expiresAt <= storeAt;
  if (by.type === "order") return before.status === "held";
  return by.secret === before.secret && (before.status === "held" || before.status === "external");
}
