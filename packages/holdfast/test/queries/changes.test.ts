import { describe, expect, test } from "vitest";
import { query, update, workflow } from "../../src/index.ts";
import { replay, testEngine } from "../../src/testing/index.ts";
import { Cluster, Gate } from "../lab/harness.ts";

const put = update<string, number>("put");
const items = query<readonly string[]>("items");
const grab = query<number>("grab");
const later = query<number>("later");
const release = query<number>("release");

/** Waits for items. With `work`, a step keeps it with its worker meanwhile. */
function shop(work?: () => unknown) {
  return workflow("shop", async (ctx) => {
    const list: string[] = [];
    let open: (() => void) | undefined;
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    ctx.on(items, () => list);
    ctx.on(put, (item) => list.push(item));
    ctx.on(grab, () => list.push("stolen"));
    ctx.on(later, () => {
      void Promise.resolve().then(() => ctx.step("unasked", () => 1));
      return 1;
    });
    ctx.on(release, () => {
      open?.();
      return 1;
    });
    void opened.then(() => ctx.step("unasked", () => 1));
    const working = work ? ctx.step("work", work) : undefined;
    await ctx.until(() => list.length >= 1);
    await working;
    return list;
  });
}

const CHANGING = [
  ["makes true what ctx.until waits for", grab],
  ["uses ctx a moment later", later],
  ["wakes the code of the run", release],
] as const;

describe.each(CHANGING)("a query that %s", (_, changing) => {
  test("fails, and leaves nothing behind in a run that nobody holds", async () => {
    const w = shop();
    const t = await testEngine({ workflows: [w] });
    const run = await t.client.start(w);
    await t.clock.advance("1s");
    for (let round = 0; round < 2; round++) {
      await expect(run.query(changing)).rejects.toMatchObject({ code: "query_failed", data: { name: changing.name } });
      expect(await run.query(items)).toEqual([]);
    }
    expect(await run.status()).toBe("waiting");
    expect(await run.update(put, "lamp")).toBe(1);
    expect(await run.result()).toEqual(["lamp"]);
    expect(await replay(w, await run.history())).toEqual({ output: ["lamp"] });
    await t.close();
  });

  test("fails, and leaves nothing behind in a run that a worker holds", async () => {
    const cluster = new Cluster();
    const gate = new Gate();
    let calls = 0;
    const w = shop(() => {
      calls += 1;
      return gate.opened;
    });
    const process = cluster.process("p");
    await process.worker({ workflows: [w] });
    const run = await cluster.until(process.client.start(w));
    await cluster.until(cluster.wait(100));
    for (let round = 0; round < 2; round++) {
      await expect(cluster.until(run.query(changing))).rejects.toMatchObject({ code: "query_failed" });
      expect(await cluster.until(run.query(items))).toEqual([]);
    }
    expect(await cluster.until(run.status())).toBe("running");
    expect(await cluster.until(run.update(put, "lamp"))).toBe(1);
    gate.open();
    expect(await cluster.until(run.result())).toEqual(["lamp"]);
    expect(calls).toBe(1);
    const history = await cluster.until(run.history());
    expect(history.filter(({ op }) => op === "unasked")).toEqual([]);
    expect(await replay(w, history)).toEqual({ output: ["lamp"] });
  });

  test("fails while the run is being written, and the run goes on as if nothing had been asked", async () => {
    const cluster = new Cluster();
    const process = cluster.process("p", async (method, _params, next) => {
      if (method === "runs.commit") await cluster.wait(1_000);
      return next();
    });
    const w = shop(() => cluster.wait(700));
    await process.worker({ workflows: [w] });
    const run = await cluster.until(process.client.start(w));
    const outcomes: unknown[] = [];
    for (let i = 0; i < 8; i++) {
      const asked = run.query(changing).then(
        () => "answered",
        (error) => error.code,
      );
      await cluster.until(cluster.wait(250));
      outcomes.push(await cluster.until(asked));
    }
    expect(new Set(outcomes)).toEqual(new Set(["query_failed"]));
    expect(await cluster.until(run.update(put, "lamp"))).toBe(1);
    expect(await cluster.until(run.result())).toEqual(["lamp"]);
    const history = await cluster.until(run.history());
    expect(await replay(w, history)).toEqual({ output: ["lamp"] });
  });
});

test("the answer of a query is a copy: what its caller does to it changes nothing", async () => {
  const w = shop();
  const t = await testEngine({ workflows: [w] });
  const run = await t.client.start(w);
  const answer = (await run.query(items)) as string[];
  answer.push("mine");
  expect(await run.query(items)).toEqual([]);
  await t.close();
});

test("a validate that makes true what ctx.until waits for rejects its update, and leaves nothing behind", async () => {
  const careless = update<string, number>("careless");
  const w = workflow("w", async (ctx) => {
    const list: string[] = [];
    ctx.on(items, () => list);
    ctx.on(careless, { validate: (item) => void list.push(item), handle: () => 1 });
    ctx.on(put, (item) => list.push(item));
    await ctx.until(() => list.length >= 1);
    return list;
  });
  const t = await testEngine({ workflows: [w] });
  const run = await t.client.start(w);
  await expect(run.update(careless, "x")).rejects.toMatchObject({ code: "update_rejected" });
  expect(await run.query(items)).toEqual([]);
  expect(await run.update(put, "lamp")).toBe(1);
  expect(await run.result()).toEqual(["lamp"]);
  expect(await replay(w, await run.history())).toEqual({ output: ["lamp"] });
  await t.close();
});
