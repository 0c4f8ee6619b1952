import type { RunCommit, RunRef } from "holdfast/adapter";
import type { Call } from "./call.ts";
import type { World } from "./world.ts";

/** What a call knew of a run when it was made. */
interface Stand {
  readonly epoch: number;
  readonly commit: number;
  readonly eventCount: number;
  readonly delivered: number;
  readonly consumed: number;
}

/** The same of all runs, by run id, or by namespace and id of the newest. */
export type Footing = ReadonlyMap<string, Stand>;

export function footingIn({ contents }: World): Footing {
  const rows = new Map<string, Stand>(contents.runs.map((run) => [run.runId, run]));
  const newest = Object.entries(contents.newest).map(([key, runId]) => [key, rows.get(runId ?? "")] as const);
  return new Map([...rows, ...newest.filter((entry): entry is [string, Stand] => entry[1] !== undefined)]);
}

/**
 * The call as it would have been made on another footing: it is as far ahead of or behind the epoch of its run as it was, and so on.
 * Otherwise no call could be left out of a sequence that later ones count on.
 */
export function refooted(call: Call, then: Footing, now: Footing): Call {
  const epochOf = (key: string, epoch: number): number =>
    epoch + (now.get(key)?.epoch ?? 0) - (then.get(key)?.epoch ?? 0);
  switch (call.method) {
    case "runs.commit": {
      const commits = call.params.commits.map((commit) =>
        recommitted(commit, then.get(commit.runId), now.get(commit.runId)),
      );
      return { ...call, params: { ...call.params, commits } };
    }
    case "runs.releaseIfHeld": {
      const runs = call.params.runs.map(({ runId, epoch }) => ({ runId, epoch: epochOf(runId, epoch) }));
      return { ...call, params: { ...call.params, runs } };
    }
    case "runs.restartIfHeld": {
      const { runId, epoch, commit, eventCount } = call.params;
      const moved = (now.get(runId)?.commit ?? 0) - (then.get(runId)?.commit ?? 0);
      const more = (now.get(runId)?.eventCount ?? 0) - (then.get(runId)?.eventCount ?? 0);
      const counts = { commit: commit + moved, eventCount: eventCount + more };
      return { ...call, params: { ...call.params, epoch: epochOf(runId, epoch), ...counts } };
    }
    case "runs.pauseIfIdle": {
      const { run, epoch } = call.params;
      return { ...call, params: { ...call.params, epoch: epochOf(keyOf(run), epoch) } };
    }
    case "runs.resumeIfParked": {
      const { run, epoch } = call.params;
      return { ...call, params: { ...call.params, epoch: epochOf(keyOf(run), epoch) } };
    }
    default:
      return call;
  }
}

function keyOf(run: RunRef): string {
  return "runId" in run ? run.runId : `${run.namespace}/${run.id}`;
}

function recommitted(commit: RunCommit, then: Stand | undefined, now: Stand | undefined): RunCommit {
  if (!then || !now) return commit;
  const all = commit.consumed === then.delivered;
  // What else the commit says about its events would be about others.
  const shift = commit.tasks || commit.locks ? 0 : now.eventCount - then.eventCount;
  return {
    ...commit,
    epoch: commit.epoch + now.epoch - then.epoch,
    commit: commit.commit + now.commit - then.commit,
    consumed: all ? now.delivered : Math.max(now.consumed, Math.min(commit.consumed, now.delivered)),
    eventCount: commit.eventCount + shift,
    events: shift === 0 ? commit.events : commit.events.map((event) => ({ ...event, seq: event.seq + shift })),
  };
}
