import type {
  CommitRunsParams,
  DeliverMessagesParams,
  PauseParams,
  ResumeParams,
  SweepParams,
  TakeUpParams,
} from "holdfast/adapter";
import type { Sabotage } from "./saboteur.ts";

export const PAUSED_RUNS: readonly Sabotage[] = [
  {
    it: "pauses a run without taking the epoch on",
    noun: "pauses",
    breaks: (it) => ({
      "runs.pauseIfIdle": async (params: PauseParams) => {
        const result = await it.runs.pauseIfIdle(params);
        if (result.outcome === "parked" && "runId" in params.run) it.row(params.run.runId).epoch -= 1;
        return result;
      },
    }),
  },
  {
    it: "pauses whichever epoch the caller knows",
    noun: "pauses",
    breaks: (it) => ({
      "runs.pauseIfIdle": (params: PauseParams) => {
        const epoch = "runId" in params.run ? (it.state.runs.get(params.run.runId)?.epoch ?? 0) : 0;
        return it.runs.pauseIfIdle({ ...params, epoch });
      },
    }),
  },
  {
    it: "resumes whichever epoch the caller knows",
    noun: "pauses",
    breaks: (it) => ({
      "runs.resumeIfParked": (params: ResumeParams) => {
        const epoch = "runId" in params.run ? (it.state.runs.get(params.run.runId)?.epoch ?? 0) : 0;
        return it.runs.resumeIfParked({ ...params, epoch });
      },
    }),
  },
  {
    it: "delivers a pause whichever epoch it is for",
    noun: "pauses",
    breaks: (it) => ({
      "inbox.deliver": (params: DeliverMessagesParams) =>
        it.inbox.deliver({ ...params, messages: params.messages.map(({ epoch: _epoch, ...message }) => message) }),
    }),
  },
  {
    it: "begins a run at its resume, before its start time",
    noun: "pauses",
    breaks: (it) => ({
      "runs.resumeIfParked": (params: ResumeParams) => it.runs.resumeIfParked({ ...params, dueAt: null }),
    }),
  },
  {
    it: "resumes a run without the event",
    noun: "pauses",
    breaks: (it) => ({
      "runs.resumeIfParked": async (params: ResumeParams) => {
        const result = await it.runs.resumeIfParked(params);
        if (result.resumed && "runId" in params.run) {
          it.state.events.get(params.run.runId)?.pop();
          it.row(params.run.runId).eventCount -= 1;
        }
        return result;
      },
    }),
  },
  {
    it: "takes up a parked run without the event",
    noun: "parked runs",
    breaks: (it) => ({
      "runs.holdIfParkedByOtherCode": async (params: TakeUpParams) => {
        const counts = it.rows().map((row) => [row, row.eventCount] as const);
        const result = await it.runs.holdIfParkedByOtherCode(params);
        for (const [row, count] of counts) {
          if (row.eventCount === count) continue;
          it.state.events.get(row.runId)?.pop();
          row.eventCount = count;
        }
        return result;
      },
    }),
  },
  {
    it: "parks a paused run although messages are unread",
    noun: "pauses",
    breaks: (it) => ({
      "runs.commit": ({ commits }: CommitRunsParams) =>
        it.runs.commit({
          commits: commits.map((commit) => {
            const { transition } = commit;
            return transition.type === "park"
              ? { ...commit, transition: { ...transition, unlessBehind: false } }
              : commit;
          }),
        }),
    }),
  },
  {
    it: "lets other code take up a run that a person has paused",
    noun: "pauses",
    breaks: (it) => ({
      "runs.pauseIfIdle": async (params: PauseParams) => {
        const result = await it.runs.pauseIfIdle(params);
        if (result.outcome === "parked" && "runId" in params.run)
          it.state.parkedBy.set(params.run.runId, "e".repeat(32));
        return result;
      },
    }),
  },
  {
    it: "leaves a paused run parked when it is canceled",
    noun: "pauses",
    breaks: (it) => ({
      "inbox.deliver": async (params: DeliverMessagesParams) => {
        const marks = new Map(it.state.parkedBy);
        it.state.parkedBy.clear();
        const result = await it.inbox.deliver(params);
        for (const [runId, mark] of marks) it.state.parkedBy.set(runId, mark);
        return result;
      },
    }),
  },
  {
    it: "parks a run in a sweep without the event",
    noun: "pauses",
    breaks: (it) => ({
      "workers.sweep": async (params: SweepParams) => {
        const counts = it.rows().map((row) => [row, row.eventCount] as const);
        const result = await it.workers.sweep(params);
        for (const [row, count] of counts) {
          if (row.eventCount === count) continue;
          it.state.events.get(row.runId)?.pop();
          row.eventCount = count;
        }
        return result;
      },
    }),
  },
];
