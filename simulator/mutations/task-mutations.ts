import type { Mutation } from "./mutation.ts";

export const TASK_MUTATIONS: readonly Mutation[] = [
  {
    name: "creates the tasks of a commit that was refused",
    file: "memory/runs/commits.ts",
    find: '  if (!row || judged === "lost") return LOST;\n',
    replace:
      '  if (row && judged === "lost") for (const task of commit.tasks ?? []) insertTask(state, row, task, now);\n  if (!row || judged === "lost") return LOST;\n',
    caughtBy: "tasks-accounted",
  },
  {
    name: "starts a task before it is durable",
    file: "engine/tasks/run-tasks.ts",
    find: "    return { task, work, reservation };\n",
    replace: "    reservation?.start(this.#heldTask(task, work), this);\n    return { task, work, reservation };\n",
    caughtBy: "task-starts",
  },
  {
    name: "ends an attempt of a task for someone who had an earlier one",
    file: "model/decisions/task.ts",
    find: 'if (task.epoch !== epoch || task.status === "dead") return "lost";',
    replace: 'if (task.status === "dead") return "lost";',
    caughtBy: "task-fence",
  },
  {
    name: "loses the result of a task with the run that waited for it here",
    file: "engine/tasks/run-tasks.ts",
    find: "    for (const local of this.#results.values()) local.handBack();\n",
    replace: "",
    caughtBy: "nothing-lost",
  },
  {
    name: "counts the death of a worker as an attempt of its tasks",
    file: "memory/tasks/finishes.ts",
    find: "  returnDead(state, task, afterTaskHolder(task, died, task.failOnCrash, limits), now);\n",
    replace:
      "  returnDead(state, task, afterTaskHolder(task, died, task.failOnCrash, limits), now);\n  task.attempt += Number(died);\n",
    caughtBy: "task-fence",
  },
  {
    name: "leaves the epoch of a task as it is when its limit passes",
    file: "memory/tasks/finishes.ts",
    find: "      returnTask(state, task, now + result.delayMs, now);\n",
    replace:
      '      returnTask(state, task, now + result.delayMs, now);\n      if (by.type === "expiry") task.epoch -= 1;\n',
    caughtBy: "task-fence",
  },
  {
    name: "takes a suspect although it has tasks",
    file: "engine/worker/worker-parts.ts",
    find: 'this.solo.wants("run") && this.slots.allFree && this.tasks.allFree,',
    replace: 'this.solo.wants("run") && this.slots.allFree,',
    caughtBy: "alone",
  },
  {
    name: "gives a task to a worker without its labels",
    file: "model/decisions/task.ts",
    find: "    task.requires.every((label) => worker.labels.includes(label))\n",
    replace: "    true\n",
    caughtBy: "task-starts",
  },
  {
    name: "keeps the slot of a task that was taken from it",
    file: "engine/tasks/task-runner.ts",
    find: "    held.attempt.discard(reason);\n    this.#leave(held);\n",
    replace: "    held.attempt.discard(reason);\n",
    caughtBy: "nothing-lost",
  },
  {
    name: "takes a task that was scheduled again for the one before",
    file: "memory/tasks/task-state.ts",
    find: "    runId: run.runId,\n    seq,\n",
    replace: "    runId: run.runId,\n    seq: inputSeq,\n",
    caughtBy: "tasks-accounted",
  },
  {
    name: "acknowledges what a token did not do",
    file: "client/tasks.ts",
    find: '    if (outcome === "done") return;\n',
    replace: '    if (outcome !== "busy") return;\n',
    caughtBy: "task-results",
  },
  {
    name: "executes a task again that must not be repeated",
    file: "model/decisions/task.ts",
    find: "crashed: failOnCrash || (died && aloneDeaths >= limits.parkAfter) };",
    replace: "crashed: died && aloneDeaths >= limits.parkAfter };",
    caughtBy: "task-attempts",
  },
];
