import type { BacklogParams, DeliverMessagesParams, FinishTasksParams, RestartParams } from "holdfast/adapter";
import type { Sabotage } from "./saboteur.ts";

const noun = "what a watchdog sees and does";

export const WATCHED_RUNS: readonly Sabotage[] = [
  {
    it: "restarts a run without taking the epoch on",
    noun,
    breaks: (it) => ({
      "runs.restartIfHeld": async (params: RestartParams) => {
        const result = await it.runs.restartIfHeld(params);
        if (result.outcome === "restarted") it.row(params.runId).epoch -= 1;
        return result;
      },
    }),
  },
  {
    it: "restarts a run that has recorded something since",
    noun,
    breaks: (it) => ({
      "runs.restartIfHeld": (params: RestartParams) =>
        it.runs.restartIfHeld({ ...params, commit: it.state.runs.get(params.runId)?.commit ?? 0 }),
    }),
  },
  {
    it: "restarts a run without the event",
    noun,
    breaks: (it) => ({
      "runs.restartIfHeld": async (params: RestartParams) => {
        const result = await it.runs.restartIfHeld(params);
        if (result.outcome === "restarted") {
          it.row(params.runId).eventCount -= 1;
          it.state.events.get(params.runId)?.pop();
        }
        return result;
      },
    }),
  },
  {
    it: "ends an attempt by order whichever epoch it is for",
    noun,
    rare: true,
    breaks: (it) => ({
      "tasks.finish": (params: FinishTasksParams) => {
        const finishes = params.finishes.map((one) => {
          const task = it.state.tasks.get(`${one.runId}/${one.seq}`);
          return one.by.type === "order" && task ? { ...one, epoch: task.epoch } : one;
        });
        return it.tasks.finish({ finishes });
      },
    }),
  },
  {
    it: "delivers a cancel whichever epoch it is for",
    noun,
    rare: true,
    breaks: (it) => ({
      "inbox.deliver": (params: DeliverMessagesParams) => {
        const messages = params.messages.map(({ epoch, ...message }) =>
          message.kind === "cancel" || epoch === undefined ? message : { ...message, epoch },
        );
        return it.inbox.deliver({ ...params, messages });
      },
    }),
  },
  {
    it: "counts a timer as late at once",
    noun,
    rare: true,
    breaks: (it) => ({
      "queues.backlog": (params: BacklogParams) => it.queues.backlog({ ...params, lateMs: 0 }),
    }),
  },
  {
    it: "counts what is due further than asked",
    noun,
    rare: true,
    breaks: (it) => ({
      "queues.backlog": (params: BacklogParams) => it.queues.backlog({ ...params, atMost: 1_000 }),
    }),
  },
];
