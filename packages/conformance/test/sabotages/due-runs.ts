import { type ClaimRunsParams, type DeliverMessagesParams, isClosed, type StartRunsParams } from "holdfast/adapter";
import { type Sabotage, Saboteur } from "./saboteur.ts";

export const DUE_RUNS: readonly Sabotage[] = [
  {
    it: "wakes parked runs with messages",
    noun: "inbox",
    Store: class extends Saboteur {
      override async deliverMessages(params: DeliverMessagesParams) {
        const result = await super.deliverMessages(params);
        for (const { runId, status } of result.outcomes)
          if (runId !== null && status === "parked") this.row(runId).availableAt = 1;
        return result;
      }
    },
  },
  {
    it: "does not wake waiting runs with messages",
    noun: "inbox",
    Store: class extends Saboteur {
      override async deliverMessages(params: DeliverMessagesParams) {
        const waiting = this.rows().filter((row) => row.availableAt === null);
        const result = await super.deliverMessages(params);
        for (const row of waiting) row.availableAt = null;
        return result;
      }
    },
  },
  {
    it: "says closed where it should say duplicate",
    noun: "inbox",
    Store: class extends Saboteur {
      override async deliverMessages(params: DeliverMessagesParams) {
        const { outcomes } = await super.deliverMessages(params);
        return {
          outcomes: outcomes.map((one) =>
            one.outcome === "duplicate" && one.status && isClosed(one.status)
              ? { ...one, outcome: "closed" as const }
              : one,
          ),
        };
      }
    },
  },
  {
    it: "refuses a cancel when the inbox is full",
    noun: "inbox",
    Store: class extends Saboteur {
      override async deliverMessages(params: DeliverMessagesParams) {
        const messages = params.messages.map((message) => ({ ...message, kind: "signal" as const }));
        return super.deliverMessages({ ...params, messages });
      }
    },
  },
  {
    it: "claims without looking at the priority",
    noun: "claims",
    Store: class extends Saboteur {
      override async claimRuns(params: ClaimRunsParams) {
        const priorities = this.rows().map((row) => [row, row.priority] as const);
        for (const [row] of priorities) row.priority = 0;
        const result = await super.claimRuns(params);
        for (const [row, priority] of priorities) row.priority = priority;
        return { ...result, runs: result.runs.map((run) => ({ ...run, priority: this.row(run.runId).priority })) };
      }
    },
  },
  {
    it: "claims more when a claim is repeated",
    noun: "claims",
    Store: class extends Saboteur {
      override claimRuns(params: ClaimRunsParams) {
        return super.claimRuns({ ...params, again: false });
      }
    },
  },
  {
    it: "claims in every namespace",
    noun: "claims",
    Store: class extends Saboteur {
      override claimRuns(params: ClaimRunsParams) {
        const namespace = this.rows().find((row) => row.availableAt !== null)?.namespace ?? params.namespace;
        return super.claimRuns({ ...params, namespace });
      }
    },
  },
  {
    it: "takes suspects along with the others",
    noun: "claims",
    Store: class extends Saboteur {
      override claimRuns(params: ClaimRunsParams) {
        for (const row of this.rows()) row.suspect = false;
        return super.claimRuns({ ...params, solo: false });
      }
    },
  },
  {
    it: "holds runs for workers that are offline",
    noun: "starts",
    Store: class extends Saboteur {
      override async startRuns(params: StartRunsParams) {
        const worker = this.state.workers.get(params.holdBy?.workerId ?? "");
        const status = worker?.status;
        if (worker) worker.status = "online";
        const result = await super.startRuns(params);
        if (worker && status) worker.status = status;
        return result;
      }
    },
  },
  {
    it: "gives runs of one id the same time of creation",
    noun: "starts",
    Store: class extends Saboteur {
      override async startRuns(params: StartRunsParams) {
        const result = await super.startRuns(params);
        for (const { run } of params.starts) {
          const row = this.row(run.runId);
          if (row) row.createdAt = result.now;
        }
        return result;
      }
    },
  },
  {
    it: "cuts a payload at its first zero byte",
    noun: "payloads",
    Store: class extends Saboteur {
      override startRuns(params: StartRunsParams) {
        const starts = params.starts.map((start) => {
          const zero = start.run.input.indexOf(0);
          const input = zero === -1 ? start.run.input : start.run.input.slice(0, zero);
          return { ...start, run: { ...start.run, input } };
        });
        return super.startRuns({ ...params, starts });
      }
    },
  },
  {
    it: "compares ids without regard to case",
    noun: "texts",
    Store: class extends Saboteur {
      override startRuns(params: StartRunsParams) {
        const starts = params.starts.map((start) => ({
          ...start,
          run: { ...start.run, id: start.run.id.toLowerCase() },
        }));
        return super.startRuns({ ...params, starts });
      }
    },
  },
  {
    it: "picks a version for starts that name one",
    noun: "versions",
    Store: class extends Saboteur {
      override startRuns(params: StartRunsParams) {
        return super.startRuns({ ...params, starts: params.starts.map((start) => ({ ...start, pick: 0.999 })) });
      }
    },
  },
];
