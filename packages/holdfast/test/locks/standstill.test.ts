// A run that was retried or forked inside of a lock, and what happens to it before the lock is regained.
import { type Context, signal, update, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { LockedRoom } from "../lab/locked-room.ts";
import { openWorld } from "../lab/world.ts";

const go = signal("go");
const ask = update<void, string>("ask");

/** A run that fails inside of the room, answers updates there, and a visitor who stays in the room for ten minutes. */
function parties() {
  const room = new LockedRoom();
  const notes: string[] = [];
  const failing = { now: true };
  const job = workflow("job", (ctx: Context) =>
    ctx.withLock("room", async () => {
      const note = (what: string) => notes.push(`${what} ${[...room.inside]}`);
      ctx.on(ask, () => {
        note("asked");
        return "answered";
      });
      const work = () => (failing.now ? Promise.reject(new Error("not yet")) : undefined);
      const told = ctx.receive(go).then(() => ctx.sideEffect("told", () => note("told")));
      const rested = ctx.sleep("rest", "5 minutes").then(() => ctx.sideEffect("rested", () => note("rested")));
      await ctx.step("work", work, { retry: "none" });
      await Promise.race([told, rested]);
      return "done";
    }),
  );
  const visit = workflow("visit", (ctx: Context) => room.visit(ctx, {}, "10 minutes"));
  return { room, notes, failing, job, visit };
}

describe("a run that is to regain a lock stands still", () => {
  test("a signal, an update and a timer reach the code of a retried run once it has the lock", async () => {
    const { room, notes, failing, job, visit } = parties();
    const world = openWorld();
    const client = world.client();
    await world.worker(client, { workflows: [job, visit] });
    const run = await client.start(job, undefined, { id: "job" });
    await expect(world.result(run)).rejects.toMatchObject({ code: "run_failed" });
    failing.now = false;
    const visitor = await client.start(visit, undefined, { id: "visitor" });
    await world.clock.settle();
    await run.retry();
    await run.signal(go);
    const answer = run.update(ask, undefined, { timeout: "1 day" });
    await world.clock.advance("7 minutes");
    expect({ notes, inside: [...room.inside] }).toEqual({ notes: [], inside: ["visitor"] });
    expect(await world.clock.until(answer)).toBe("answered");
    expect(await world.result(run)).toBe("done");
    expect(await world.result(visitor)).toBe("visitor");
    // Nobody else was inside.
    expect(notes).toEqual(["told ", "asked ", "rested "]);
    expect(world.store.state.locks.size).toBe(0);
  });

  test("a fork does not end before it has the lock, whatever is edited", async () => {
    const { room, notes, failing, job, visit } = parties();
    failing.now = false;
    const world = openWorld();
    const client = world.client();
    await world.worker(client, { workflows: [job, visit] });
    const run = await client.start(job, undefined, { id: "job" });
    await run.signal(go);
    await world.result(run);
    notes.length = 0;
    const visitor = await client.start(visit, undefined, { id: "visitor" });
    await world.clock.settle();
    const fork = await run.fork({ before: "work", id: "fork", edit: { work: { result: 1 } } });
    await fork.signal(go);
    await world.clock.advance("7 minutes");
    expect({ notes, inside: [...room.inside] }).toEqual({ notes: [], inside: ["visitor"] });
    expect(await fork.status()).not.toBe("completed");
    expect(await world.result(fork)).toBe("done");
    await world.result(visitor);
    expect(notes).not.toContainEqual(expect.stringContaining("visitor"));
  });

  test("its unread messages do not keep the only slot from the run that holds the lock", async () => {
    const { failing, job, visit } = parties();
    const world = openWorld();
    const client = world.client();
    await world.worker(client, { workflows: [job, visit], concurrency: 1, cacheSize: 0 });
    const run = await client.start(job, undefined, { id: "job" });
    await expect(world.result(run)).rejects.toMatchObject({ code: "run_failed" });
    failing.now = false;
    const visitor = await client.start(visit, undefined, { id: "visitor" });
    await world.clock.advance("1 minute");
    await run.retry();
    await run.signal(go);
    expect(await world.result(visitor)).toBe("visitor");
    expect(await world.result(run)).toBe("done");
  });

  test("a cancel and a pause do not wait", async () => {
    const { failing, job, visit } = parties();
    const world = openWorld();
    const client = world.client();
    await world.worker(client, { workflows: [job, visit] });
    const runs = [await client.start(job, undefined, { id: "a" }), await client.start(job, undefined, { id: "b" })];
    for (const run of runs) await expect(world.result(run)).rejects.toMatchObject({ code: "run_failed" });
    failing.now = false;
    await client.start(visit, undefined, { id: "visitor" });
    await world.clock.settle();
    for (const run of runs) {
      await run.retry();
      await run.signal(go);
    }
    await world.clock.advance("1 minute");
    await runs[0]?.cancel();
    await runs[1]?.pause();
    await world.clock.advance("1 minute");
    expect(await Promise.all(runs.map((run) => run.status()))).toEqual(["canceled", "parked"]);
  });
});
