import { TASK_GRACE_MS } from "holdfast/adapter";
import type { Sabotage } from "./saboteur.ts";

/** Limits, reports, deaths and views of tasks, done wrong. */
export const TASK_TIMES: readonly Sabotage[] = [
  {
    it: "expires tasks before their time",
    noun: "task limits",
    breaks: (it) => ({
      "tasks.finish": (params) => {
        for (const one of params.finishes) {
          const task = it.task(one);
          if (one.by.type === "expiry" && task && task.status !== "dead") task.expiresAt = 0;
        }
        return it.tasks.finish(params);
      },
    }),
  },
  {
    it: "gives a holder no time to report that its limit has passed",
    noun: "task limits",
    breaks: (it) => ({
      "tasks.claim": async (params) => {
        const result = await it.tasks.claim(params);
        if (params.again) return result;
        const hasty = (task: { expires: string | null; expiresAt: number | null }) =>
          task.expires === "timeout" || task.expires === "heartbeat"
            ? { expiresAt: (task.expiresAt as number) - TASK_GRACE_MS }
            : {};
        for (const one of result.tasks) Object.assign(it.task(one) ?? {}, hasty(one));
        return { ...result, tasks: result.tasks.map((task) => ({ ...task, ...hasty(task) })) };
      },
    }),
  },
  {
    it: "does not start the limit on silence anew",
    noun: "task limits",
    breaks: (it) => ({
      "tasks.beat": async (params) => {
        const before = it.taskRows().map((task) => [task, task.expiresAt, task.expires] as const);
        const result = await it.tasks.beat(params);
        for (const [task, expiresAt, expires] of before) Object.assign(task, { expiresAt, expires });
        return result;
      },
    }),
  },
  {
    it: "gives a canceled task more time whenever it is canceled again",
    noun: "task limits",
    breaks: (it) => ({
      "tasks.cancel": (params) => {
        for (const key of params.tasks) {
          const task = it.task(key);
          if (task?.status === "held") task.canceled = false;
        }
        return it.tasks.cancel(params);
      },
    }),
  },
  {
    it: "finds tasks that have expired for the shortest time first",
    noun: "task limits",
    breaks: (it) => ({
      "tasks.expired": async (params) => {
        const result = await it.tasks.expired(params);
        return { ...result, tasks: [...result.tasks].reverse() };
      },
    }),
  },
  {
    it: "keeps no details",
    noun: "task reports",
    breaks: (it) => ({
      "tasks.beat": ({ beats }) => it.tasks.beat({ beats: beats.map((beat) => ({ ...beat, details: null })) }),
    }),
  },
  {
    it: "hears attempts that are not the current one",
    noun: "task reports",
    breaks: (it) => ({
      "tasks.beat": ({ beats }) =>
        it.tasks.beat({ beats: beats.map((beat) => ({ ...beat, epoch: it.task(beat)?.epoch ?? beat.epoch })) }),
    }),
  },
  {
    it: "takes a task that an earlier attempt may have done for one that never began",
    noun: "task reports",
    breaks: (it) => ({
      "tasks.cancel": async (params) => {
        const { outcomes } = await it.tasks.cancel(params);
        return {
          outcomes: outcomes.map((one) => (one.outcome === "stopped" ? { outcome: "never_began" as const } : one)),
        };
      },
    }),
  },
  {
    it: "lets canceled tasks be claimed",
    noun: "task reports",
    breaks: (it) => ({
      "tasks.cancel": async (params) => {
        const due = it.taskRows().filter(({ availableAt }) => availableAt !== null);
        const times = due.map(({ availableAt }) => availableAt);
        const result = await it.tasks.cancel(params);
        for (const [i, task] of due.entries()) {
          task.availableAt = times[i] ?? null;
          it.state.dueTasks.add(`${task.runId}/${task.seq}`);
        }
        return result;
      },
    }),
  },
  {
    it: "does not tell a heartbeat which tasks were canceled",
    noun: "task reports",
    rare: true,
    breaks: (it) => ({
      "workers.heartbeat": async (params) => ({ ...(await it.workers.heartbeat(params)), canceledTasks: [] }),
    }),
  },
  {
    it: "takes the death of a worker for an attempt",
    noun: "task deaths",
    breaks: (it) => ({
      "workers.sweep": async (params) => {
        const held = it.taskRows().filter(({ heldBy }) => heldBy !== null);
        const result = await it.workers.sweep(params);
        for (const task of held) if (task.heldBy === null) task.attempt += 1;
        return result;
      },
    }),
  },
  {
    it: "takes a worker that stopped for dead",
    noun: "task deaths",
    breaks: (it) => ({
      "workers.stop": async (params) => {
        const held = it.taskRows().filter(({ heldBy }) => heldBy === params.workerId);
        await it.workers.stop(params);
        for (const task of held) if (task.heldBy === null) task.deaths += 1;
      },
    }),
  },
  {
    it: "remembers deaths whatever has been reported",
    noun: "task deaths",
    rare: true,
    breaks: (it) => ({
      "tasks.beat": async (params) => {
        const before = it.taskRows().map(({ deaths, aloneDeaths, suspect, alone }) => ({
          deaths,
          aloneDeaths,
          suspect,
          alone,
        }));
        const tasks = it.taskRows();
        const result = await it.tasks.beat(params);
        for (const [i, task] of tasks.entries()) Object.assign(task, before[i]);
        return result;
      },
    }),
  },
  {
    it: "returns a task to the queue that the death of its worker should fail",
    noun: "task deaths",
    breaks: (it) => ({
      "workers.sweep": (params) => {
        for (const task of it.taskRows()) if (task.heldBy !== null) Object.assign(task, { failOnCrash: false });
        return it.workers.sweep(params);
      },
    }),
  },
  {
    it: "lists tasks of every status",
    noun: "task listing",
    breaks: (it) => ({
      "tasks.list": ({ status: _status, ...rest }) => it.tasks.list(rest),
    }),
  },
  {
    it: "begins a page with the task that ended the last one",
    noun: "task listing",
    breaks: (it) => ({
      "tasks.list": ({ after, ...rest }) =>
        it.tasks.list(after ? { ...rest, after: { ...after, seq: after.seq - 1 } } : rest),
    }),
  },
  {
    it: "counts a task among those before it",
    noun: "task listing",
    breaks: (it) => ({
      "tasks.position": async (params) => {
        const position = await it.tasks.position(params);
        return position === null ? null : position + 1;
      },
    }),
  },
];
