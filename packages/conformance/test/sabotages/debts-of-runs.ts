import { type Debt, isClosed } from "holdfast/adapter";
import type { Sabotage, Saboteur } from "./saboteur.ts";

/** Debts that are forgotten, doubled, or never go away. */
export const DEBTS_OF_RUNS: readonly Sabotage[] = [
  {
    it: "loses the result of a child",
    noun: "debts",
    breaks: (it) => ({
      "runs.commit": async (params) => {
        const result = await it.runs.commit(params);
        for (const { runId } of params.commits) it.forgive(runId, "result");
        const outcomes = result.outcomes.map(({ owes: _owes, ...one }, i) => {
          return it.state.debtsOf.has(params.commits[i]?.runId ?? "") ? { ...one, owes: true as const } : one;
        });
        return { ...result, outcomes };
      },
    }),
  },
  {
    it: "owes a result twice if the commit is repeated",
    noun: "debts",
    rare: true,
    breaks: (it) => ({
      "runs.commit": async (params) => {
        const before = new Map(it.rows().map(({ runId, commit }) => [runId, commit]));
        const result = await it.runs.commit(params);
        for (const [i, { runId, commit }] of params.commits.entries()) {
          const again = result.outcomes[i]?.outcome === "written" && before.get(runId) === commit + 1;
          const { status, lineage } = it.state.runs.get(runId) ?? {};
          if (again && status && isClosed(status) && status !== "continued" && lineage) it.charge(runId, "result");
        }
        return result;
      },
    }),
  },
  {
    it: "owes nothing when a run is terminated",
    noun: "debts",
    breaks: (it) => ({
      "runs.terminate": async (params) => {
        const outcomes = await it.runs.terminate(params);
        return outcomes.map(({ owes, ...one }) => {
          if (one.outcome !== "terminated") return owes ? { ...one, owes } : one;
          it.forgive(one.runId as string);
          return one;
        });
      },
    }),
  },
  {
    it: "owes nothing when a run is replaced",
    noun: "debts",
    breaks: (it) => ({
      "runs.start": async (params) => {
        const { outcomes, now } = await it.runs.start(params);
        const forgotten = outcomes.map((one) => {
          if (one.run === null || !one.owes) return one;
          it.forgive(one.owes.runId);
          const { owes: _owes, ...rest } = one;
          return rest;
        });
        return { outcomes: forgotten, now };
      },
    }),
  },
  {
    it: "owes nothing when a sweep ends a run",
    noun: "debts",
    rare: true,
    breaks: (it) => ({
      "workers.sweep": async (params) => {
        const open = it.rows().filter(({ status }) => !isClosed(status));
        const { owes, ...result } = await it.workers.sweep(params);
        for (const { runId } of open) if (isClosed(it.row(runId).status)) it.forgive(runId);
        return owes && it.state.debts.size > 0 ? { ...result, owes } : result;
      },
    }),
  },
  {
    it: "never reports a debt that a dead process has left",
    noun: "debts",
    breaks: (it) => ({
      "workers.sweep": async (params) => {
        const { owes: _owes, ...result } = await it.workers.sweep(params);
        return result;
      },
    }),
  },
  {
    it: "owes the result that a retried run once had",
    noun: "debts",
    breaks: (it) => ({
      "runs.reopenIfFailed": async (params) => {
        const owed = [...it.state.debts.values()].filter(({ kind }) => kind === "result");
        const result = await it.runs.reopenIfFailed(params);
        for (const { runId, debtNo } of owed) if (!it.state.debts.has(debtNo)) it.charge(runId, "result");
        return result;
      },
    }),
  },
  {
    it: "purges runs that owe something",
    noun: "debts",
    breaks: (it) => ({
      "runs.purge": async (params) => {
        const owed = [...it.state.debtsOf];
        it.state.debtsOf.clear();
        const result = await it.runs.purge(params);
        for (const [runId, numbers] of owed) {
          it.state.debtsOf.set(runId, numbers);
          if (!it.state.runs.has(runId)) it.forgive(runId);
        }
        return result;
      },
    }),
  },
  {
    it: "takes payment for the debt of another run",
    noun: "debts",
    breaks: (it) => ({
      "debts.pay": ({ debts }) =>
        it.debts.pay({ debts: debts.map((debt) => ({ ...debt, ...it.state.debts.get(debt.debtNo) })) }),
    }),
  },
  {
    it: "closes abandoned children",
    noun: "closing",
    breaks: (it) => ({
      "debts.read": async (params) => (await it.debts.read(params)).map((debt) => withAbandoned(it, debt)),
    }),
  },
  {
    it: "does not close children that were given up",
    noun: "closing",
    breaks: (it) => ({
      "runs.commit": ({ commits }) => it.runs.commit({ commits: commits.map(({ closes: _closes, ...one }) => one) }),
    }),
  },
  {
    it: "does not close the children of a run that continues",
    noun: "closing",
    breaks: (it) => ({
      "runs.commit": async (params) => {
        const result = await it.runs.commit(params);
        for (const { runId, transition } of params.commits)
          if (transition.type === "continue") it.forgive(runId, "close");
        return result;
      },
    }),
  },
  {
    it: "deletes a close with the first children that were closed",
    noun: "closing",
    rare: true,
    breaks: (it) => ({
      "debts.pay": async (params) => {
        const result = await it.debts.pay(params);
        for (const { runId, children = [] } of params.debts) if (children.length > 0) it.forgive(runId, "close");
        return result;
      },
    }),
  },
  {
    it: "does not hand watchers on",
    noun: "watches",
    breaks: (it) => ({
      "runs.commit": async (params) => {
        const result = await it.runs.commit(params);
        for (const { runId } of params.commits) {
          const row = it.state.runs.get(runId);
          if (row?.status === "continued") it.state.watches.delete(row.firstRunId);
        }
        return result;
      },
    }),
  },
  {
    it: "forgets watchers that were not told",
    noun: "watches",
    breaks: (it) => ({
      "debts.pay": async (params) => {
        for (const { runId } of params.debts) it.state.watches.delete(it.state.runs.get(runId)?.firstRunId ?? "");
        return it.debts.pay(params);
      },
    }),
  },
  {
    it: "tells a watcher once for every time it has asked",
    noun: "watches",
    breaks: (it) => ({
      "runs.watch": async (params) => {
        const outcomes = await it.runs.watch(params);
        for (const { run, by } of params.watches) {
          const row = "runId" in run ? it.state.runs.get(run.runId) : undefined;
          const known = row && it.state.watches.get(row.firstRunId);
          if (known && params.watches.length === 1) known.push(by);
        }
        return outcomes;
      },
    }),
  },
  {
    it: "names a child to close by the run that was started, although that has continued",
    noun: "closing",
    rare: true,
    breaks: (it) => ({
      "debts.read": async (params) => (await it.debts.read(params)).map(withFirstRuns),
    }),
  },
  {
    it: "tells the sender of an update nothing if its run ends without an answer",
    noun: "reply debts",
    rare: true,
    breaks: (it) => ({
      "debts.read": async (params) => (await it.debts.read(params)).map(withAnswersOnly),
    }),
  },
];

function withAbandoned(it: Saboteur, debt: Debt): Debt {
  if (debt.kind !== "close") return debt;
  const children = [...(it.state.children.get(debt.runId)?.values() ?? [])];
  const abandoned = children.filter(({ open, policy }) => open && policy === "abandon");
  const more = abandoned.map(({ namespace, runId }) => ({
    namespace,
    runId,
    openRunId: runId,
    policy: "cancel" as const,
  }));
  return { ...debt, children: [...debt.children, ...more] };
}

function withFirstRuns(debt: Debt): Debt {
  if (debt.kind !== "close") return debt;
  return { ...debt, children: debt.children.map((child) => ({ ...child, openRunId: child.runId })) };
}

function withAnswersOnly(debt: Debt): Debt {
  if (debt.kind !== "reply") return debt;
  return { ...debt, replies: debt.replies.filter(({ stage }) => stage === "answered") };
}
