// What hf.why says about runs and tasks that wait for a place in a queue with limits.
import { type Context, task, workflow } from "holdfast";
import { testEngine } from "holdfast/testing";
import { expect, onTestFinished, test } from "vitest";
import { Crowd } from "../lab/crowd.ts";
import { openEngine } from "../lab/fleet.ts";

const stay = workflow({ name: "stay", queue: "q" }, (ctx: Context) => ctx.sleep("stay", "1 hour"));

test("a run that waits for a place says which limit it is, and who has the places", async () => {
  const t = await openEngine(stay);
  await t.client.queues.set("q", { concurrency: 2, perKey: { concurrency: 1 } });
  const start = (id: string, key: string) => t.client.start(stay, undefined, { id, key });
  await start("a1", "a");
  await t.clock.advance("1 second");
  await start("a2", "a");
  await start("b1", "b");
  await start("c1", "c");
  await t.clock.advance("1 second");
  const second = await t.client.why("a2");
  expect(second).toMatchObject({ status: "pending", waitingFor: ["queue:q"], dueAt: null });
  expect(second.causes).toMatchObject([
    {
      kind: "limit",
      queue: "q",
      key: "a",
      limit: { of: "key", concurrency: 1 },
      holders: [{ id: "a1" }],
      run: { id: "a1" },
    },
  ]);
  expect(second.reason).toBe(
    'It waits for the only place of key "a" in queue "q": it is taken, by run "a1". Run "a1" waits for timer "stay".',
  );
  const third = await t.client.why("c1");
  expect(third.causes).toMatchObject([
    { kind: "limit", limit: { of: "queue", concurrency: 2 }, holders: [{ id: "a1" }, { id: "b1" }] },
  ]);
  const [listed] = (await t.client.list({ id: "c1" })).runs;
  expect(listed).toMatchObject({ id: "c1", key: "c", why: { kind: "limit", text: 'a place in queue "q"' } });
});

test("a run that is due, and is not in line yet because many have come before it, says the same", async () => {
  const t = await openEngine(stay);
  await t.client.queues.set("q", { concurrency: 1 });
  await t.client.start(stay, undefined, { id: "first" });
  await t.clock.advance("1 second");
  await t.client.startMany(Array.from({ length: 99 }, (_, i) => ({ workflow: stay, options: { id: `r${i}` } })));
  const why = await t.client.why("r50");
  expect(why.dueAt).not.toBeNull();
  expect(why.causes).toMatchObject([{ kind: "limit", limit: { of: "queue", concurrency: 1 }, run: { id: "first" } }]);
  expect(why.reason).toMatch(/^It waits for the only place of queue "q": it is taken, by run "first"\./);
});

test("a rate, a limit of 0 and a version that nobody serves are named", async () => {
  const t = await openEngine(stay);
  await t.client.queues.set("q", { rate: { limit: 1, per: "1 day" } });
  await t.client.start(stay, undefined, { id: "first" });
  await t.clock.advance("1 second");
  await t.client.start(stay, undefined, { id: "late", timeout: "2 days" });
  await t.clock.advance("1 second");
  const late = await t.client.why("late");
  const first = (await t.client.get("first").describe()).startedAt as Date;
  const at = new Date(first.getTime() + 86_400_000);
  expect(late.causes).toMatchObject([{ kind: "limit", limit: { of: "queue", rate: { limit: 1, burst: 1 } }, at }]);
  expect(late.causes[0]?.holders).toBeUndefined();
  const next = `It waits for the rate of queue "q" (1 in 1d): the next may begin at ${at.toISOString()}.`;
  expect(late.reason).toMatch(/^It times out at /);
  expect(late.reason).toContain(next);
  await t.client.queues.set("q", { concurrency: 0 });
  expect((await t.client.why("late")).reason).toContain('the limit of queue "q" is 0, so nothing begins');
  await t.client.queues.set("q", { perKey: { rate: { limit: 2, per: "1 hour", burst: 1 } } });
  await t.client.start(stay, undefined, { id: "k1", key: "k" });
  await t.clock.advance("1 second");
  await t.client.start(stay, undefined, { id: "k2", key: "k" });
  await t.clock.advance("1 second");
  const began = (await t.client.get("k1").describe()).startedAt as Date;
  const ofKey = await t.client.why("k2");
  expect(ofKey.causes).toMatchObject([
    { kind: "limit", key: "k", limit: { of: "key", rate: { limit: 2 } }, at: new Date(began.getTime() + 1_800_000) },
  ]);
  expect(ofKey.reason).toContain('It waits for the rate of key "k" in queue "q" (2 in 1h): the next may begin at ');
});

test("a parent that waits for a child which waits for the place of the parent is found as a circle", async () => {
  const child = workflow({ name: "child", queue: "q" }, async () => 1);
  const parent = workflow({ name: "parent", queue: "q" }, (ctx) => ctx.child(child, undefined, { id: "child" }));
  const t = await openEngine(parent, child);
  await t.client.queues.set("q", { concurrency: 1 });
  await t.client.start(parent, undefined, { id: "parent" });
  await t.clock.advance("10 seconds");
  const why = await t.client.why("child");
  expect(why.causes).toMatchObject([{ kind: "limit", circle: ["child", "parent"] }]);
  expect(why.reason).toContain('Runs "child" and "parent" wait for each other in a circle');
  expect((await t.client.why("parent")).causes).toMatchObject([{ kind: "child", circle: ["parent", "child"] }]);
  // One more place, and they go on.
  await t.client.queues.set("q", { concurrency: 2 });
  expect(await t.client.get("parent").result()).toBe(1);
});

test("a task that waits for a place is a limit, too", async () => {
  const seen = new Crowd();
  const work = task({ name: "work", queue: "tasks" }, () => seen.inside("x"));
  const both = workflow("both", (ctx: Context) => Promise.all([ctx.task(work, undefined), ctx.task(work, undefined)]));
  const t = await testEngine({ workflows: [both], tasks: [work] });
  onTestFinished(() => t.close());
  await t.client.queues.set("tasks", { concurrency: 1 });
  const run = await t.client.start(both, undefined, { id: "both" });
  await t.clock.advance("1 second");
  const why = await t.client.why("both");
  expect(why.causes).toMatchObject([
    { kind: "limit", op: "work#2", queue: "tasks", limit: { of: "queue", concurrency: 1 }, holders: [{ id: "both" }] },
    { kind: "task", op: "work" },
  ]);
  expect(why.reason).toContain('Task "work#2" waits for the only place of queue "tasks"');
  seen.letOut();
  await t.clock.advance("1 second");
  seen.letOut();
  await run.result();
});
