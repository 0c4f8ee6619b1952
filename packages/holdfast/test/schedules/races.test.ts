/** What happens to a schedule between the moment in which the leader reads it and the one in which it writes. */
import { describe, expect, test } from "vitest";
import { signal, workflow } from "../../src/define/definitions.ts";
import { HoldfastError } from "../../src/errors/holdfast-error.ts";
import type { OverlapPolicy } from "../../src/model/schedule.ts";
import type { PutSchedulesParams } from "../../src/ports/store.ts";
import type { StoreMethod } from "../../src/ports/store-calls.ts";
import { Cluster, Gate, outcomeUnknown, type Process } from "../lab/harness.ts";

const go = signal<true>("go");
const patient = workflow("patient", async (ctx) => {
  await ctx.receive(go);
});

/** How soon the leader has looked again at what it could not write. */
const SOON = "100ms";

type Between = (other: Process) => Promise<unknown>;

/** A leader that is interrupted once, right before the k-th of its changes, and another process. */
async function scene(overlap: OverlapPolicy, k: number, between: Between) {
  const cluster = new Cluster();
  let puts = 0;
  const leader = cluster.process("leader", async (method, params, next) => {
    if (method !== "schedules.putIfRevision" || (params as PutSchedulesParams).announce) return next();
    puts += 1;
    if (puts === k) await between(other);
    return next();
  });
  const other = cluster.process("other");
  await leader.worker({ workflows: [patient] });
  await cluster.until(other.client.schedules.create({ id: "s", workflow: patient, every: "10s", overlap }));
  const decisions = () => cluster.store.state.schedules.get("default\ns")?.decisions ?? [];
  const runs = () =>
    [...cluster.store.state.runs.values()].map(
      ({ id, status }) => `${(Date.parse(id.slice(2)) / 1_000) % 100} ${status}`,
    );
  return { cluster, leader, other, decisions, runs, puts: () => puts };
}

describe.each(["terminate-other", "cancel-other"] as const)("the open run of a schedule of policy %s", (overlap) => {
  test.each<[string, Between]>([
    ["paused", ({ client }) => client.schedules.pause("s")],
    ["deleted", ({ client }) => client.schedules.delete("s")],
    ["changed to another policy", ({ client }) => client.schedules.update("s", { overlap: "skip" })],
  ])(
    "is left alone if the schedule is %s before the leader has written that the run must make way",
    async (_, between) => {
      const { cluster, puts, runs } = await scene(overlap, 2, between);
      await cluster.clock.advance("35s");
      expect(puts()).toBeGreaterThan(1);
      expect(runs()).toEqual(["10 waiting"]);
      const [run] = [...cluster.store.state.runs.values()];
      expect(run?.delivered).toBe(0);
    },
  );
});

/** Whether the call stops the run that is in the way. */
function stops(method: StoreMethod, params: unknown): boolean {
  if (method === "inbox.deliver") return true;
  return method === "schedules.putIfRevision" && (params as PutSchedulesParams).puts.some((put) => put.terminates);
}

test("a run that must make way by policy terminate-other goes on if somebody takes the id of the next one at the last moment", async () => {
  const cluster = new Cluster();
  const idAt = (seconds: number): string => `s@${new Date(Date.UTC(2026, 0, 4, 8, 0, seconds)).toISOString()}`;
  let taken = false;
  const leader = cluster.process("leader", async (method, params, next) => {
    if (!taken && stops(method, params)) {
      taken = true;
      await other.client.start(patient, undefined, { id: idAt(20) });
    }
    return next();
  });
  const other = cluster.process("other");
  await leader.worker({ workflows: [patient] });
  await cluster.until(
    other.client.schedules.create({ id: "s", workflow: patient, every: "10s", overlap: "terminate-other" }),
  );
  await cluster.clock.advance("25s");
  expect(taken).toBe(true);
  expect([idAt(10), idAt(20)].map((id) => cluster.runOf(id).status)).toEqual(["waiting", "waiting"]);
  const decided = () => cluster.store.state.schedules.get("default\ns")?.decisions.map(({ what }) => what);
  expect(decided()).toEqual(["fired", "buffered", "failed"]);
  await cluster.clock.advance("10s");
  expect([idAt(10), idAt(20)].map((id) => cluster.runOf(id).status)).toEqual(["terminated", "waiting"]);
  expect(cluster.runOf(idAt(30)).status).toBe("waiting");
  expect(decided()).toEqual(["fired", "buffered", "failed", "buffered", "fired"]);
});

