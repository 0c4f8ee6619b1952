import { isClosed, isTaskResult, type Message, type Task } from "holdfast/adapter";
import type { Call } from "../call.ts";
import type { Contents } from "../contents.ts";
import { orderKey } from "./answer.ts";

/** What must always hold for a task. */
export function brokenByTasks(contents: Contents): string[] {
  return contents.tasks.flatMap((task) => brokenByTask(task, contents));
}

function brokenByTask(task: Task, contents: Contents): string[] {
  const { status } = task;
  const run = contents.runs.find(({ runId }) => runId === task.runId);
  const holder = contents.workers.find(({ workerId }) => workerId === task.heldBy);
  const listed = Object.entries(contents.heldTasks).filter(([, tasks]) =>
    tasks.some(({ runId, seq }) => runId === task.runId && seq === task.seq),
  );
  const answers = answersTo(task, contents);
  return violated(
    {
      "a task belongs to a run of its namespace": run?.namespace === task.namespace,
      "a task has the seq of an event of its run": task.seq <= (run?.eventCount ?? 0),
      "a task is held exactly if it has a holder and a claim":
        (status === "held") === (task.heldBy !== null) && (status === "held") === (task.claimId !== null),
      "the holder of a task is of its namespace and not offline":
        status !== "held" || (holder?.namespace === task.namespace && holder.status !== "offline"),
      "workers.readHeldTasks agrees with the row": listed.map(([id]) => id).join() === (task.heldBy ?? ""),
      "only a due task has a due time": status === "due" || task.availableAt === null,
      "a due task has a due time, unless it was canceled, has crashed, or waits for a place":
        status !== "due" ||
        task.availableAt !== null ||
        task.canceled ||
        task.expires === "crash" ||
        contents.queues !== undefined,
      "a canceled task is not due": !task.canceled || task.availableAt === null,
      "a task that nobody holds is not alone": status === "held" || !task.alone,
      "a dead letter has no limits": status !== "dead" || task.expiresAt === null,
      "a limit has a time and a name, or neither": (task.expiresAt === null) === (task.expires === null),
      "a live task has no answer": status === "dead" || answers.length === 0,
      "a task has at most one answer": answers.length <= 1,
    },
    task,
  );
}

/**
 * What one call may do to tasks: none disappears but by the run's own commit, by an end or with an answer; none comes back;
 * epochs only grow, and a task changes hands only with them.
 */
export function brokenTaskSteps(before: Contents, after: Contents, call: Call): string[] {
  const now = new Map(after.tasks.map((task) => [orderKey(task), task]));
  const earlier = new Set(before.tasks.map(orderKey));
  const gone = before.tasks.filter((task) => !now.has(orderKey(task)));
  const kept = before.tasks.flatMap((old): [Task, Task][] => {
    const task = now.get(orderKey(old));
    return task ? [[old, task]] : [];
  });
  const created = after.tasks.filter((task) => !earlier.has(orderKey(task)));
  return [
    ...gone.flatMap((task) =>
      violated({ "a task ends by its run or with an answer": mayEnd(task, after, call) }, task),
    ),
    ...created.flatMap((task) =>
      violated({ "a task is created by a commit, with its event": isNew(task, before, call) }, task),
    ),
    ...kept.flatMap(([old, task]) => brokenStep(old, task, after)),
  ];
}

function brokenStep(old: Task, task: Task, after: Contents): string[] {
  const madeExternal = task.status === "external" && task.heldBy === null;
  return violated(
    {
      "epochs only grow": task.epoch >= old.epoch,
      "a task changes hands with a new epoch":
        task.epoch > old.epoch || (task.heldBy === old.heldBy && task.claimId === old.claimId) || madeExternal,
      "attempts only grow, with the epoch": task.attempt === old.attempt || task.epoch > old.epoch,
      "a dead letter stays one": old.status !== "dead" || task.status === "dead",
      "a task dies with an answer":
        task.status !== "dead" || old.status === "dead" || answersTo(task, after).length === 1,
      "a cancel is never taken back": task.canceled || !old.canceled,
    },
    task,
  );
}

function mayEnd(task: Task, after: Contents, call: Call): boolean {
  const run = after.runs.find(({ runId }) => runId === task.runId);
  if (!run || isClosed(run.status)) return true;
  if (call.method === "runs.commit") {
    const commit = call.params.commits.find(({ runId }) => runId === task.runId);
    return (commit?.settled?.includes(task.seq) ?? false) || (commit?.dropTasks === true && task.status !== "dead");
  }
  return call.method === "tasks.finish" && answersTo(task, after).length === 1;
}

function isNew(task: Task, before: Contents, call: Call): boolean {
  const run = before.runs.find(({ runId }) => runId === task.runId);
  return call.method === "runs.commit" && task.seq > (run?.eventCount ?? 0);
}

function answersTo(task: Task, contents: Contents): readonly Message[] {
  const inbox = contents.inboxes[task.runId] ?? [];
  return inbox.filter(({ kind, messageId }) => isTaskResult(kind) && Number(messageId.split("\t")[2]) === task.seq);
}

function violated(rules: Readonly<Record<string, boolean>>, { runId, seq }: Task): string[] {
  const broken = Object.entries(rules).filter(([, holds]) => !holds);
  return broken.map(([rule]) => `${rule}: task ${seq} of ${runId}`);
}
