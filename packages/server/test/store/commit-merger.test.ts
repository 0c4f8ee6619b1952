import { type CommitRunsParams, type CommitRunsResult, HoldfastError, type Store, systemPorts } from "holdfast/adapter";
import { describe, expect, test } from "vitest";
import { CommitMerger } from "../../src/store-service/commit-merger.ts";

const LATER = Number.POSITIVE_INFINITY;

/** A store that is answered by hand. */
class SlowStore {
  readonly calls: { readonly runs: readonly string[]; answer(): void; fail(error: unknown): void }[] = [];
  readonly store = { runs: { commit: (params: CommitRunsParams) => this.#commit(params) } } as unknown as Store;

  #commit({ commits }: CommitRunsParams): Promise<CommitRunsResult> {
    const runs = commits.map(({ runId }) => runId);
    return new Promise((resolve, reject) => {
      const outcomes = runs.map((_, i) => ({ outcome: "written", held: true, delivered: i }) as const);
      const messages = runs.map((runId) => ({ runId, name: `for ${runId}` }));
      const answer = (): void => resolve({ outcomes, messages: messages as never, now: 7 });
      this.calls.push({ runs, answer, fail: reject });
    });
  }
}

function open(inFlightMax = 1): { readonly slow: SlowStore; commit(...runs: string[]): Promise<CommitRunsResult> } {
  const slow = new SlowStore();
  const merger = new CommitMerger(slow.store, systemPorts.clock, inFlightMax);
  return { slow, commit: (...runs) => merger.commit({ commits: runs.map((runId) => ({ runId })) as never }, LATER) };
}

const turn = (): Promise<void> => new Promise((resolve) => systemPorts.clock.immediate(resolve));

describe("commits of several sessions", () => {
  test("that come while one is in flight are one call, and each gets its own answers and messages", async () => {
    const { slow, commit } = open();
    const first = commit("a");
    await turn();
    const [second, third] = [commit("b", "c"), commit("d")];
    await turn();
    expect(slow.calls.map(({ runs }) => runs)).toEqual([["a"]]);
    slow.calls[0]?.answer();
    expect((await first).outcomes).toHaveLength(1);
    await turn();
    expect(slow.calls[1]?.runs).toEqual(["b", "c", "d"]);
    slow.calls[1]?.answer();
    expect(await second).toMatchObject({
      outcomes: [{ delivered: 0 }, { delivered: 1 }],
      messages: [{ runId: "b" }, { runId: "c" }],
      now: 7,
    });
    expect(await third).toEqual({
      outcomes: [{ outcome: "written", held: true, delivered: 2 }],
      messages: [{ runId: "d", name: "for d" }],
      now: 7,
    });
  });

  test("of one run are never in the same call, and never change places", async () => {
    const { slow, commit } = open();
    const parts = [commit("a"), commit("a", "b"), commit("b"), commit("c")];
    for (let i = 0; i < 4; i += 1) {
      await turn();
      slow.calls[i]?.answer();
    }
    await Promise.all(parts);
    expect(slow.calls.map(({ runs }) => runs)).toEqual([["a", "c"], ["a", "b"], ["b"]]);
  });

  test("that are refused together are sent alone: one tenant's data does not refuse another's", async () => {
    const { slow, commit } = open();
    const [bad, good] = [commit("bad"), commit("good")];
    await turn();
    slow.calls[0]?.fail(new HoldfastError("store_refused", "too odd"));
    await turn();
    slow.calls[1]?.fail(new HoldfastError("store_refused", "too odd"));
    await expect(bad).rejects.toMatchObject({ code: "store_refused" });
    await turn();
    slow.calls[2]?.answer();
    expect(await good).toMatchObject({ outcomes: [{ outcome: "written" }] });
    expect(slow.calls.map(({ runs }) => runs)).toEqual([["bad", "good"], ["bad"], ["good"]]);
  });

  test("whose outcome is unknown are unknown to all of them, and not repeated here", async () => {
    const { slow, commit } = open();
    const parts = [commit("a"), commit("b")].map((part) => part.catch((error: unknown) => error));
    await turn();
    slow.calls[0]?.fail(new HoldfastError("store_outcome_unknown", "cut"));
    for (const part of await Promise.all(parts)) expect(part).toMatchObject({ code: "store_outcome_unknown" });
    await turn();
    expect(slow.calls).toHaveLength(1);
  });

  test("fill as many calls as the store can use", async () => {
    const { slow, commit } = open(2);
    const parts: Promise<unknown>[] = [];
    for (const run of ["a", "b", "c", "d"]) {
      parts.push(commit(run));
      await turn();
    }
    expect(slow.calls.map(({ runs }) => runs)).toEqual([["a"], ["b"]]);
    slow.calls[1]?.answer();
    await turn();
    expect(slow.calls[2]?.runs).toEqual(["c", "d"]);
    for (const call of slow.calls) call.answer();
    await Promise.all(parts);
  });
});
