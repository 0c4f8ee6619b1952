import type { ClaimTasksResult, FinishTask, FinishTasksParams, Task } from "holdfast/adapter";
import type { Sabotage, Saboteur } from "./saboteur.ts";

/** How attempts begin and end, done wrong. */
export const TASK_ATTEMPTS: readonly Sabotage[] = [
  {
    it: "claims tasks for workers without the labels",
    noun: "task claims",
    breaks: (it) => ({
      "tasks.claim": (params) =>
        it.tasks.claim({ ...params, labels: it.taskRows().flatMap(({ requires }) => requires) }),
    }),
  },
  {
    it: "claims tasks whatever the case of their names",
    noun: "task texts",
    breaks: (it) => ({
      "tasks.claim": (params) => {
        const wanted = params.names.map((name) => name.toLowerCase());
        const all = it.taskRows().map(({ name }) => name);
        return it.tasks.claim({ ...params, names: all.filter((name) => wanted.includes(name.toLowerCase())) });
      },
    }),
  },
  {
    it: "claims tasks of the lowest priority first",
    noun: "task claims",
    breaks: (it) => ({
      "tasks.claim": async (params) => {
        const turn = () => {
          for (const task of it.taskRows()) Object.assign(task, { priority: -task.priority });
        };
        turn();
        const result = await it.tasks.claim(params);
        turn();
        return { ...result, tasks: result.tasks.map((task): Task => ({ ...task, priority: -task.priority })) };
      },
    }),
  },
  {
    it: "claims more when a claim is repeated",
    noun: "task claims",
    breaks: (it) => ({ "tasks.claim": (params) => it.tasks.claim({ ...params, again: false }) }),
  },
  {
    it: "claims tasks without taking the epoch on",
    noun: "task claims",
    breaks: (it) => ({
      "tasks.claim": async (params) => {
        const result = await it.tasks.claim(params);
        if (!params.again) for (const one of result.tasks) change(it, one, (task) => ({ epoch: task.epoch - 1 }));
        return {
          ...result,
          tasks: result.tasks.map((task) => ({ ...task, epoch: task.epoch - Number(!params.again) })),
        };
      },
    }),
  },
  {
    it: "does not count the tasks of its workers",
    noun: "task claims",
    breaks: (it) => ({
      "workers.list": async (params) =>
        (await it.workers.list(params)).map((worker) => ({ ...worker, activeTasks: 0 })),
    }),
  },
  {
    it: "finishes tasks under any epoch",
    noun: "task finishes",
    breaks: (it) => finishing(it, (one) => ({ ...one, epoch: it.task(one)?.epoch ?? one.epoch })),
  },
  {
    it: "finishes tasks for any worker",
    noun: "task finishes",
    breaks: (it) =>
      finishing(it, (one) => {
        const workerId = it.task(one)?.heldBy;
        return one.by.type === "holder" && workerId ? { ...one, by: { type: "holder", workerId } } : one;
      }),
  },
  {
    it: "keeps no dead letters",
    noun: "task finishes",
    breaks: (it) =>
      finishing(it, (one) => (one.result.type === "failed" ? { ...one, result: { ...one.result, keep: false } } : one)),
  },
  {
    it: "counts a release as an attempt",
    noun: "task finishes",
    breaks: (it) =>
      finishing(it, (one) =>
        one.result.type === "release" ? { ...one, result: { type: "retry", delayMs: 0, failures: [] } } : one,
      ),
  },
  {
    it: "retries at once, whatever the delay",
    noun: "task finishes",
    breaks: (it) =>
      finishing(it, (one) => (one.result.type === "retry" ? { ...one, result: { ...one.result, delayMs: 0 } } : one)),
  },
  {
    it: "wakes no run for the result of a task",
    noun: "task finishes",
    breaks: (it) => ({
      "tasks.finish": async (params) => {
        const before = new Map(it.rows().map(({ runId, availableAt }) => [runId, availableAt]));
        const result = await it.tasks.finish(params);
        for (const { runId } of params.finishes) {
          const row = it.state.runs.get(runId);
          if (!row) continue;
          row.availableAt = before.get(runId) ?? null;
          if (row.availableAt === null) it.state.queued.delete(runId);
        }
        return result;
      },
    }),
  },
  {
    it: "takes any secret",
    noun: "task tokens",
    breaks: (it) =>
      finishing(it, (one) => {
        const secret = it.task(one)?.secret;
        return one.by.type === "token" && secret ? { ...one, by: { ...one.by, secret } } : one;
      }),
  },
  {
    it: "does not recognize a completion that is repeated",
    noun: "task tokens",
    breaks: (it) => ({
      "tasks.finish": async (params) => {
        const unknown = params.finishes.map((one) => !it.task(one));
        const result = await it.tasks.finish(params);
        const outcomes = result.outcomes.map((one, i) => (unknown[i] ? ({ outcome: "lost" } as const) : one));
        return { ...result, outcomes };
      },
    }),
  },
  {
    it: "retries again when the call with the token is repeated",
    noun: "task tokens",
    breaks: (it) =>
      finishing(it, (one) => {
        const task = it.task(one);
        const again = one.by.type === "token" && task?.finishId === one.by.finishId;
        return again && task ? { ...one, epoch: task.epoch } : one;
      }),
  },
  {
    it: "lets two claims that overlap take the same task",
    noun: "task races",
    breaks: (it) => {
      let inFlight = 0;
      return {
        "tasks.claim": async (params): Promise<ClaimTasksResult> => {
          inFlight += 1;
          const due = it.taskRows().find(({ availableAt }) => availableAt !== null);
          const shared = due && { ...due, input: null, spec: null };
          const result = await it.tasks.claim(params);
          inFlight -= 1;
          const isNew = !result.tasks.some(({ seq }) => seq === shared?.seq);
          return inFlight > 0 && shared && isNew ? { ...result, tasks: [...result.tasks, shared] } : result;
        },
      };
    },
  },
];

type Hooks = ReturnType<Sabotage["breaks"]>;

function finishing(it: Saboteur, change: (one: FinishTask) => FinishTask): Hooks {
  return { "tasks.finish": ({ finishes }: FinishTasksParams) => it.tasks.finish({ finishes: finishes.map(change) }) };
}

function change(it: Saboteur, key: Task, fields: (task: NonNullable<ReturnType<Saboteur["task"]>>) => object): void {
  const task = it.task(key);
  if (task) Object.assign(task, fields(task));
}
