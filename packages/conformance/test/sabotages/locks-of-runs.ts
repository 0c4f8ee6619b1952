import { isClosed } from "holdfast/adapter";
import type { Sabotage, Saboteur } from "./saboteur.ts";

/** Locks that are granted to too many, in the wrong order, or never. */
export const LOCKS_OF_RUNS: readonly Sabotage[] = [
  {
    it: "keeps the locks of a run that has ended in a commit",
    noun: "ends of runs with locks",
    breaks: (it) => ({
      "runs.commit": async (params) => {
        const result = await it.runs.commit(params);
        for (const { runId } of params.commits) keepLocks(it, runId);
        return result;
      },
    }),
  },
  {
    it: "keeps the locks of a run that was terminated",
    noun: "ends of runs with locks",
    breaks: (it) => ({
      "runs.terminate": async (params) => {
        const outcomes = await it.runs.terminate(params);
        for (const { runId } of outcomes) if (runId !== null) keepLocks(it, runId);
        return outcomes;
      },
    }),
  },
  {
    it: "grants one more than the limit",
    noun: "locks",
    breaks: (it) => ({
      "locks.pass": async (params) => {
        await it.locks.pass(params);
        for (const lock of it.state.locks.values())
          if (lock.fence === null && !lock.givenBack && params.asks.some(({ runId }) => runId === lock.runId)) {
            it.state.newestFence += 1;
            lock.fence = it.state.newestFence;
            break;
          }
        return it.locks.pass(params);
      },
    }),
  },
  {
    it: "grants a lock to the newest request",
    noun: "locks",
    breaks: (it) => ({
      "locks.pass": async (params) => {
        reverse(it);
        const result = await it.locks.pass(params);
        reverse(it);
        return result;
      },
    }),
  },
  {
    it: "tells nobody of a grant",
    noun: "locks",
    breaks: (it) => ({
      "locks.pass": async (params) => {
        const before = new Map(it.rows().map(({ runId, delivered }) => [runId, delivered]));
        const result = await it.locks.pass(params);
        for (const row of it.rows()) {
          const delivered = before.get(row.runId) as number;
          if (row.delivered === delivered) continue;
          row.delivered = delivered;
          const messages = (it.state.inbox.get(row.runId) ?? []).filter(({ number }) => number <= delivered);
          it.state.inbox.set(row.runId, messages);
        }
        return result;
      },
    }),
  },
  {
    it: "takes any worker that asks for the holder of the run",
    noun: "locks",
    breaks: (it) => ({
      "locks.pass": async (params) => {
        const asks = params.asks.map((ask) => ({ ...ask, epoch: it.state.runs.get(ask.runId)?.epoch ?? ask.epoch }));
        return it.locks.pass({ ...params, asks });
      },
    }),
  },
  {
    it: "forgets that a holder was told that it waits",
    noun: "locks",
    rare: true,
    breaks: (it) => ({
      "locks.pass": async (params) => {
        for (const lock of it.state.locks.values()) lock.waitsSince = null;
        return it.locks.pass(params);
      },
    }),
  },
  {
    it: "uses a fence again",
    noun: "locks",
    rare: true,
    breaks: (it) => ({
      "locks.pass": async (params) => {
        it.state.newestFence = 0;
        return it.locks.pass(params);
      },
    }),
  },
  {
    it: "owes nothing when a lock is given back",
    noun: "locks",
    breaks: (it) => ({
      "runs.commit": async (params) => {
        const { outcomes, ...rest } = await it.runs.commit(params);
        for (const { runId } of params.commits) it.forgive(runId, "lock");
        return { ...rest, outcomes: outcomes.map(({ owes: _owes, ...one }) => one) };
      },
    }),
  },
  {
    it: "gives a lock back by a commit that is lost",
    noun: "locks",
    breaks: (it) => ({
      "runs.commit": async (params) => {
        const result = await it.runs.commit(params);
        for (const [i, { runId, unlocks = [] }] of params.commits.entries())
          if (result.outcomes[i]?.outcome === "lost")
            for (const lock of it.state.locks.values())
              if (lock.runId === runId && unlocks.includes(lock.seq)) lock.givenBack = true;
        return result;
      },
    }),
  },
  {
    it: "forgets who is next if several ask at once",
    noun: "races for locks",
    breaks: (it) => {
      let passing = 0;
      return {
        "locks.pass": async (params) => {
          passing += 1;
          const crowded = passing > 1;
          const result = await it.locks.pass(params);
          passing -= 1;
          if (crowded)
            for (const lock of it.state.locks.values())
              if (params.asks.some(({ runId }) => runId === lock.runId)) lock.fence ??= it.state.newestFence;
          return result;
        },
      };
    },
  },
];

/** The run has ended, and holds its locks all the same. */
function keepLocks(it: Saboteur, runId: string): void {
  if (!isClosed(it.state.runs.get(runId)?.status ?? "running")) return;
  for (const lock of it.state.locks.values()) if (lock.runId === runId) lock.givenBack = false;
}

function reverse(it: Saboteur): void {
  const locks = [...it.state.locks].reverse();
  it.state.locks.clear();
  for (const [lockNo, lock] of locks) it.state.locks.set(lockNo, lock);
}
