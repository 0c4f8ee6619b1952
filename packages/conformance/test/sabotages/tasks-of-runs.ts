import { type Hint, isTaskResult, type RunCommit } from "holdfast/adapter";
import type { Sabotage } from "./saboteur.ts";

/** What commits and ends do to tasks, done wrong. */
export const TASKS_OF_RUNS: readonly Sabotage[] = [
  {
    it: "leaves settled tasks",
    noun: "task scheduling",
    breaks: (it) => ({
      "runs.commit": (params) => it.runs.commit({ commits: params.commits.map((one) => without(one, "settled")) }),
    }),
  },
  {
    it: "drops no task but those that are settled",
    noun: "task scheduling",
    breaks: (it) => ({
      "runs.commit": (params) => it.runs.commit({ commits: params.commits.map((one) => without(one, "dropTasks")) }),
    }),
  },
  {
    it: "drops dead letters as well",
    noun: "task scheduling",
    breaks: (it) => ({
      "runs.commit": (params) => {
        const commits = params.commits.map((commit) => {
          const dead = it.taskRows().filter(({ runId, status }) => runId === commit.runId && status === "dead");
          const { settled = [], dropTasks } = commit;
          return dropTasks ? { ...commit, settled: [...settled, ...dead.map(({ seq }) => seq)] } : commit;
        });
        return it.runs.commit({ commits });
      },
    }),
  },
  {
    it: "settles tasks of a commit that is lost",
    noun: "task scheduling",
    breaks: (it) => ({
      "runs.commit": async (params) => {
        const result = await it.runs.commit(params);
        for (const [i, { outcome }] of result.outcomes.entries()) {
          const { runId, settled = [] } = params.commits[i] as RunCommit;
          if (outcome !== "lost") continue;
          for (const seq of settled) if (it.task({ runId, seq })?.status === "due") remove(it, runId, seq);
        }
        return result;
      },
    }),
  },
  {
    it: "says of a repeated commit that it holds no task",
    noun: "task scheduling",
    breaks: (it) => {
      const seen = new Set<string>();
      return {
        "runs.commit": async (params) => {
          const result = await it.runs.commit(params);
          const outcomes = result.outcomes.map((one, i) => {
            const { runId, epoch, commit } = params.commits[i] as RunCommit;
            const key = `${runId} ${epoch} ${commit}`;
            if (seen.has(key) && one.tasksHeld) return { ...one, tasksHeld: [] };
            if (one.outcome === "written") seen.add(key);
            return one;
          });
          return { ...result, outcomes };
        },
      };
    },
  },
  {
    it: "never holds a task from the beginning",
    noun: "task scheduling",
    breaks: (it) => ({
      "runs.commit": (params) => {
        const commits = params.commits.map((commit) =>
          commit.tasks ? { ...commit, tasks: commit.tasks.map((task) => ({ ...task, holdBy: null })) } : commit,
        );
        return it.runs.commit({ commits });
      },
    }),
  },
  {
    it: "keeps the messages of results",
    noun: "task results",
    breaks: (it) => ({
      "runs.commit": (params) => it.runs.commit({ commits: params.commits.map((one) => without(one, "results")) }),
    }),
  },
  {
    it: "hands unread results to the successor",
    noun: "task results",
    breaks: (it) => ({
      "runs.commit": async (params) => {
        const result = await it.runs.commit(params);
        for (const { runId, transition, consumed } of params.commits) {
          if (transition.type !== "continue" || it.row(runId)?.continuedAs !== transition.next.runId) continue;
          const next = it.row(transition.next.runId);
          const inbox = it.state.inbox.get(next.runId) ?? [];
          if (inbox.some(({ kind }) => isTaskResult(kind))) continue;
          for (const message of it.state.inbox.get(runId) ?? []) {
            if (!isTaskResult(message.kind) || message.number <= consumed) continue;
            next.delivered += 1;
            inbox.push({ ...message, runId: next.runId, number: next.delivered });
          }
          it.state.inbox.set(next.runId, inbox);
        }
        return result;
      },
    }),
  },
  {
    it: "leaves the tasks of a terminated run",
    noun: "task results",
    breaks: (it) => ({
      "runs.terminate": async (params) => {
        const before = it.taskRows();
        const result = await it.runs.terminate(params);
        for (const task of before) it.restore(task);
        return result;
      },
    }),
  },
  {
    it: "leaves the dead letters of a purged run",
    noun: "task results",
    rare: true,
    breaks: (it) => ({
      "runs.purge": async (params) => {
        const before = it.taskRows().filter(({ status }) => status === "dead");
        const result = await it.runs.purge(params);
        for (const task of before) it.restore(task);
        return result;
      },
    }),
  },
  {
    it: "finishes tasks of other namespaces",
    noun: "task namespaces",
    breaks: (it) => ({
      "tasks.finish": ({ finishes }) =>
        it.tasks.finish({
          finishes: finishes.map((one) => ({ ...one, namespace: it.task(one)?.namespace ?? one.namespace })),
        }),
    }),
  },
  {
    it: "hears of tasks of other namespaces",
    noun: "task namespaces",
    breaks: (it) => ({
      "tasks.beat": ({ beats }) =>
        it.tasks.beat({
          beats: beats.map((one) => ({ ...one, namespace: it.task(one)?.namespace ?? one.namespace })),
        }),
    }),
  },
  {
    it: "cancels tasks of other namespaces",
    noun: "task namespaces",
    breaks: (it) => ({
      "tasks.cancel": async ({ namespace, tasks }) => {
        const [first] = tasks;
        return it.tasks.cancel({ namespace: (first && it.task(first)?.namespace) ?? namespace, tasks });
      },
    }),
  },
  {
    it: "tells no holder that its task is gone",
    noun: "task hints",
    breaks: (it) => {
      // Hints wait in the state until the call is over.
      let hints = deafList();
      Object.defineProperty(it.state, "hints", {
        get: () => hints,
        set: () => {
          hints = deafList();
        },
      });
      return {};
    },
  },
];

/** A list of hints that takes none about tasks. */
function deafList(): Hint[] {
  const list: Hint[] = [];
  list.push = (...more) =>
    Array.prototype.push.apply(
      list,
      more.filter(({ type }) => type !== "task"),
    );
  return list;
}

function without<K extends "settled" | "dropTasks" | "results">(commit: RunCommit, field: K): RunCommit {
  const { [field]: _left, ...rest } = commit;
  return rest as RunCommit;
}

function remove(it: Parameters<Sabotage["breaks"]>[0], runId: string, seq: number): void {
  const key = `${runId}/${seq}`;
  it.state.tasks.delete(key);
  it.state.dueTasks.delete(key);
  it.state.tasksOf.get(runId)?.delete(key);
}
