import type { CommitRunsParams, RunCommit } from "holdfast/adapter";
import type { Sabotage } from "./saboteur.ts";

export const HELD_RUNS: readonly Sabotage[] = [
  {
    it: "writes without looking at the epoch",
    noun: "commits",
    breaks: (it) => ({
      "runs.commit": (params: CommitRunsParams) => {
        const commits = params.commits.map((commit) => ({ ...commit, epoch: it.row(commit.runId)?.epoch ?? 0 }));
        return it.runs.commit({ ...params, commits });
      },
    }),
  },
  {
    it: "takes a late copy of an old commit for the last one",
    noun: "commits",
    breaks: (it) => ({
      "runs.commit": (params: CommitRunsParams) => {
        const late = ({ runId, commit }: RunCommit) => (it.row(runId)?.commit ?? 0) > commit + 1;
        const commits = params.commits.map((commit) =>
          late(commit) ? { ...commit, commit: it.row(commit.runId).commit - 1 } : commit,
        );
        return it.runs.commit({ ...params, commits });
      },
    }),
  },
  {
    it: "answers a repeated commit with lost",
    noun: "commits",
    breaks: (it) => {
      const seen = new Set<string>();
      return {
        "runs.commit": async (params: CommitRunsParams) => {
          const result = await it.runs.commit(params);
          const outcomes = result.outcomes.map((outcome, i) => {
            const { runId, epoch, commit } = params.commits[i] as RunCommit;
            const key = `${runId} ${epoch} ${commit}`;
            if (seen.has(key)) return { outcome: "lost", held: false, delivered: 0 } as const;
            if (outcome.outcome === "written") seen.add(key);
            return outcome;
          });
          return { ...result, outcomes };
        },
      };
    },
  },
  {
    it: "merges attributes instead of replacing them",
    noun: "commits",
    breaks: (it) => ({
      "runs.commit": (params: CommitRunsParams) => {
        const commits = params.commits.map((commit) =>
          commit.attributes
            ? { ...commit, attributes: { ...it.row(commit.runId).attributes, ...commit.attributes } }
            : commit,
        );
        return it.runs.commit({ ...params, commits });
      },
    }),
  },
  {
    it: "suspends a run whose holder is behind",
    noun: "transitions",
    breaks: (it) => ({
      "runs.commit": async (params: CommitRunsParams) => {
        const suspends = params.commits.filter(({ transition }) => transition.type === "suspend");
        for (const { runId, consumed } of suspends) it.row(runId).delivered = consumed;
        return it.runs.commit(params);
      },
    }),
  },
  {
    it: "ends a run although messages wait",
    noun: "transitions",
    breaks: (it) => ({
      "runs.commit": (params: CommitRunsParams) => {
        return it.runs.commit({ ...params, commits: params.commits.map(withoutUnlessBehind) });
      },
    }),
  },
  {
    it: "keeps a run that was released while messages wait",
    noun: "transitions",
    breaks: (it) => ({
      "runs.commit": (params: CommitRunsParams) => {
        const commits = params.commits.map((commit) =>
          commit.transition.type === "release" && it.row(commit.runId).delivered > commit.consumed
            ? { ...commit, transition: { type: "hold", status: "running" } as const }
            : commit,
        );
        return it.runs.commit({ ...params, commits });
      },
    }),
  },
  {
    it: "stores no output where the output is empty",
    noun: "transitions",
    breaks: (it) => ({
      "runs.commit": async (params: CommitRunsParams) => {
        const result = await it.runs.commit(params);
        for (const row of it.rows()) if (row.output?.length === 0) row.output = null;
        return result;
      },
    }),
  },
  {
    it: "lets timers sleep beyond the deadline",
    noun: "transitions",
    breaks: (it) => ({
      "runs.commit": async (params: CommitRunsParams) => {
        const result = await it.runs.commit(params);
        for (const { runId, transition } of params.commits)
          if (transition.type === "suspend" && it.row(runId).heldBy === null)
            it.row(runId).availableAt = transition.availableAt;
        return result;
      },
    }),
  },
  {
    it: "puts unconsumed messages before the carried ones",
    noun: "continuations",
    breaks: (it) => ({
      "runs.commit": async (params: CommitRunsParams) => {
        const result = await it.runs.commit(params);
        for (const { transition } of params.commits) {
          if (transition.type !== "continue") continue;
          const inbox = it.state.inbox.get(transition.next.runId) ?? [];
          const turned = [...inbox.slice(transition.carried.length), ...inbox.slice(0, transition.carried.length)];
          it.state.inbox.set(
            transition.next.runId,
            turned.map((message, i) => ({ ...message, number: i + 1 })),
          );
        }
        return result;
      },
    }),
  },
  {
    it: "forgets message ids when a run continues",
    noun: "continuations",
    breaks: (it) => ({
      "runs.commit": async (params: CommitRunsParams) => {
        const result = await it.runs.commit(params);
        for (const { transition } of params.commits) if (transition.type === "continue") it.state.messageIds.clear();
        return result;
      },
    }),
  },
  {
    it: "does not tell the holder of a run that has ended that others are to hear of it",
    noun: "what others do to held runs",
    breaks: (it) => ({
      "runs.commit": async (params: CommitRunsParams) => {
        const result = await it.runs.commit(params);
        return { ...result, outcomes: result.outcomes.map(({ owes: _, ...outcome }) => outcome) };
      },
    }),
  },
];

function withoutUnlessBehind(commit: RunCommit): RunCommit {
  if (commit.transition.type !== "end") return commit;
  return { ...commit, transition: { ...commit.transition, unlessBehind: false } };
}
