import type { ReadPayloadsParams, ReplacePayloadsParams } from "holdfast/adapter";
import type { Sabotage, Saboteur } from "./saboteur.ts";

export const STORED_VALUES: readonly Sabotage[] = [
  {
    it: "replaces values that have changed",
    noun: "stored values",
    breaks: (it) => ({
      "payloads.replaceIfUnchanged": async ({ payloads }: ReplacePayloadsParams) => {
        const asStored = payloads.map(async (one) => {
          const { namespace, runId, part, number } = one;
          const asked = { runs: [{ namespace, runId, after: null }], limitPerRun: 1_000, bytesPerRun: 1_000_000 };
          const [found = []] = await it.payloads.read(asked);
          const stored = found.find((other) => other.part === part && other.number === number);
          return { ...one, from: stored?.payload ?? one.from };
        });
        return it.payloads.replaceIfUnchanged({ payloads: await Promise.all(asStored) });
      },
    }),
  },
  {
    it: "replaces messages that a holder has read and not consumed",
    noun: "stored values",
    breaks: (it) => ({
      "payloads.replaceIfUnchanged": (params: ReplacePayloadsParams) =>
        pretending(it, params, (row) => {
          row.heldBy = null;
        }),
    }),
  },
  {
    it: "replaces what a run still owes to others",
    noun: "stored values",
    breaks: (it) => ({
      "payloads.replaceIfUnchanged": async (params: ReplacePayloadsParams) => {
        const owed = new Map(it.state.debtsOf);
        it.state.debtsOf.clear();
        const result = await it.payloads.replaceIfUnchanged(params);
        for (const [runId, debts] of owed) it.state.debtsOf.set(runId, debts);
        return result;
      },
    }),
  },
  {
    it: "takes the commit number of a run on whose values it replaces",
    noun: "stored values",
    breaks: (it) => ({
      "payloads.replaceIfUnchanged": async (params: ReplacePayloadsParams) => {
        const result = await it.payloads.replaceIfUnchanged(params);
        for (const { runId } of params.payloads) if (it.state.runs.has(runId)) it.row(runId).commit += 1;
        return result;
      },
    }),
  },
  {
    it: "says that it has replaced values, and has not",
    noun: "stored values",
    breaks: () => ({
      "payloads.replaceIfUnchanged": async ({ payloads }: ReplacePayloadsParams) => {
        return { outcomes: payloads.map(() => "replaced" as const) };
      },
    }),
  },
  {
    it: "passes over the details of tasks",
    noun: "stored values",
    breaks: (it) => ({
      "payloads.read": async (params: ReadPayloadsParams) =>
        (await it.payloads.read(params)).map((list) => list.filter(({ part }) => part !== "details")),
    }),
  },
  {
    it: "takes the errors of failed tasks for values",
    noun: "stored values",
    breaks: (it) => ({
      "payloads.read": async (params: ReadPayloadsParams) => {
        const lists = await it.payloads.read(params);
        return lists.map((list, i) => {
          const inbox = it.state.inbox.get(params.runs[i]?.runId ?? "") ?? [];
          const errors = inbox.filter(({ kind }) => kind === "task_failed");
          return [...list, ...errors.map(({ number, payload }) => ({ part: "message" as const, number, payload }))];
        });
      },
    }),
  },
  {
    it: "shows the values of another namespace",
    noun: "stored values",
    breaks: (it) => ({
      "payloads.read": ({ runs, ...limits }: ReadPayloadsParams) =>
        it.payloads.read({ ...limits, runs: runs.map((run) => ({ ...run, namespace: "default" })) }),
    }),
  },
];

/** Makes the call while the rows say something else. */
async function pretending(
  it: Saboteur,
  params: ReplacePayloadsParams,
  change: (row: ReturnType<Saboteur["row"]>) => void,
) {
  const rows = params.payloads.flatMap(({ runId }) => (it.state.runs.has(runId) ? [it.row(runId)] : []));
  const before = rows.map((row) => ({ ...row }));
  rows.forEach(change);
  const result = await it.payloads.replaceIfUnchanged(params);
  rows.forEach((row, i) => {
    row.heldBy = before[i]?.heldBy ?? null;
  });
  return result;
}
