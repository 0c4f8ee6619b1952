import { signal, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { openEngine, openFleet } from "../lab/fleet.ts";

const go = signal<number>("go");
const wait = workflow("wait", (ctx) => ctx.receive(go));

describe("result()", () => {
  test("of thousands of waiters for one run costs one wait", async () => {
    const fleet = openFleet();
    await fleet.worker({ workflows: [wait] });
    const client = fleet.client();
    const run = await client.start(wait, undefined, { id: "w" });
    await fleet.clock.settle();
    const before = fleet.store.calls["runs.read"] ?? 0;
    const waiting = Array.from({ length: 5_000 }, () => run.result());
    await fleet.clock.settle();
    expect((fleet.store.calls["runs.read"] ?? 0) - before).toBe(1);
    await run.signal(go, 7);
    const results = await fleet.clock.until(Promise.all(waiting));
    expect(results).toHaveLength(5_000);
    expect(results.every((result) => result === 7)).toBe(true);
    // One look for the hint that the run has ended, whoever waits.
    expect((fleet.store.calls["runs.read"] ?? 0) - before).toBe(2);
  });

  test("of thousands of runs is looked up together, not one by one", async () => {
    const fleet = openFleet();
    await fleet.worker({ workflows: [wait], concurrency: 1_000 });
    const client = fleet.client();
    const runs = await client.startMany(Array.from({ length: 2_000 }, () => ({ workflow: wait })));
    await fleet.clock.settle();
    const before = fleet.store.calls["runs.read"] ?? 0;
    const waiting = Promise.all(runs.map((run) => run.result()));
    await fleet.clock.settle();
    expect((fleet.store.calls["runs.read"] ?? 0) - before).toBe(2);
    await Promise.all(runs.map((run, i) => run.signal(go, i)));
    expect(await fleet.clock.until(waiting)).toEqual(runs.map((_, i) => i));
    expect((fleet.store.calls["runs.read"] ?? 0) - before).toBeLessThan(200);
  });

  test("next to the worker needs no call of the store at all once the run is under way", async () => {
    const t = await openEngine(wait);
    const run = await t.client.start(wait);
    const result = run.result();
    await t.clock.settle();
    const before = t.store.calls["runs.read"];
    await run.signal(go, 1);
    expect(await result).toBe(1);
    expect(t.store.calls["runs.read"]).toBe(before);
  });

  test("can be asked for before, while and after the run ends, as often as one likes, from any client", async () => {
    const fleet = openFleet();
    const client = fleet.client();
    const run = await client.start(wait, undefined, { id: "w" });
    const early = run.result();
    await fleet.worker({ workflows: [wait] });
    await run.signal(go, 3);
    expect(await fleet.clock.until(early)).toBe(3);
    expect(await run.result()).toBe(3);
    expect(await fleet.client().get(wait, "w").result()).toBe(3);
  });

  test("with a timeout rejects when it is over, saying how the run stands; the run goes on", async () => {
    const t = await openEngine(wait);
    const run = await t.client.start(wait, undefined, { id: "w" });
    await expect(run.result({ timeout: "90s" })).rejects.toMatchObject({
      code: "result_timeout",
      kind: "Timeout",
      message: 'Run "w" has not ended within 1m 30s; it is waiting. The run itself continues.',
    });
    await run.signal(go, 1);
    expect(await run.result({ timeout: "90s" })).toBe(1);
  });

  test("with a timeout says of a parked run that it is parked, why, and what to do", async () => {
    const stuck = workflow("stuck", () => new Promise<void>(() => {}));
    const fleet = openFleet();
    await fleet.worker({ workflows: [stuck] });
    const run = await fleet.client().start(stuck, undefined, { id: "s" });
    const told = fleet.clock.until(run.result({ timeout: "90s", onParked: "wait" }));
    await expect(told).rejects.toMatchObject({
      code: "result_timeout",
      data: { id: "s", status: "parked" },
      message: expect.stringMatching(
        /^Run "s" has not ended within 1m 30s; it is parked: Workflow "stuck" .*not a ctx operation.* The run has not ended\. .*call handle\.resume\(\).*handle\.terminate\(\) ends it/s,
      ),
    });
    await expect(told).rejects.not.toMatchObject({ message: expect.stringContaining("goes on.") });
  });

  test("in the test engine says why a run does not end, when nothing else can happen", async () => {
    const stuck = workflow("stuck", () => new Promise<void>(() => {}));
    const t = await openEngine(wait, stuck);
    const began = t.clock.now();
    await expect(t.run(wait, undefined, { id: "w" })).rejects.toMatchObject({
      code: "result_timeout",
      message: 'Nothing else can happen, and run "w" has not ended; it is waiting, for receive:go',
    });
    expect(t.clock.now()).toBe(began);
    const parked = await t.client.start(stuck, undefined, { id: "s" });
    await expect(parked.result({ onParked: "wait" })).rejects.toMatchObject({
      message: expect.stringMatching(
        /^Nothing else can happen, and run "s" has not ended; it is parked: Workflow "stuck"/,
      ),
    });
  });

  test("is given up when the client is closed, and the run goes on without it", async () => {
    const fleet = openFleet();
    await fleet.worker({ workflows: [wait] });
    const client = fleet.client();
    const run = await client.start(wait, undefined, { id: "w" });
    const waiting = expect(run.result()).rejects.toMatchObject({
      code: "client_closed",
      message: expect.stringContaining("The run itself continues."),
    });
    await fleet.clock.settle();
    await client.close();
    await waiting;
    await expect(client.start(wait)).rejects.toMatchObject({ code: "client_closed" });
    await expect(run.status()).rejects.toMatchObject({ code: "client_closed" });
    const other = fleet.client().get(wait, "w");
    await other.signal(go, 2);
    expect(await fleet.result(other)).toBe(2);
  });
});
