// What people see of locks: why(), steps(), hf.locks.list.
import { type Context, signal, workflow } from "holdfast";
import { expect, test } from "vitest";
import { openEngine, openFleet } from "../lab/fleet.ts";
import { LockedRoom } from "../lab/locked-room.ts";

const go = signal("go");

test("why() names the holders of a lock and the place in line, and hf.locks.list shows both", async () => {
  const room = new LockedRoom();
  const visit = workflow("visit", (ctx: Context) => room.visit(ctx, { limit: 2 }, "1 day"));
  const t = await openEngine(visit);
  for (const id of ["a", "b", "c", "d"]) await t.client.start(visit, undefined, { id });
  await t.clock.advance("1s");
  const why = await t.client.why("d");
  expect(why.waitingFor).toEqual(["lock:room"]);
  expect(why.causes).toMatchObject([
    { kind: "lock", op: "lock:room", position: 2, holders: [{ id: "a" }, { id: "b" }], cause: { kind: "timer" } },
  ]);
  expect(why.reason).toBe(
    'It waits for lock "room"; no timer is set. Lock "room" is held by runs "a" and "b". This run is number 2 in line. Run "a" waits for timer "stay".',
  );
  const lock = await t.client.locks.list("room");
  expect(lock).toMatchObject({
    name: "room",
    limit: 2,
    waiting: [
      { id: "c", position: 1 },
      { id: "d", position: 2 },
    ],
  });
  expect(lock.holders).toMatchObject([
    { id: "a", op: "lock:room" },
    { id: "b", op: "lock:room" },
  ]);
  expect(lock.holders.every(({ fence }) => fence > 0)).toBe(true);
  expect(await t.client.locks.list("other")).toEqual({ name: "other", limit: null, holders: [], waiting: [] });
  const steps = (id: string) => t.client.get(id).steps();
  expect((await steps("a"))[0]).toMatchObject({ op: "lock:room", kind: "lock", status: "running" });
  expect((await steps("d"))[0]).toMatchObject({ op: "lock:room", kind: "lock", status: "waiting" });
  const [listed] = (await t.client.list({ status: "waiting" })).runs.filter(({ id }) => id === "d");
  expect(listed?.why).toMatchObject({ kind: "lock", text: 'lock "room"' });
});

test("why() does not take a run for one that waits for itself that has been granted the lock and does not know it yet", async () => {
  const held = workflow("held", (ctx: Context) => ctx.withLock("x", () => ctx.receive(go)));
  const fleet = openFleet();
  const client = fleet.client();
  const worker = await fleet.worker({ workflows: [held] });
  for (const id of ["first", "second"]) await client.start(held, undefined, { id });
  await fleet.clock.settle();
  await worker.stop();
  await client.get("first").terminate();
  await fleet.clock.settle();
  expect((await client.locks.list("x")).holders).toMatchObject([{ id: "second" }]);
  const { causes, reason } = await client.why("second");
  expect(causes.filter(({ kind }) => kind === "lock").map(({ circle }) => circle)).not.toContainEqual(
    expect.anything(),
  );
  expect(reason).not.toContain("its own end");
});

test("why() finds two runs that wait for each other's locks", async () => {
  const crossed = workflow("crossed", (ctx: Context, [first, second]: [string, string]) =>
    ctx.withLock(first, async () => {
      await ctx.receive(go);
      return ctx.withLock(second, () => "both");
    }),
  );
  const t = await openEngine(crossed);
  const one = await t.client.start(crossed, ["x", "y"], { id: "one" });
  const two = await t.client.start(crossed, ["y", "x"], { id: "two" });
  await t.clock.settle();
  await one.signal(go);
  await two.signal(go);
  await t.clock.advance("1s");
  const why = await t.client.why("one");
  expect(why.causes).toMatchObject([{ kind: "lock", op: "lock:y", circle: ["one", "two"] }]);
  expect(why.reason).toContain('Runs "one" and "two" wait for each other in a circle');
  await two.cancel();
  expect(await one.result()).toBe("both");
});

test("why() finds a parent that holds the lock its child waits for", async () => {
  const child = workflow("child", (ctx: Context) => ctx.withLock("x", () => 1));
  const parent = workflow("parent", (ctx: Context) =>
    ctx.withLock("x", () => ctx.child(child, undefined, { id: "child" })),
  );
  const t = await openEngine(parent, child);
  await t.client.start(parent, undefined, { id: "parent" });
  await t.clock.advance("1s");
  expect((await t.client.why("child")).causes[0]).toMatchObject({ kind: "lock", circle: ["child", "parent"] });
  expect((await t.client.why("parent")).causes[0]).toMatchObject({ kind: "child", circle: ["parent", "child"] });
});
