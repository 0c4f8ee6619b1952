import { workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { Line, openWorld, WORKER_CALLS, type World } from "../lab/world.ts";

const LEASE_MS = 5_000;

function deaths(world: World): number {
  return [...world.store.state.workers.values()].filter(({ died }) => died).length;
}

/** Charges something, which takes two seconds, and counts how often. */
function makeCharge(world: World) {
  const calls: number[] = [];
  const charge = workflow("charge", async (ctx) => {
    await ctx.step("charge", async () => {
      calls.push(world.clock.monotonic());
      await world.later(2_000);
    });
    return "charged";
  });
  return { charge, calls };
}

describe("a worker that starts", () => {
  test.each([0, 100, 200, 300, 400])(
    "right after an outage that was longer than the lease gives the others the time to renew (%i ms apart)",
    async (offsetMs) => {
      const world = openWorld();
      const line = new Line(...WORKER_CALLS);
      const { charge, calls } = makeCharge(world);
      const first = world.client({ hooks: line.hooks });
      const worker = await world.worker(first, { workflows: [charge], lease: "5s" });
      const { workerId } = worker;
      const run = await first.start(charge);
      await world.clock.advance("100ms");
      line.down = true;
      await world.clock.advance({ milliseconds: 12_000 + offsetMs });
      line.down = false;
      await world.worker(world.client({ hooks: line.hooks }), { workflows: [charge], lease: "5s" });
      expect(await world.result(run)).toBe("charged");
      await world.clock.advance("20s");
      expect(calls).toHaveLength(1);
      expect(deaths(world)).toBe(0);
      expect(worker.workerId).toBe(workerId);
    },
  );

  test("takes over from one that is dead by then after a fifth of the lease", async () => {
    const world = openWorld();
    const line = new Line(...WORKER_CALLS);
    const { charge, calls } = makeCharge(world);
    const first = world.client({ hooks: line.hooks });
    await world.worker(first, { workflows: [charge], lease: "5s" });
    const run = await first.start(charge);
    await world.clock.advance("100ms");
    line.down = true;
    await world.clock.advance("12s");
    const startedMs = world.clock.monotonic();
    const second = world.client();
    await world.worker(second, { workflows: [charge], lease: "5s" });
    expect(await world.result(second.get(charge, run.id))).toBe("charged");
    expect(calls).toHaveLength(2);
    const takenOverMs = (calls[1] ?? 0) - startedMs;
    expect(takenOverMs).toBeGreaterThanOrEqual(LEASE_MS / 5);
    expect(takenOverMs).toBeLessThanOrEqual(LEASE_MS / 5 + 250);
    expect(deaths(world)).toBe(1);
  });
});

describe("a worker that is stopped while it registers again", () => {
  test("leaves no row behind that stays online, and no heartbeat", async () => {
    const world = openWorld();
    const line = new Line("workers.heartbeat");
    let slow = false;
    const beats: string[] = [];
    const client = world.client({
      hooks: {
        "workers.heartbeat": (params, call) => {
          beats.push(params.workerId);
          return line.hooks["workers.heartbeat"]?.(params, call) ?? call();
        },
        "workers.register": async (_params, call) => {
          const answer = await call();
          if (slow) await world.later(3_000);
          return answer;
        },
      },
    });
    const worker = await world.worker(client, { workflows: [], lease: "5s", name: "leaving" });
    await world.worker(world.client(), { workflows: [], lease: "5s", name: "staying" });
    line.down = true;
    slow = true;
    await world.clock.advance("8s");
    line.down = false;
    await world.clock.advance("1s");
    const rows = () => [...world.store.state.workers.values()].map(({ name, status }) => `${name} ${status}`).sort();
    expect(worker.workerId).toBe("");
    expect(rows()).toEqual(["leaving offline", "leaving online", "staying online"]);
    await world.clock.until(worker.stop());
    await world.clock.advance("5s");
    const beatsBefore = beats.length;
    await world.clock.advance("10m");
    expect(rows()).toEqual(["leaving offline", "leaving offline", "staying online"]);
    expect(beats).toHaveLength(beatsBefore);
    // The old id was declared dead; the new one, which held nothing, was stopped.
    expect(deaths(world)).toBe(1);
  });
});

describe("the clock of the store", () => {
  test("bends no timer when it is wrong in one answer only", async () => {
    const world = openWorld();
    let wrong = 0;
    const client = world.client({
      hooks: {
        "workers.heartbeat": async (_params, call) => {
          const answer = await call();
          if (world.clock.monotonic() < 60_000 || wrong > 0) return answer;
          wrong += 1;
          return { ...answer, now: answer.now + 3_600_000 };
        },
      },
    });
    const wokenMs: number[] = [];
    const naps = workflow("naps", async (ctx) => {
      const nap = async (): Promise<void> => {
        for (const name of ["first", "second"]) {
          await ctx.sleep(name, "2m");
          wokenMs.push(world.clock.monotonic());
        }
      };
      // The step keeps the run in the hands of its worker, who then watches its timers.
      await Promise.all([nap(), ctx.step("long", () => world.later(600_000))]);
    });
    await world.worker(client, { workflows: [naps] });
    const run = await client.start(naps);
    await world.result(run);
    expect(wrong).toBe(1);
    expect(wokenMs).toEqual([120_000, 240_000]);
    const times = world.events(run).map(({ at }) => at);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(times.at(-1)).toBe(world.clock.now());
  });
});