describe.each(["terminate-other", "cancel-other"] as const)("a run that must make way by policy %s", (overlap) => {
  test("and has ended when it is stopped leaves a stranger's run under its id alone", async () => {
    const cluster = new Cluster();
    const id = `s@${new Date(Date.UTC(2026, 0, 4, 8, 0, 10)).toISOString()}`;
    let taken = false;
    const leader = cluster.process("leader", async (method, params, next) => {
      if (taken || !stops(method, params)) return next();
      taken = true;
      await other.client.get(id).terminate({ reason: "enough" });
      await other.client.start(patient, undefined, { id, ifClosed: "start" });
      return next();
    });
    const other = cluster.process("other");
    await leader.worker({ workflows: [patient] });
    await cluster.until(other.client.schedules.create({ id: "s", workflow: patient, every: "10s", overlap }));
    await cluster.clock.advance("25s");
    expect(taken).toBe(true);
    const runs = [...cluster.store.state.runs.values()].filter((run) => run.id === id);
    expect(runs.map(({ status, delivered }) => [status, delivered])).toEqual([
      ["terminated", 0],
      ["waiting", 0],
    ]);
  });
});

describe("a change that the leader cannot write", () => {
  test("because the open run has just ended, is judged again at once", async () => {
    const { cluster, runs } = await scene("skip", 2, ({ client }) =>
      client.get(`s@${new Date(Date.UTC(2026, 0, 4, 8, 0, 10)).toISOString()}`).terminate({ reason: "enough" }),
    );
    await cluster.clock.advance("20s");
    await cluster.clock.advance(SOON);
    expect(runs()).toEqual(["10 terminated", "20 waiting"]);
  });

  test("because the schedule is locked, is made soon", async () => {
    const cluster = new Cluster();
    let locked = 3;
    const leader = cluster.process("leader", async (method, params, next) => {
      if (method !== "schedules.putIfRevision" || (params as PutSchedulesParams).announce || locked === 0)
        return next();
      locked -= 1;
      return { now: cluster.clock.now(), outcomes: [{ outcome: "busy" }] };
    });
    await leader.worker({ workflows: [patient] });
    await cluster.until(leader.client.schedules.create({ id: "s", workflow: patient, every: "10s" }));
    await cluster.clock.advance("10s");
    await cluster.clock.advance(SOON);
    expect(cluster.store.state.runs.size).toBe(1);
  });

  test("because the store refuses it, whatever it is, keeps no other schedule from being fired", async () => {
    const cluster = new Cluster();
    const leader = cluster.process("leader", async (method, params, next) => {
      if (method !== "schedules.putIfRevision") return next();
      const { puts, announce } = params as PutSchedulesParams;
      if (!announce && puts.some(({ id }) => id === "bad")) throw new HoldfastError("store_refused", "no");
      return next();
    });
    await leader.worker({ workflows: [patient] });
    const { schedules } = leader.client;
    for (const id of ["bad", "good"])
      await cluster.until(schedules.create({ id, workflow: patient, every: "10s", overlap: "allow" }));
    await cluster.clock.advance("35s");
    const ids = [...cluster.store.state.runs.values()].map(({ id }) => id.split("@")[0]);
    expect(ids).toEqual(["good", "good", "good"]);
    expect(cluster.errors.length).toBeGreaterThan(0);
    // Neither does it keep the leader busy.
    expect(cluster.store.calls["schedules.due"]).toBeLessThan(20);
  });
});

describe("a change by a client that takes long", () => {
  test.each<[string, Between]>([
    ["an update", ({ client }) => client.schedules.update("s", { every: "5s" })],
    ["a resume", ({ client }) => client.schedules.resume("s", { note: "again" })],
  ])("and that the leader overtakes, makes no time come twice: %s", async (_, change) => {
    const cluster = new Cluster();
    await cluster.process("leader").worker({ workflows: [patient] });
    let slow = true;
    const other = cluster.process("other", async (method, params, next) => {
      if (method === "schedules.putIfRevision" && (params as PutSchedulesParams).puts[0]?.revision !== null && slow) {
        slow = false;
        await cluster.wait(15_000);
      }
      return next();
    });
    await cluster.until(other.client.schedules.create({ id: "s", workflow: patient, every: "10s" }));
    await cluster.clock.advance("12s");
    await cluster.until(change(other));
    await cluster.clock.advance("20s");
    expect(slow).toBe(false);
    const times = (cluster.store.state.schedules.get("default\ns")?.decisions ?? []).map(({ at }) => at);
    expect(times.length).toBeGreaterThan(3);
    expect(times).toEqual([...new Set(times)].sort((a, b) => a - b));
  });
});

