import { describe, expect, test } from "vitest";
import { workflow } from "../../src/define/definitions.ts";
import type { CommitRunsParams } from "../../src/ports/store.ts";
import {
  Cluster,
  faultsInStore,
  Gate,
  outcomeUnknown,
  type Process,
  type StoreHook,
  unavailable,
} from "../lab/harness.ts";

/** Watches the flushes of one process: what is in flight, and how often each was sent. */
class FlushWatch {
  inFlightMax = 0;
  runsMax = 0;
  eventsMax = 0;
  readonly faults: string[] = [];
  readonly sent: string[] = [];
  readonly #inFlight = new Map<CommitRunsParams, readonly string[]>();
  readonly #slow: () => Promise<void>;

  constructor(slow: () => Promise<void>) {
    this.#slow = slow;
  }

  readonly hook: StoreHook = async (method, params, next) => {
    if (method !== "runs.commit") return next();
    const flush = params as CommitRunsParams;
    this.#enter(flush);
    try {
      await this.#slow();
      const answer = await next();
      await this.#slow();
      return answer;
    } finally {
      this.#inFlight.delete(flush);
    }
  };

  #enter(flush: CommitRunsParams): void {
    const runIds = flush.commits.map(({ runId }) => runId);
    const busy = [...this.#inFlight.values()].flat();
    for (const runId of runIds) if (busy.includes(runId)) this.faults.push(`two flushes of ${runId} in flight`);
    if (new Set(runIds).size !== runIds.length) this.faults.push("a run occurs twice in one flush");
    this.#inFlight.set(flush, runIds);
    this.inFlightMax = Math.max(this.inFlightMax, this.#inFlight.size);
    this.runsMax = Math.max(this.runsMax, runIds.length);
    this.eventsMax = Math.max(this.eventsMax, ...flush.commits.map(({ events }) => events.length));
    this.sent.push(JSON.stringify(flush));
  }
}

function makeBusy(cluster: Cluster) {
  return workflow("busy", async (ctx, n: number) => {
    for (let i = 0; i < 4; i++) {
      await Promise.all([1, 2, 3].map((k) => ctx.step(`s${i}${k}`, () => cluster.wait(((n * 7 + i * 3 + k) % 5) * 4))));
    }
    return n;
  });
}

async function runMany(
  cluster: Cluster,
  process: Process,
  count: number,
  busy: ReturnType<typeof makeBusy>,
): Promise<unknown> {
  const requests = Array.from({ length: count }, (_, n) => ({ workflow: busy, input: n, options: { id: `b${n}` } }));
  const runs = await cluster.until(process.client.startMany(requests));
  return cluster.until(Promise.all(runs.map((run) => run.result())));
}

describe("the committer", () => {
  test.each([1, 2, 4])("has at most %i flushes in flight, and never two of one run", async (flushesInFlightMax) => {
    const cluster = new Cluster();
    let turn = 0;
    const watch = new FlushWatch(() => cluster.wait(3 + (turn++ % 4) * 6));
    const process = cluster.process("p", watch.hook);
    const busy = makeBusy(cluster);
    await process.worker({ workflows: [busy], tuning: { flushesInFlightMax, runsPerFlushMax: 7 } });
    expect(await runMany(cluster, process, 30, busy)).toEqual(Array.from({ length: 30 }, (_, n) => n));
    expect(watch.faults).toEqual([]);
    expect(watch.inFlightMax).toBe(flushesInFlightMax);
    expect(watch.runsMax).toBeLessThanOrEqual(7);
    expect(faultsInStore(cluster.store)).toEqual([]);
  });

  test("divides a flush that is full of large payloads", async () => {
    const cluster = new Cluster();
    const sizes: number[] = [];
    const process = cluster.process("p", (method, params, next) => {
      if (method === "runs.commit") {
        const payloads = (params as CommitRunsParams).commits.flatMap(({ events }) => events.map((e) => e.payload));
        sizes.push(payloads.reduce((sum, payload) => sum + (payload?.length ?? 0), 0));
      }
      return next();
    });
    const large = workflow("large", (ctx) => ctx.step("make", () => "x".repeat(500_000)).then((text) => text.length));
    await process.worker({ workflows: [large], concurrency: 60 });
    const runs = await cluster.until(process.client.startMany(Array.from({ length: 60 }, () => ({ workflow: large }))));
    for (const run of runs) expect(await cluster.until(run.result())).toBe(500_000);
    const megabytes = sizes.map((size) => size / 1e6);
    expect(megabytes.reduce((sum, size) => sum + size)).toBeGreaterThanOrEqual(30);
    expect(Math.max(...megabytes)).toBeLessThan(9);
  });

  test("sends the same batch again, unchanged, until it has an answer, while others pass", async () => {
    const cluster = new Cluster();
    const failures = new Map<string, number>();
    const watch = new FlushWatch(async () => {});
    const process = cluster.process("p", watch.hook);
    cluster.store.fault = (moment, method, params) => {
      const runs =
        method === "runs.commit" ? (params as CommitRunsParams).commits.map(({ runId }) => cluster.run(runId).id) : [];
      const failed = failures.get(runs.join()) ?? 0;
      if (!runs.includes("b3") || failed >= 6) return undefined;
      failures.set(runs.join(), failed + 1);
      return failed % 2 === 0 ? unavailable() : moment === "after" ? outcomeUnknown() : undefined;
    };
    const busy = makeBusy(cluster);
    await process.worker({ workflows: [busy], tuning: { runsPerFlushMax: 2 } });
    await runMany(cluster, process, 8, busy);
    // Flushes are the same if they carry the same runs with the same fence; then they must be identical.
    const first = new Map<string, string>();
    let repeats = 0;
    for (const flush of watch.sent) {
      const key = (JSON.parse(flush) as CommitRunsParams).commits.map(fence).join();
      if (first.has(key)) repeats += 1;
      expect(first.get(key) ?? flush).toBe(flush);
      first.set(key, flush);
    }
    expect(repeats).toBeGreaterThanOrEqual(3);
    expect(watch.faults).toEqual([]);
    expect(cluster.repeated()).toEqual([]);
    expect(faultsInStore(cluster.store)).toEqual([]);
  });
});

/** An append leaves the commit number as it is: its first event tells it from the next one. */
function fence({ runId, epoch, commit, events }: CommitRunsParams["commits"][number]): string {
  return `${runId} ${epoch} ${commit} ${events[0]?.seq}`;
}

describe("a store that is away", () => {
  test("for an hour loses no result: the worker keeps what it has and writes it when the store is back", async () => {
    const cluster = new Cluster();
    const gate = new Gate();
    const work = workflow("work", async (ctx, n: number) => {
      const a = await ctx.step("a", () => gate.opened.then(() => n));
      return a + (await ctx.step("b", () => 1));
    });
    const process = cluster.process("p");
    await process.worker({ workflows: [work] });
    const runs = await cluster.until(
      process.client.startMany([1, 2, 3].map((n) => ({ workflow: work, input: n, options: { id: `w${n}` } }))),
    );
    await cluster.when(() => cluster.executions.length === 3);
    cluster.store.fault = () => unavailable();
    gate.open();
    await cluster.clock.advance("1 hour");
    expect(cluster.executions).toHaveLength(3);
    cluster.store.fault = undefined;
    expect(await cluster.until(Promise.all(runs.map((run) => run.result())))).toEqual([2, 3, 4]);
    expect(cluster.repeated()).toEqual([]);
  });

  test("does not let the worker take on more than it has slots, nor ask all the time", async () => {
    const cluster = new Cluster();
    const work = workflow("work", async (ctx) => ctx.step("a", () => 1));
    const process = cluster.process("p");
    const worker = await process.worker({ workflows: [work], concurrency: 5 });
    const other = cluster.process("other");
    await cluster.until(other.client.startMany(Array.from({ length: 20 }, () => ({ workflow: work }))));
    let calls = 0;
    cluster.store.fault = (moment, method) => {
      if (moment === "before") calls += 1;
      return method === "runs.commit" || method === "runs.claim" ? unavailable() : undefined;
    };
    await cluster.clock.advance("10 minutes");
    expect(worker.activeRuns).toBeLessThanOrEqual(5);
    expect(calls).toBeLessThan(700);
    cluster.store.fault = undefined;
    await cluster.when(() => [...cluster.store.state.runs.values()].every(({ status }) => status === "completed"));
    expect(cluster.repeated()).toEqual([]);
  });
});
