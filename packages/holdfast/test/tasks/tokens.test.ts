import { task, workflow } from "holdfast";
import { expect, test } from "vitest";
import { openFleet } from "../lab/fleet.ts";

const approval = task<{ order: string }, { by: string }>({ name: "approval", external: true });
const order = workflow("order", async (ctx, id: string) => (await ctx.task(approval, { order: id })).by);

test("a person completes an external task with its token, once", async () => {
  const fleet = openFleet();
  const client = fleet.client();
  await fleet.worker({ workflows: [order] });
  const run = await client.start(order, "o-1");
  await fleet.clock.settle();
  const { tasks } = await client.tasks.list({ name: "approval", status: "external" });
  expect(tasks.map(({ input, runId }) => ({ input, runId }))).toEqual([{ input: { order: "o-1" }, runId: run.runId }]);
  const token = tasks[0]?.token as string;
  const answers = await Promise.allSettled([
    client.tasks.complete(token, { by: "ann" }),
    client.tasks.complete(token, { by: "bob" }),
  ]);
  expect(answers.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  const by = await fleet.clock.until(run.result());
  expect(by).toBe(answers[0]?.status === "fulfilled" ? "ann" : "bob");
  await expect(client.tasks.complete(token, { by: "eve" })).rejects.toMatchObject({ code: "task_closed" });
});

test("what is about workers has no effect on an external task", async () => {
  const fleet = openFleet();
  const options = { startTimeout: "1m", requires: ["gpu"], onCrash: "fail" } as const;
  const asks = workflow("asks", async (ctx) => ctx.task(approval, { order: "o-1" }, options));
  await fleet.worker({ workflows: [asks] });
  const client = fleet.client();
  const run = await client.start(asks);
  await fleet.clock.advance("1h");
  const [open] = (await client.tasks.list({ status: "external" })).tasks;
  await client.tasks.complete(open?.token as string, { by: "ann" });
  expect(await fleet.clock.until(run.result())).toEqual({ by: "ann" });
});

test("a token that belongs to no task is told from one that is over", async () => {
  const fleet = openFleet();
  const client = fleet.client();
  await fleet.worker({ workflows: [order] });
  const run = await client.start(order, "o-1");
  await fleet.clock.settle();
  const [found] = (await client.tasks.list()).tasks;
  const token = found?.token as string;
  const forged = `${token.slice(0, -32)}${"0".repeat(32)}`;
  await expect(client.tasks.complete(forged, { by: "eve" })).rejects.toMatchObject({ code: "task_not_found" });
  await expect(client.tasks.complete("nonsense", 1)).rejects.toMatchObject({ code: "invalid_option" });
  await run.terminate("enough");
  await expect(client.tasks.complete(token, { by: "ann" })).rejects.toMatchObject({ code: "task_closed" });
  await expect(fleet.client({ namespace: "other" }).tasks.get(token)).rejects.toMatchObject({ code: "task_not_found" });
});

test("a worker begins a task, and someone with its token completes it later", async () => {
  const fleet = openFleet();
  const client = fleet.client();
  let token = "";
  const print = task<string, { pages: number }>("print", async (_text, t) => {
    token = t.token;
    return t.completeLater();
  });
  const main = workflow("main", async (ctx) => (await ctx.task(print, "book")).pages);
  await fleet.worker({ workflows: [main] });
  const printer = await fleet.worker({ tasks: [print], taskConcurrency: 1 });
  const run = await client.start(main);
  await fleet.clock.settle();
  expect(printer.activeTasks).toBe(0);
  expect(await client.tasks.heartbeat(token, { page: 3 })).toEqual({ canceled: false });
  expect(await client.tasks.get(token)).toMatchObject({ status: "external", lastDetails: { page: 3 }, attempt: 1 });
  await client.tasks.complete(token, { pages: 12 });
  expect(await fleet.clock.until(run.result())).toBe(12);
});

test("an attempt that is failed with its token counts, and the next one has another token", async () => {
  const fleet = openFleet();
  const client = fleet.client();
  const check = task<string, string>({ name: "check", external: true, retry: { attempts: 2, fixed: "1s" } });
  const main = workflow("main", async (ctx) =>
    ctx.task(check, "it").catch((error: { message: string }) => error.message),
  );
  await fleet.worker({ workflows: [main] });
  const run = await client.start(main);
  await fleet.clock.settle();
  const first = (await client.tasks.list()).tasks[0]?.token as string;
  await client.tasks.fail(first, new Error("not now"));
  const [again] = (await client.tasks.list()).tasks;
  expect(again).toMatchObject({ attempt: 2, status: "external", error: { message: "not now" } });
  await expect(client.tasks.complete(first, "yes")).rejects.toMatchObject({ code: "task_closed" });
  await client.tasks.fail(again?.token as string, new Error("never"));
  expect(await fleet.clock.until(run.result())).toBe("never");
});

test("a dead letter can be listed, looked at and taken up again: its run goes on", async () => {
  const fleet = openFleet();
  const client = fleet.client();
  let broken = true;
  const ship = task({ name: "ship", retry: "none" }, (id: string) => {
    if (broken) throw new Error("no carrier");
    return `shipped ${id}`;
  });
  const main = workflow("main", async (ctx) => ctx.task(ship, "o-1"));
  await fleet.worker({ workflows: [main] });
  await fleet.worker({ tasks: [ship] });
  const run = await client.start(main, undefined, { id: "order-1" });
  await expect(fleet.clock.until(run.result())).rejects.toMatchObject({ code: "run_failed" });
  const [dead] = (await client.tasks.list({ status: "dead" })).tasks;
  expect(dead).toMatchObject({ name: "ship", input: "o-1", attempt: 1, error: { message: "no carrier" } });
  broken = false;
  await client.tasks.retry(dead?.token as string);
  expect(await fleet.clock.until(run.result())).toBe("shipped o-1");
  expect((await client.tasks.list()).tasks).toEqual([]);
});

test("a dead letter that its run has not failed on is not taken up, and the run is left as it is", async () => {
  const fleet = openFleet();
  const broken = (name: string) =>
    task({ name, retry: "none" }, (): string => {
      throw new Error(`no ${name}`);
    });
  const [optional, needed] = [broken("optional"), broken("needed")];
  const main = workflow("main", async (ctx) => {
    await ctx.task(optional).catch(() => "without");
    return ctx.task(needed);
  });
  await fleet.worker({ workflows: [main], tasks: [optional, needed] });
  const client = fleet.client();
  const run = await client.start(main);
  await fleet.clock.until(run.result().catch(() => {}));
  const { tasks } = await client.tasks.list({ status: "dead", name: "optional" });
  await expect(client.tasks.retry(tasks[0]?.token ?? "")).rejects.toMatchObject({
    code: "run_not_failed",
    message: `tasks.retry: task "optional" of run ${run.runId} cannot be taken up again: its run has not failed on it, but went on. To continue the run where it failed, use retry() of its handle.`,
  });
  expect(await run.status()).toBe("failed");
});
