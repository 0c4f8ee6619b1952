import { type Hint, isResult, type RunRef, type TakeAsksResult } from "holdfast/adapter";
import { startingAgain } from "./children-of-runs.ts";
import type { Sabotage, Saboteur } from "./saboteur.ts";

/** What runs and callers send each other, done wrong. */
export const MESSAGES_BETWEEN_RUNS: readonly Sabotage[] = [
  {
    it: "sends the end of a child to the successor of its parent",
    noun: "ends of others",
    breaks: (it) => ({
      "inbox.deliver": (params) => {
        const messages = params.messages.map((one) => (isResult(one.kind) ? { ...one, to: lastOf(it, one.to) } : one));
        return it.inbox.deliver({ ...params, messages });
      },
    }),
  },
  {
    it: "remembers the ends of children like other messages",
    noun: "ends of others",
    breaks: (it) => ({
      "inbox.deliver": async (params) => {
        const result = await it.inbox.deliver(params);
        for (const { kind, messageId, to } of params.messages) {
          const row = "runId" in to && isResult(kind) ? it.state.runs.get(to.runId) : undefined;
          if (!row) continue;
          it.state.messageIds.set(
            row.firstRunId,
            (it.state.messageIds.get(row.firstRunId) ?? new Set()).add(messageId),
          );
        }
        return result;
      },
    }),
  },
  {
    it: "delivers messages from any namespace",
    noun: "permissions",
    breaks: (it) => ({
      "inbox.deliver": (params) =>
        it.inbox.deliver({ ...params, messages: params.messages.map(({ from: _from, ...message }) => message) }),
    }),
  },
  {
    it: "lets everybody watch",
    noun: "permissions",
    breaks: (it) => ({
      "runs.watch": ({ watches }) => {
        const trusted = watches.map(({ run, by }) => ({ run, by: { ...by, namespace: run.namespace } }));
        return it.runs.watch({ watches: trusted });
      },
    }),
  },
  {
    it: "lets everybody start children",
    noun: "permissions",
    breaks: (it) => startingAgain(it, "not_allowed"),
  },
  {
    it: "takes a permission for one in both directions",
    noun: "permissions",
    breaks: (it) => ({
      "namespaces.allow": async ({ namespace, other }) => {
        await it.namespaces.allow({ namespace: other, other: namespace });
        await it.namespaces.allow({ namespace, other });
      },
    }),
  },
  {
    it: "starts or ends runs for a message that has come before",
    noun: "start messages",
    breaks: (it) => ({
      "runs.start": (params) => {
        for (const { messages: [first] = [] } of params.starts)
          if (first) for (const ids of it.state.messageIds.values()) ids.delete(first.messageId);
        return it.runs.start(params);
      },
    }),
  },
  {
    it: "starts runs without their messages",
    noun: "start messages",
    breaks: (it) => ({
      "runs.start": (params) =>
        it.runs.start({ ...params, starts: params.starts.map(({ messages: _messages, ...start }) => start) }),
    }),
  },
  {
    it: "changes an answer that was given",
    noun: "replies",
    breaks: (it) => ({
      "runs.commit": (params) => {
        for (const { runId, replies = [] } of params.commits)
          for (const { number, seq, error } of replies) {
            const update = (seq !== undefined || error !== undefined) && updateOf(it, runId, number);
            if (update) update.reply = undefined;
          }
        return it.runs.commit(params);
      },
    }),
  },
  {
    it: "takes an update twice",
    noun: "replies",
    breaks: (it) => ({
      "inbox.deliver": (params) => {
        for (const { kind, messageId } of params.messages)
          if (kind === "update") for (const ids of it.state.messageIds.values()) ids.delete(messageId);
        return it.inbox.deliver(params);
      },
    }),
  },
  {
    it: "looks for an update only in the run that is named",
    noun: "replies",
    breaks: (it) => ({
      "inbox.replies": async (params) => {
        const found = await it.inbox.replies(params);
        const unknown = { runId: null, status: null, stage: null, event: null, error: null };
        const named = ({ namespace, ...ref }: RunRef): string | undefined =>
          "runId" in ref ? ref.runId : it.state.byId.get(`${namespace}\n${ref.id}`)?.at(-1);
        return found.map((one, i) => (one.runId === named(params.updates[i]?.run as RunRef) ? one : unknown));
      },
    }),
  },
  {
    it: "lets a later answer to a question count",
    noun: "asks",
    rare: true,
    breaks: (it) => ({
      "asks.answer": (params) => {
        for (const { askId } of params.answers) {
          const ask = it.state.asks.get(askId);
          if (ask) ask.answer = null;
        }
        return it.asks.answer(params);
      },
    }),
  },
  {
    it: "gives a question to every worker that asks",
    noun: "asks",
    rare: true,
    breaks: (it) => ({
      "asks.take": async (params) => {
        const result = await it.asks.take(params);
        for (const { askId } of result.asks) Object.assign(it.state.asks.get(askId) ?? {}, { openAt: 0 });
        return result;
      },
    }),
  },
  {
    it: "lets two workers that overlap take the same question",
    noun: "conversation races",
    breaks: (it) => {
      let inFlight = 0;
      return {
        "asks.take": async (params): Promise<TakeAsksResult> => {
          inFlight += 1;
          const [open] = [...it.state.asks.values()].filter(({ openAt, answer }) => openAt >= 0 && answer === null);
          const result = await it.asks.take(params);
          inFlight -= 1;
          const isNew = !result.asks.some(({ askId }) => askId === open?.askId);
          return inFlight > 0 && open && isNew ? { ...result, asks: [...result.asks, open] } : result;
        },
      };
    },
  },
  {
    it: "announces no answers",
    noun: "conversation hints",
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

/** A list of hints that takes none about answers. */
function deafList(): Hint[] {
  const list: Hint[] = [];
  list.push = (...more) =>
    Array.prototype.push.apply(
      list,
      more.filter(({ type }) => type !== "replied" && type !== "answered"),
    );
  return list;
}

function lastOf(it: Saboteur, to: RunRef): RunRef {
  const row = "runId" in to ? it.state.runs.get(to.runId) : undefined;
  return row?.continuedAs ? lastOf(it, { namespace: to.namespace, runId: row.continuedAs }) : to;
}

function updateOf(it: Saboteur, runId: string, number: number) {
  const row = it.state.runs.get(runId);
  const updates = [...(it.state.updates.get(row?.firstRunId ?? "")?.values() ?? [])];
  return updates.find((update) => update.runId === runId && update.number === number);
}
