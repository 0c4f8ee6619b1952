import { beforeAll, describe, expect, test } from "vitest";
import type { StoreMethod } from "../../src/ports/store-calls.ts";
import { SeededRandom } from "../../src/replay/context/seeded-random.ts";
import { type Cluster, outcomeUnknown, type StoreHook, unavailable } from "../lab/harness.ts";
import { faultsIn, runWorkload, type WorkloadReport } from "../lab/workload.ts";

const MOMENTS = ["before", "after"] as const;
const SEEDS = 40;

let undisturbed: WorkloadReport;

beforeAll(async () => {
  undisturbed = await runWorkload();
});

test("the undisturbed workload does what it should, and uses the store for all that is tested here", () => {
  expect(undisturbed.results).toMatchObject({
    orders: [1, 2, 3].map((n) => ({ a: n, b: n + 1, tried: "ok", parts: [1, 2, 3], end: 7 })),
    notes: { received: [1, 2, 3, 4], done: true },
    chain: 6,
    saga: "run_canceled",
    late: "run_timed_out",
    gone: "run_terminated",
    stray: 2,
    frail: 2,
    compensation: ["compensated", "compensated"],
  });
  expect(faultsIn(undisturbed, undisturbed)).toEqual([]);
  const called = Object.keys(undisturbed.cluster.store.calls);
  expect(called).toEqual(
    expect.arrayContaining([
      "runs.claim",
      "inbox.read",
      "histories.read",
      "workers.heartbeat",
      "runs.resumeIfParked",
      "runs.reopenIfFailed",
    ]),
  );
});

describe.each(MOMENTS)("when one call of the store fails %s it took effect", (moment) => {
  test("every run ends as undisturbed, and nothing is executed twice, whichever call it is", async () => {
    const faults: string[] = [];
    for (const [method, calls] of Object.entries(undisturbed.cluster.store.calls)) {
      for (let k = 1; k <= calls; k++) {
        const { failed, found } = await failOnce(method as StoreMethod, moment, k);
        if (!failed) faults.push(`call ${k} of ${method} was never made`);
        faults.push(...found.map((fault) => `call ${k} of ${method}: ${fault}`));
      }
    }
    expect(faults).toEqual([]);
  });
});

async function failOnce(method: StoreMethod, moment: "before" | "after", k: number) {
  let calls = 0;
  const report = await runWorkload({
    fault: (at, called) => {
      if (called !== method || at !== moment) return undefined;
      calls += 1;
      if (calls !== k) return undefined;
      return moment === "before" ? unavailable() : outcomeUnknown();
    },
  });
  return { failed: calls >= k, found: faultsIn(report, undisturbed) };
}

test("two failures in a row, the second on the repeated call, are no worse than one", async () => {
  const faults: string[] = [];
  for (const method of ["runs.commit", "runs.claim", "runs.start", "inbox.deliver"] as const) {
    for (let k = 1; k <= (undisturbed.cluster.store.calls[method] ?? 0); k++) {
      let calls = 0;
      const report = await runWorkload({
        // First the answer is lost, then the repetition does not arrive, then its answer is lost too.
        fault: (at, called) => {
          if (called !== method) return undefined;
          if (at === "before") calls += 1;
          if (at === "before") return calls === k + 1 ? unavailable() : undefined;
          return calls === k || calls === k + 2 ? outcomeUnknown() : undefined;
        },
      });
      faults.push(...faultsIn(report, undisturbed).map((fault) => `${method} ${k}: ${fault}`));
    }
  }
  expect(faults).toEqual([]);
});

test.each(Array.from({ length: SEEDS }, (_, i) => i + 1))(
  "calls that fail, answers that overtake each other and lost hints change nothing (seed %i)",
  async (seed) => {
    const random = new SeededRandom(`store faults ${seed}`);
    const pick = <T>(...choices: T[]): T => choices[Math.floor(random.next() * choices.length)] as T;
    const rate = pick(0, 0.03, 0.1);
    const slowMs = pick(0, 10, 400);
    const options = () => ({
      cacheSize: pick(0, 1, 100),
      concurrency: pick(1, 3, 100),
      tuning: {
        eventsPerHoldMax: pick(1, 2, Number.POSITIVE_INFINITY),
        flushesInFlightMax: pick(1, 2, 4),
        runsPerFlushMax: pick(1, 2, 1_000),
      },
    });
    const report = await runWorkload({
      first: options(),
      second: options(),
      losesHints: pick(true, false, false),
      fault: (moment) => {
        if (random.next() >= rate) return undefined;
        return moment === "before" ? unavailable() : outcomeUnknown();
      },
      hook: (cluster) => slowed(cluster, random, slowMs),
    });
    expect(faultsIn(report, undisturbed)).toEqual([]);
  },
);

/** Half of the calls and half of the answers take their time. */
function slowed(cluster: Cluster, random: SeededRandom, slowMs: number): StoreHook {
  const dawdle = async (): Promise<void> => {
    if (slowMs > 0 && random.next() < 0.5) await cluster.wait(random.next() * slowMs);
  };
  return async (_method, _params, next) => {
    await dawdle();
    try {
      return await next();
    } finally {
      await dawdle();
    }
  };
}
