import { task, workflow } from "holdfast";
import { expect, test } from "vitest";
import { openFleet } from "../lab/fleet.ts";

const NEVER = new Promise<never>(() => {});

test("why says what a run waits for, where its task stands in line, and what no worker has", async () => {
  const fleet = openFleet();
  const client = fleet.client();
  const render = task({ name: "render", queue: "video", requires: ["gpu"] }, () => {});
  const main = workflow("main", async (ctx) => ctx.task(render));
  await fleet.worker({ workflows: [main], tasks: [render], queues: ["default"] });
  await client.start(main, undefined, { id: "a" });
  await fleet.clock.advance("1s");
  await client.start(main, undefined, { id: "b" });
  await fleet.clock.settle();
  expect((await client.why("a")).reason).toBe(
    'It waits for "render"; no timer is set. Task "render" waits on queue "video", 1st in line; no live worker executes "render" on that queue.',
  );
  await fleet.worker({ tasks: [render], labels: ["cpu"] });
  const why = await client.why("b");
  expect(why.reason).toContain('Task "render" waits on queue "video", 2nd in line; no live worker has label gpu.');
  expect(why.causes).toMatchObject([{ kind: "task", op: "render", queue: "video", position: 2, requires: ["gpu"] }]);
});

test("why names every label that no worker has", async () => {
  const fleet = openFleet();
  const client = fleet.client();
  const render = task({ name: "render", requires: ["gpu", "zone=b", "cpu"] }, () => {});
  const main = workflow("main", async (ctx) => ctx.task(render));
  await fleet.worker({ workflows: [main] });
  await fleet.worker({ tasks: [render], labels: ["cpu"] });
  await client.start(main, undefined, { id: "a" });
  await fleet.clock.settle();
  expect((await client.why("a")).reason).toContain("; no live worker has the labels gpu, zone=b.");
});

test("why and steps show who has a task, how often it has failed, and who is to complete it", async () => {
  const fleet = openFleet();
  const client = fleet.client();
  const flaky = task({ name: "flaky", retry: { attempts: 5, fixed: "1h" } }, () => {
    throw new Error("no line");
  });
  const busy = task("busy", () => NEVER);
  const approval = task<undefined, string>({ name: "approval", external: true });
  const main = workflow("main", async (ctx) => {
    await Promise.all([ctx.task(flaky), ctx.task(busy), ctx.task(approval)]);
  });
  await fleet.worker({ workflows: [main] });
  await fleet.worker({ tasks: [flaky, busy], name: "porter" });
  const run = await client.start(main, undefined, { id: "a" });
  await fleet.clock.advance("5m");
  const { reason, causes } = await client.why("a");
  expect(reason).toContain('Task "busy" is being executed by worker porter.');
  expect(reason).toContain('Task "approval" waits for someone to complete it with its token.');
  expect(reason).toContain(
    'Task "flaky" has failed once of at most 5 times, with Error: no line; its next attempt is due at',
  );
  expect(causes.map(({ kind, op }) => `${kind} ${op}`)).toEqual(["backoff flaky", "task busy", "task approval"]);
  const steps = await run.steps();
  expect(steps.map(({ op, kind, status, attempts }) => ({ op, kind, status, attempts }))).toEqual([
    { op: "flaky", kind: "task", status: "retrying", attempts: 1 },
    { op: "busy", kind: "task", status: "running", attempts: 1 },
    { op: "approval", kind: "task", status: "waiting", attempts: 1 },
  ]);
});
