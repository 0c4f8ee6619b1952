import type { ForkParams, HistoryEvent, Message } from "holdfast/adapter";
import type { Sabotage, Saboteur } from "./saboteur.ts";

/** Calls the store, and does something to a fork that it has created. */
function afterFork(
  it: Saboteur,
  params: ForkParams,
  harm: (events: HistoryEvent[]) => void,
): ReturnType<typeof it.runs.fork> {
  const isNew = !it.state.runs.has(params.run.runId);
  return it.runs.fork(params).then((result) => {
    if (isNew && result.outcome === "forked") harm(it.state.events.get(params.run.runId) as HistoryEvent[]);
    const row = it.state.runs.get(params.run.runId);
    if (!row || result.outcome !== "forked") return result;
    const { input: _input, output: _output, error: _error, ...run } = row;
    return { ...result, run };
  });
}

export const FORKED_RUNS: readonly Sabotage[] = [
  {
    it: "copies an event too many into a fork",
    noun: "forks",
    breaks: (it) => ({
      "runs.fork": async (params) => {
        const origin = it.state.runs.get(params.origin.runId);
        const more = (origin?.eventCount ?? 0) > params.copied;
        return it.runs.fork(more ? { ...params, copied: params.copied + 1 } : params);
      },
    }),
  },
  {
    it: "copies the inbox into a fork",
    noun: "forks",
    breaks: (it) => ({
      "runs.fork": (params) =>
        afterFork(it, params, () => {
          const messages = it.state.inbox.get(params.origin.runId) ?? [];
          if (messages.length === 0) return;
          const row = it.row(params.run.runId);
          const { runId } = row;
          const copies = messages.map((one, i): Message => ({ ...one, runId, number: row.delivered + i + 1 }));
          it.state.inbox.set(runId, copies);
          row.delivered += copies.length;
        }),
    }),
  },
  {
    it: "gives a fork the chain of its origin, with the ids that it knows",
    noun: "forks",
    breaks: (it) => ({
      "runs.fork": (params) =>
        afterFork(it, params, () => {
          it.row(params.run.runId).firstRunId = it.row(params.origin.runId).firstRunId;
        }),
    }),
  },
  {
    it: "creates a fork without saying so in its history",
    noun: "forks",
    breaks: (it) => ({
      "runs.fork": (params) =>
        afterFork(it, params, (events) => {
          events.pop();
          it.row(params.run.runId).eventCount -= 1;
        }),
    }),
  },
  {
    it: "forks a run although something was undone meanwhile",
    noun: "forks",
    rare: true,
    breaks: (it) => ({
      "runs.fork": async (params) => {
        const origin = it.state.runs.get(params.origin.runId);
        return it.runs.fork({ ...params, judged: origin?.eventCount ?? params.judged });
      },
    }),
  },
  {
    it: "takes the id of a closed run for a fork",
    noun: "forks",
    breaks: (it) => ({
      "runs.fork": async (params) => {
        const result = await it.runs.fork(params);
        if (result.outcome !== "exists" || result.run?.endedAt == null) return result;
        const closed = it.row(result.run.runId);
        const { id } = closed;
        const key = `${closed.namespace}\n${id}`;
        const runIds = it.state.byId.get(key) ?? [];
        it.state.byId.delete(key);
        const forked = await it.runs.fork(params);
        it.state.byId.set(key, [...runIds, params.run.runId]);
        return forked;
      },
    }),
  },
  {
    it: "starts a fork anew, at the time when it is claimed",
    noun: "forks",
    breaks: (it) => ({
      "runs.fork": (params) =>
        afterFork(it, params, () => {
          it.row(params.run.runId).startedAt = null;
        }),
    }),
  },
  {
    it: "numbers the messages of a fork from 1",
    noun: "forks",
    breaks: (it) => ({ "runs.fork": (params) => it.runs.fork({ ...params, numberedFrom: 0 }) }),
  },
  {
    it: "forgets which run a fork comes from",
    noun: "forks",
    breaks: (it) => ({
      "runs.fork": (params) => afterFork(it, params, () => void delete it.row(params.run.runId).forkedFrom),
    }),
  },
];
