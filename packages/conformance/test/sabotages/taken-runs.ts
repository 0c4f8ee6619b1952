import type { DeliverMessage, DeliverMessagesParams } from "holdfast/adapter";
import type { Sabotage, Saboteur } from "./saboteur.ts";

/** The same call with other holds. */
function holding(
  it: Saboteur,
  params: DeliverMessagesParams,
  change: (hold: NonNullable<DeliverMessage["hold"]>) => DeliverMessage["hold"],
): ReturnType<Saboteur["inbox"]["deliver"]> {
  const messages = params.messages.map(({ hold, ...message }) => {
    const changed = hold && change(hold);
    return changed ? { ...message, hold: changed } : message;
  });
  return it.inbox.deliver({ ...params, messages });
}

export const TAKEN_RUNS: readonly Sabotage[] = [
  {
    it: "takes a run for its messages without looking at the epoch",
    noun: "holding messages",
    breaks: (it) => ({
      "inbox.deliver": (params: DeliverMessagesParams) =>
        holding(it, params, ({ runId, epoch }) => ({ runId, epoch: it.row(runId)?.epoch ?? epoch })),
    }),
  },
  {
    it: "takes suspects for their messages",
    noun: "holding messages",
    breaks: (it) => ({
      "inbox.deliver": async (params: DeliverMessagesParams) => {
        const suspects = it.rows().filter(({ suspect }) => suspect);
        for (const row of suspects) row.suspect = false;
        const result = await it.inbox.deliver(params);
        for (const row of suspects) row.suspect = true;
        return result;
      },
    }),
  },
  {
    it: "takes a run for its messages away from its holder",
    noun: "holding messages",
    breaks: (it) => ({
      "inbox.deliver": async (params: DeliverMessagesParams) => {
        const result = await it.inbox.deliver(params);
        params.messages.forEach(({ hold }, i) => {
          const { outcome, runId } = result.outcomes[i] ?? {};
          if (!params.holdBy || outcome !== "delivered" || hold?.runId !== runId || !runId) return;
          const row = it.row(runId);
          if (row.epoch === hold?.epoch && row.heldBy !== null) row.heldBy = params.holdBy.workerId;
        });
        return result;
      },
    }),
  },
  {
    it: "leaves a run due that its messages have taken",
    noun: "holding messages",
    breaks: (it) => ({
      "inbox.deliver": async (params: DeliverMessagesParams) => {
        const result = await it.inbox.deliver(params);
        for (const { runId, held } of result.outcomes) if (held) it.row(runId as string).availableAt = held.at;
        return result;
      },
    }),
  },
  {
    it: "leaves the epoch as it was when messages take a run",
    noun: "holding messages",
    breaks: (it) => ({
      "inbox.deliver": async (params: DeliverMessagesParams) => {
        const result = await it.inbox.deliver(params);
        const taken = new Set(result.outcomes.flatMap(({ runId, held }) => (held && runId ? [runId] : [])));
        for (const runId of taken) it.row(runId).epoch -= 1;
        return result;
      },
    }),
  },
  {
    it: "does not say that messages have taken a run",
    noun: "holding messages",
    breaks: (it) => ({
      "inbox.deliver": async (params: DeliverMessagesParams) => {
        const { outcomes } = await it.inbox.deliver(params);
        return { outcomes: outcomes.map(({ held: _held, ...outcome }) => outcome) };
      },
    }),
  },
  {
    it: "takes no runs for messages",
    noun: "holding messages",
    breaks: (it) => ({ "inbox.deliver": (params: DeliverMessagesParams) => holding(it, params, () => undefined) }),
  },
];
