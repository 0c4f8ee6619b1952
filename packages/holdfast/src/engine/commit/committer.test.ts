import { expect, test } from "vitest";
import type { StoreTime } from "../../calls/store-time.ts";
import type { RunCommit, Store } from "../../ports/store.ts";
import { SeededSource } from "../../testing/seeded-source.ts";
import { VirtualClock } from "../../testing/virtual-clock.ts";
import { type Committable, Committer } from "./committer.ts";

function committer(written: string[]) {
  const clock = new VirtualClock();
  const commit = async ({ commits }: { readonly commits: readonly RunCommit[] }) => {
    written.push(...commits.map(({ runId }) => runId));
    return { outcomes: commits.map(() => ({ outcome: "written", held: true, delivered: 0 })), messages: [], now: 0 };
  };
  const store = { runs: { commit } } as unknown as Store;
  const storeTime = { observe() {} } as unknown as StoreTime;
  const sizes = { flushesInFlightMax: 2, runsPerFlushMax: 10, eventsPerFlushMax: 10 };
  return {
    clock,
    committer: new Committer({ clock, random: new SeededSource(1), store, storeTime, ...sizes, telemetry: undefined }),
  };
}

function target(runId: string, log: string[], fails?: "takeCommit" | "committed"): Committable {
  const commit = { runId, events: [] } as unknown as RunCommit;
  const fail = (where: string): void => {
    if (fails === where) throw new TypeError(`${runId} is broken`);
  };
  return {
    wanted: false,
    takeCommit: () => {
      fail("takeCommit");
      return commit;
    },
    committed: () => {
      fail("committed");
      log.push(`${runId} committed`);
    },
    refused: (error) => void log.push(`${runId}: ${(error as { code?: string }).code}`),
  };
}

test.each(["takeCommit", "committed"] as const)(
  "a run whose %s fails is refused, and the others are written",
  async (fails) => {
    const written: string[] = [];
    const log: string[] = [];
    const { committer: one, clock } = committer(written);
    for (const [runId, how] of [["a"], ["b", fails], ["c"]] as const) one.request(target(runId, log, how));
    await clock.settle();
    expect(written).toEqual(fails === "committed" ? ["a", "b", "c"] : ["a", "c"]);
    expect(log.sort()).toEqual(["a committed", "b: invariant_broken", "c committed"]);
    expect(one.idle).toBe(true);
  },
);
