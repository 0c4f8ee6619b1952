import type { CommitRunsParams, RunCommit } from "holdfast/adapter";
import { type Sabotage, Saboteur } from "./saboteur.ts";

export const HELD_RUNS: readonly Sabotage[] = [
  {
    it: "writes without looking at the epoch",
    noun: "commits",
    Store: class extends Saboteur {
      override commitRuns(params: CommitRunsParams) {
        const commits = params.commits.map((commit) => ({ ...commit, epoch: this.row(commit.runId)?.epoch ?? 0 }));
        return super.commitRuns({ ...params, commits });
      }
    },
  },
  {
    it: "takes a late copy of an old commit for the last one",
    noun: "commits",
    Store: class extends Saboteur {
      override commitRuns(params: CommitRunsParams) {
        const late = ({ runId, commit }: RunCommit) => (this.row(runId)?.commit ?? 0) > commit + 1;
        const commits = params.commits.map((commit) =>
          late(commit) ? { ...commit, commit: this.row(commit.runId).commit - 1 } : commit,
        );
        return super.commitRuns({ ...params, commits });
      }
    },
  },
  {
    it: "answers a repeated commit with lost",
    noun: "commits",
    Store: class extends Saboteur {
      readonly #seen = new Set<string>();

      override async commitRuns(params: CommitRunsParams) {
        const result = await super.commitRuns(params);
        const outcomes = result.outcomes.map((outcome, i) => {
          const { runId, epoch, commit } = params.commits[i] as RunCommit;
          const key = `${runId} ${epoch} ${commit}`;
          if (this.#seen.has(key)) return { outcome: "lost", held: false, delivered: 0 } as const;
          if (outcome.outcome === "written") this.#seen.add(key);
          return outcome;
        });
        return { ...result, outcomes };
      }
    },
  },
  {
    it: "merges attributes instead of replacing them",
    noun: "commits",
    Store: class extends Saboteur {
      override commitRuns(params: CommitRunsParams) {
        const commits = params.commits.map((commit) =>
          commit.attributes
            ? { ...commit, attributes: { ...this.row(commit.runId).attributes, ...commit.attributes } }
            : commit,
        );
        return super.commitRuns({ ...params, commits });
      }
    },
  },
  {
    it: "suspends a run whose holder is behind",
    noun: "transitions",
    Store: class extends Saboteur {
      override async commitRuns(params: CommitRunsParams) {
        const suspends = params.commits.filter(({ transition }) => transition.type === "suspend");
        for (const { runId, consumed } of suspends) this.row(runId).delivered = consumed;
        return super.commitRuns(params);
      }
    },
  },
  {
    it: "ends a run although messages wait",
    noun: "transitions",
    Store: class extends Saboteur {
      override commitRuns(params: CommitRunsParams) {
        return super.commitRuns({ ...params, commits: params.commits.map(withoutUnlessBehind) });
      }
    },
  },
  {
    it: "keeps a run that was released while messages wait",
    noun: "transitions",
    Store: class extends Saboteur {
      override commitRuns(params: CommitRunsParams) {
        const commits = params.commits.map((commit) =>
          commit.transition.type === "release" && this.row(commit.runId).delivered > commit.consumed
            ? { ...commit, transition: { type: "hold", status: "running" } as const }
            : commit,
        );
        return super.commitRuns({ ...params, commits });
      }
    },
  },
  {
    it: "stores no output where the output is empty",
    noun: "transitions",
    Store: class extends Saboteur {
      override async commitRuns(params: CommitRunsParams) {
        const result = await super.commitRuns(params);
        for (const row of this.rows()) if (row.output?.length === 0) row.output = null;
        return result;
      }
    },
  },
  {
    it: "lets timers sleep beyond the deadline",
    noun: "transitions",
    Store: class extends Saboteur {
      override async commitRuns(params: CommitRunsParams) {
        const result = await super.commitRuns(params);
        for (const { runId, transition } of params.commits)
          if (transition.type === "suspend" && this.row(runId).heldBy === null)
            this.row(runId).availableAt = transition.availableAt;
        return result;
      }
    },
  },
  {
    it: "puts unconsumed messages before the carried ones",
    noun: "continuations",
    Store: class extends Saboteur {
      override async commitRuns(params: CommitRunsParams) {
        const result = await super.commitRuns(params);
        for (const { transition } of params.commits) {
          if (transition.type !== "continue") continue;
          const inbox = this.state.inbox.get(transition.next.runId) ?? [];
          const turned = [...inbox.slice(transition.carried.length), ...inbox.slice(0, transition.carried.length)];
          this.state.inbox.set(
            transition.next.runId,
            turned.map((message, i) => ({ ...message, number: i + 1 })),
          );
        }
        return result;
      }
    },
  },
  {
    it: "forgets message ids when a run continues",
    noun: "continuations",
    Store: class extends Saboteur {
      override async commitRuns(params: CommitRunsParams) {
        const result = await super.commitRuns(params);
        for (const { transition } of params.commits) if (transition.type === "continue") this.state.messageIds.clear();
        return result;
      }
    },
  },
];

function withoutUnlessBehind(commit: RunCommit): RunCommit {
  if (commit.transition.type !== "end") return commit;
  return { ...commit, transition: { ...commit.transition, unlessBehind: false } };
}
