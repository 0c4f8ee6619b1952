import type { CommitOutcome, CommitRunsParams, RunCommit, StoreHooks } from "holdfast/adapter";
import type { Sabotage, Saboteur } from "./saboteur.ts";

const isAppend = ({ transition }: RunCommit): boolean => transition.type === "append";

export const APPENDED_RUNS: readonly Sabotage[] = [
  {
    it: "appends without looking at the epoch",
    noun: "appends",
    breaks: (it) => ({
      "runs.commit": (params: CommitRunsParams) => {
        const commits = params.commits.map((commit) =>
          isAppend(commit) ? { ...commit, epoch: it.row(commit.runId)?.epoch ?? 0 } : commit,
        );
        return it.runs.commit({ ...params, commits });
      },
    }),
  },
  {
    it: "appends for a worker that does not hold the run",
    noun: "appends",
    breaks: (it) => ({
      "runs.commit": (params: CommitRunsParams) => {
        const commits = params.commits.map((commit) =>
          isAppend(commit) ? { ...commit, workerId: it.row(commit.runId)?.heldBy ?? commit.workerId } : commit,
        );
        return it.runs.commit({ ...params, commits });
      },
    }),
  },
  {
    it: "counts an append as a commit that has changed the row",
    noun: "appends",
    breaks: (it) => ({
      "runs.commit": (params: CommitRunsParams) =>
        answering(it, params, (commit, outcome) => {
          if (isAppend(commit) && outcome.outcome === "written") it.row(commit.runId).commit += 1;
          return outcome;
        }),
    }),
  },
  {
    it: "believes the holder of a run that parks how many events it has",
    noun: "appends",
    breaks: (it) => ({
      "runs.commit": (params: CommitRunsParams) =>
        answering(it, params, (commit, outcome) => {
          const { transition, events, eventCount, runId } = commit;
          if (transition.type === "park" && events.length === 0 && outcome.outcome === "written")
            it.row(runId).eventCount = eventCount + 1;
          return outcome;
        }),
    }),
  },
  {
    it: "answers a repeated append with lost",
    noun: "appends",
    breaks: (it) => {
      const seen = new Set<string>();
      return {
        "runs.commit": (params: CommitRunsParams) =>
          answering(it, params, (commit, outcome) => {
            const key = `${commit.runId} ${commit.epoch} ${commit.events[0]?.seq}`;
            if (!isAppend(commit)) return outcome;
            if (seen.has(key)) return { outcome: "lost", held: false, delivered: 0 };
            if (outcome.outcome === "written") seen.add(key);
            return outcome;
          }),
      };
    },
  },
  {
    it: "says of a held run only how many events its row knows of",
    noun: "appends",
    breaks: (it) => {
      const known = new Map<string, number>();
      return {
        "runs.commit": (params: CommitRunsParams) =>
          answering(it, params, (commit, outcome) => {
            if (!isAppend(commit) && outcome.outcome === "written") known.set(commit.runId, commit.eventCount);
            return outcome;
          }),
        "runs.read": async (params) => {
          const runs = await it.runs.read(params);
          return runs.map((run) => {
            const eventCount = run && run.heldBy !== null ? known.get(run.runId) : undefined;
            return run && eventCount !== undefined ? { ...run, eventCount } : run;
          });
        },
      };
    },
  },
  {
    it: "writes an append that was on its way when the run was released",
    noun: "appends in flight",
    breaks: (it) => late(it, "runs.releaseIfHeld"),
  },
  {
    it: "writes an append that was on its way when its worker stopped",
    noun: "appends in flight",
    breaks: (it) => late(it, "workers.stop"),
  },
  {
    it: "writes an append that was on its way when a sweep reclaimed the run",
    noun: "appends in flight",
    breaks: (it) => late(it, "workers.sweep"),
  },
  {
    it: "writes an append that was on its way when the run was restarted",
    noun: "appends in flight",
    breaks: (it) => late(it, "runs.restartIfHeld"),
  },
  {
    it: "writes an append that was on its way when the run was terminated",
    noun: "appends in flight",
    breaks: (it) => late(it, "runs.terminate"),
  },
  {
    it: "writes an append that was on its way when the run was replaced",
    noun: "appends in flight",
    breaks: (it) => late(it, "runs.start"),
  },
];

type Answer = (commit: RunCommit, outcome: CommitOutcome) => CommitOutcome;

async function answering(it: Saboteur, params: CommitRunsParams, answer: Answer) {
  const result = await it.runs.commit(params);
  const outcomes = result.outcomes.map((outcome, i) => answer(params.commits[i] as RunCommit, outcome));
  return { ...result, outcomes };
}

type Taking =
  | "runs.releaseIfHeld"
  | "workers.stop"
  | "workers.sweep"
  | "runs.restartIfHeld"
  | "runs.terminate"
  | "runs.start";

/** Whoever takes a run away with that call does not wait for what the holder has on its way. */
function late(it: Saboteur, taking: Taking): StoreHooks {
  const taken = new Set<string>();
  const around = async <T>(call: () => Promise<T>): Promise<T> => {
    const held = it.rows().filter(({ heldBy }) => heldBy !== null);
    const answer = await call();
    for (const { runId } of held) if (it.row(runId).heldBy === null) taken.add(runId);
    return answer;
  };
  const takings: { readonly [M in Taking]: StoreHooks } = {
    "runs.releaseIfHeld": { "runs.releaseIfHeld": (params) => around(() => it.runs.releaseIfHeld(params)) },
    "workers.stop": { "workers.stop": (params) => around(() => it.workers.stop(params)) },
    "workers.sweep": { "workers.sweep": (params) => around(() => it.workers.sweep(params)) },
    "runs.restartIfHeld": { "runs.restartIfHeld": (params) => around(() => it.runs.restartIfHeld(params)) },
    "runs.terminate": { "runs.terminate": (params) => around(() => it.runs.terminate(params)) },
    "runs.start": { "runs.start": (params) => around(() => it.runs.start(params)) },
  };
  return {
    ...takings[taking],
    "runs.commit": (params: CommitRunsParams) =>
      answering(it, params, (commit, outcome) => {
        if (!isAppend(commit) || outcome.outcome !== "lost" || !taken.has(commit.runId)) return outcome;
        const row = it.row(commit.runId);
        const events = it.state.events.get(commit.runId) ?? [];
        for (const event of commit.events) events.push({ ...event, seq: ++row.eventCount });
        it.state.events.set(commit.runId, events);
        return { outcome: "written", held: true, delivered: row.delivered };
      }),
  };
}
