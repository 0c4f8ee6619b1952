import type { AddRatesParams, HeartbeatParams, SweepParams, WorkerRef } from "holdfast/adapter";
import type { Sabotage } from "./saboteur.ts";

const noun = "the lives of workers";

export const LIVES_OF_WORKERS: readonly Sabotage[] = [
  {
    it: "adds the same counts twice",
    noun,
    breaks: (it) => ({
      "workers.addRates": (params: AddRatesParams) => {
        const worker = it.state.workers.get(params.workerId);
        if (worker) worker.ratesNo = params.no - 1;
        return it.workers.addRates(params);
      },
    }),
  },
  {
    it: "tells a worker only once that it is to drain",
    noun,
    breaks: (it) => ({
      "workers.heartbeat": async (params: HeartbeatParams) => {
        const result = await it.workers.heartbeat(params);
        const worker = it.state.workers.get(params.workerId);
        if (worker) worker.drainAsked = false;
        return result;
      },
    }),
  },
  {
    it: "keeps every heartbeat",
    noun,
    breaks: (it) => ({
      "workers.heartbeat": (params: HeartbeatParams) => {
        const worker = it.state.workers.get(params.workerId);
        if (worker) worker.loggedAt = Number.NEGATIVE_INFINITY;
        return it.workers.heartbeat(params);
      },
    }),
  },
  {
    it: "forgets how busy a worker was that no longer says so",
    noun,
    breaks: (it) => ({
      "workers.heartbeat": (params: HeartbeatParams) => {
        const worker = it.state.workers.get(params.workerId);
        if (worker && !params.load) worker.load = null;
        return it.workers.heartbeat(params);
      },
    }),
  },
  {
    it: "notes no death",
    noun,
    breaks: (it) => ({
      "workers.sweep": async (params: SweepParams) => {
        const result = await it.workers.sweep(params);
        const left = it.state.workerLog.filter(({ type }) => type !== "died");
        it.state.workerLog.splice(0, it.state.workerLog.length, ...left);
        return result;
      },
    }),
  },
  {
    it: "asks workers of other namespaces to drain",
    noun,
    breaks: (it) => ({
      "workers.askToDrain": ({ workerId }: WorkerRef) => {
        const namespace = it.state.workers.get(workerId)?.namespace ?? "";
        return it.workers.askToDrain({ namespace, workerId });
      },
    }),
  },
  {
    it: "forgets workers that are alive",
    noun,
    breaks: (it) => ({
      "workers.forget": (params: { readonly before: number; readonly limit: number }) => {
        for (const { workerId, startedAt } of it.state.workers.values())
          if (startedAt < params.before) it.state.workers.delete(workerId);
        return it.workers.forget(params);
      },
    }),
  },
];