describe("the id of a scheduled run", () => {
  test("that a user's own run has is left to it: that time fails, and the schedule goes on beside it", async () => {
    const { cluster, other, runs, decisions } = await scene("skip", 0, async () => {});
    const id = `s@${new Date(Date.UTC(2026, 0, 4, 8, 0, 10)).toISOString()}`;
    const own = await cluster.until(other.client.start(patient, undefined, { id }));
    await cluster.clock.advance("25s");
    expect(runs()).toEqual(["10 waiting", "20 waiting"]);
    expect(cluster.runOf(id).runId).toBe(own.runId);
    await cluster.until(own.signal(go, true));
    await cluster.clock.advance("10s");
    expect(runs()).toEqual(["10 completed", "20 waiting"]);
    expect(decisions().map(({ what }) => what)).toEqual(["failed", "fired", "skipped"]);
  });

  test("whose run has ended and was purged stands in nobody's way", async () => {
    const { cluster, other, runs } = await scene("skip", 2, async ({ client }) => {
      const id = `s@${new Date(Date.UTC(2026, 0, 4, 8, 0, 10)).toISOString()}`;
      await client.get(id).terminate();
      await cluster.store.runs.purge({ namespace: "default", endedBefore: cluster.clock.now() + 1, limit: 10 });
    });
    await cluster.clock.advance("20s");
    await cluster.clock.advance(SOON);
    expect(runs()).toEqual(["20 waiting"]);
    expect((await cluster.until(other.client.schedules.get("s").describe())).decisions).toHaveLength(2);
  });
});

test.each([3_600_000, -3_600_000])(
  "a leader whose own clock is %i ms ahead fires by the clock of the store",
  async (skewMs) => {
    const cluster = new Cluster();
    const leader = cluster.process("leader");
    leader.life.skewMs = skewMs;
    await leader.worker({ workflows: [] });
    await cluster.until(leader.client.schedules.create({ id: "s", workflow: patient, every: "10s", overlap: "allow" }));
    for (let count = 1; count <= 6; count++) {
      await cluster.clock.advance("10s");
      await cluster.clock.advance("20ms");
      expect(cluster.store.state.runs.size).toBe(count);
    }
  },
);

/** A client whose put takes effect, but its answer is lost; before it sends the put again, the leader has fired. */
async function lostAnswer() {
  const cluster = new Cluster();
  const fired = new Gate();
  let puts = 0;
  const leader = cluster.process("leader", async (method, params, next) => {
    const answer = await next();
    if (puts > 0 && method === "schedules.putIfRevision" && !(params as PutSchedulesParams).announce) fired.open();
    return answer;
  });
  const quick = workflow("quick", async () => "done");
  await leader.worker({ workflows: [quick] });
  const caller = cluster.process("caller", async (method, _params, next) => {
    if (method !== "schedules.putIfRevision") return next();
    puts += 1;
    if (puts === 1) {
      await next();
      throw outcomeUnknown();
    }
    await fired.opened;
    return next();
  });
  const decisions = () => cluster.store.state.schedules.get("default\ns")?.decisions ?? [];
  await cluster.until(leader.client.schedules.create({ id: "s", workflow: quick, every: "10s", overlap: "allow" }));
  return { cluster, schedule: caller.client.schedules.get("s"), decisions, puts: () => puts };
}

describe("a change whose answer is lost, and that the leader has followed by another one", () => {
  test("is a trigger that is noted once", async () => {
    const { cluster, schedule, decisions, puts } = await lostAnswer();
    const triggering = schedule.trigger();
    await cluster.clock.advance("15s");
    const run = await triggering;
    expect(puts()).toBe(2);
    const triggered = decisions().filter(({ reason }) => reason === "it was triggered");
    expect(triggered.map(({ runId }) => runId)).toEqual([run.runId]);
    expect(await cluster.until(run.result())).toBe("done");
  });

  test("is a trigger that is noted once, also if its run is gone by then", async () => {
    const { cluster, schedule, decisions } = await lostAnswer();
    const triggering = schedule.trigger();
    await cluster.when(() => decisions().length === 1);
    const [, run] = [...cluster.store.state.runs][0] ?? [];
    await cluster.when(() => run?.status === "completed");
    await cluster.store.runs.purge({ namespace: "default", endedBefore: cluster.clock.now() + 1, limit: 10 });
    await cluster.clock.advance("15s");
    await triggering;
    expect(decisions().filter(({ reason }) => reason === "it was triggered")).toHaveLength(1);
  });

  test("is a batch of a backfill that is noted and counted once", async () => {
    const { cluster, schedule, decisions, puts } = await lostAnswer();
    const to = new Date(cluster.clock.now() - 1);
    const from = new Date(to.getTime() - 59_999);
    const filling = schedule.backfill({ from, to });
    await cluster.clock.advance("15s");
    const done = await filling;
    expect(puts()).toBe(2);
    expect(done).toMatchObject({ times: 6, started: 6, buffered: 0, skipped: 0 });
    const noted = decisions().filter(({ at }) => at <= to.getTime());
    expect(noted.map(({ what }) => what)).toEqual(Array(6).fill("fired"));
  });
});
