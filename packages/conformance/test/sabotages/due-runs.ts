import { type ClaimRunsParams, type DeliverMessagesParams, isClosed, type StartRunsParams } from "holdfast/adapter";
import type { Sabotage } from "./saboteur.ts";

export const DUE_RUNS: readonly Sabotage[] = [
  {
    it: "wakes parked runs with messages",
    noun: "inbox",
    breaks: (it) => ({
      "inbox.deliver": async (params: DeliverMessagesParams) => {
        const result = await it.inbox.deliver(params);
        for (const { runId, status } of result.outcomes)
          if (runId !== null && status === "parked") it.row(runId).availableAt = 1;
        return result;
      },
    }),
  },
  {
    it: "does not wake waiting runs with messages",
    noun: "inbox",
    breaks: (it) => ({
      "inbox.deliver": async (params: DeliverMessagesParams) => {
        const waiting = it.rows().filter((row) => row.availableAt === null);
        const result = await it.inbox.deliver(params);
        for (const row of waiting) row.availableAt = null;
        return result;
      },
    }),
  },
  {
    it: "says closed where it should say duplicate",
    noun: "inbox",
    breaks: (it) => ({
      "inbox.deliver": async (params: DeliverMessagesParams) => {
        const { outcomes } = await it.inbox.deliver(params);
        return {
          outcomes: outcomes.map((one) =>
            one.outcome === "duplicate" && one.status && isClosed(one.status)
              ? { ...one, outcome: "closed" as const }
              : one,
          ),
        };
      },
    }),
  },
  {
    it: "refuses a cancel when the inbox is full",
    noun: "inbox",
    breaks: (it) => ({
      "inbox.deliver": async (params: DeliverMessagesParams) => {
        const messages = params.messages.map((message) => ({ ...message, kind: "signal" as const }));
        return it.inbox.deliver({ ...params, messages });
      },
    }),
  },
  {
    it: "claims without looking at the priority",
    noun: "claims",
    breaks: (it) => ({
      "runs.claim": async (params: ClaimRunsParams) => {
        const priorities = it.rows().map((row) => [row, row.priority] as const);
        for (const [row] of priorities) row.priority = 0;
        const result = await it.runs.claim(params);
        for (const [row, priority] of priorities) row.priority = priority;
        return { ...result, runs: result.runs.map((run) => ({ ...run, priority: it.row(run.runId).priority })) };
      },
    }),
  },
  {
    it: "claims more when a claim is repeated",
    noun: "claims",
    breaks: (it) => ({
      "runs.claim": (params: ClaimRunsParams) => {
        return it.runs.claim({ ...params, again: false });
      },
    }),
  },
  {
    it: "claims in every namespace",
    noun: "claims",
    breaks: (it) => ({
      "runs.claim": (params: ClaimRunsParams) => {
        const namespace = it.rows().find((row) => row.availableAt !== null)?.namespace ?? params.namespace;
        return it.runs.claim({ ...params, namespace });
      },
    }),
  },
  {
    it: "takes suspects along with the others",
    noun: "claims",
    breaks: (it) => ({
      "runs.claim": (params: ClaimRunsParams) => {
        for (const row of it.rows()) row.suspect = false;
        return it.runs.claim({ ...params, solo: false });
      },
    }),
  },
  {
    it: "holds runs for workers that are offline",
    noun: "starts",
    breaks: (it) => ({
      "runs.start": async (params: StartRunsParams) => {
        const worker = it.state.workers.get(params.holdBy?.workerId ?? "");
        const status = worker?.status;
        if (worker) worker.status = "online";
        const result = await it.runs.start(params);
        if (worker && status) worker.status = status;
        return result;
      },
    }),
  },
  {
    it: "gives runs of one id the same time of creation",
    noun: "starts",
    breaks: (it) => ({
      "runs.start": async (params: StartRunsParams) => {
        const result = await it.runs.start(params);
        for (const { run } of params.starts) {
          const row = it.row(run.runId);
          if (row) row.createdAt = result.now;
        }
        return result;
      },
    }),
  },
  {
    it: "cuts a payload at its first zero byte",
    noun: "payloads",
    breaks: (it) => ({
      "runs.start": (params: StartRunsParams) => {
        const starts = params.starts.map((start) => {
          const zero = start.run.input.indexOf(0);
          const input = zero === -1 ? start.run.input : start.run.input.slice(0, zero);
          return { ...start, run: { ...start.run, input } };
        });
        return it.runs.start({ ...params, starts });
      },
    }),
  },
  {
    it: "compares ids without regard to case",
    noun: "texts",
    breaks: (it) => ({
      "runs.start": (params: StartRunsParams) => {
        const starts = params.starts.map((start) => ({
          ...start,
          run: { ...start.run, id: start.run.id.toLowerCase() },
        }));
        return it.runs.start({ ...params, starts });
      },
    }),
  },
  {
    it: "picks a version for starts that name one",
    noun: "versions",
    rare: true,
    breaks: (it) => ({
      "runs.start": (params: StartRunsParams) => {
        return it.runs.start({ ...params, starts: params.starts.map((start) => ({ ...start, pick: 0.999 })) });
      },
    }),
  },
];
