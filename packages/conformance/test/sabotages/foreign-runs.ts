import type {
  CommitRunsParams,
  DeliverMessagesParams,
  HeartbeatParams,
  ListTasksParams,
  ReadHistoriesParams,
  RunRef,
  WorkerRef,
} from "holdfast/adapter";
import type { Sabotage, Saboteur } from "./saboteur.ts";

/** Stores that take an id for a permission. */
export const FOREIGN_RUNS: readonly Sabotage[] = [
  {
    it: "gives the run of a run id to everybody",
    noun: "namespaces",
    breaks: (it) => ({
      "runs.read": (params: { runs: readonly RunRef[] }) =>
        it.runs.read({ runs: params.runs.map((ref) => ("runId" in ref ? atHome(it, ref) : ref)) }),
    }),
  },
  {
    it: "gives the history of a run id to everybody",
    noun: "namespaces",
    breaks: (it) => ({
      "histories.read": (params: ReadHistoriesParams) =>
        it.histories.read({ ...params, runs: params.runs.map((run) => atHome(it, run)) }),
    }),
  },
  {
    it: "delivers messages of strangers who know the run id",
    noun: "namespaces",
    breaks: (it) => ({
      "inbox.deliver": (params: DeliverMessagesParams) => {
        const messages = params.messages.map((message) =>
          "runId" in message.to ? { ...message, to: atHome(it, message.to) } : message,
        );
        return it.inbox.deliver({ ...params, messages });
      },
    }),
  },
  {
    it: "writes without looking at the namespace",
    noun: "namespaces",
    breaks: (it) => ({
      "runs.commit": (params: CommitRunsParams) =>
        it.runs.commit({ commits: params.commits.map((commit) => atHome(it, commit)) }),
    }),
  },
  {
    it: "renews the lease of a worker of another namespace",
    noun: "namespaces",
    breaks: (it) => ({
      "workers.heartbeat": (params: HeartbeatParams) => {
        const namespace = it.state.workers.get(params.workerId)?.namespace ?? params.namespace;
        return it.workers.heartbeat({ ...params, namespace });
      },
    }),
  },
  {
    it: "lists the tasks of a run id for everybody",
    noun: "foreign ids",
    rare: true,
    breaks: (it) => ({
      "tasks.list": (params: ListTasksParams) =>
        it.tasks.list(params.runId === undefined ? params : atHome(it, { ...params, runId: params.runId })),
    }),
  },
  {
    it: "has the worker of another namespace drain",
    noun: "foreign ids",
    rare: true,
    breaks: (it) => ({
      "workers.askToDrain": (params: WorkerRef) =>
        it.workers.askToDrain({
          ...params,
          namespace: it.state.workers.get(params.workerId)?.namespace ?? params.namespace,
        }),
    }),
  },
  {
    it: "writes all commits of a call in the name of the first worker",
    noun: "commits",
    breaks: (it) => ({
      "runs.commit": ({ commits }: CommitRunsParams) => {
        const workerId = commits[0]?.workerId ?? "";
        return it.runs.commit({ commits: commits.map((commit) => ({ ...commit, workerId })) });
      },
    }),
  },
];

function atHome<T extends { readonly namespace: string; readonly runId: string }>(it: Saboteur, ref: T): T {
  return { ...ref, namespace: it.row(ref.runId)?.namespace ?? ref.namespace };
}
