// What why() says of runs that wait for other runs, for messages, and for conditions: whole sentences, as a person reads them.
import { type AnyWorkflow, type Client, signal, update, type WorkflowDefinition, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { openEngine } from "../lab/fleet.ts";

const stamp = signal("stamp");
const add = update<string, string>("add");

async function reasonOf(
  id: string,
  start: (client: Client) => Promise<unknown>,
  ...workflows: AnyWorkflow[]
): Promise<string> {
  const t = await openEngine(...workflows);
  await start(t.client);
  await t.clock.advance("1s");
  return (await t.client.why(id)).reason;
}

describe("why() says in words", () => {
  test("which signal, of a run and of one at the end of a chain", async () => {
    const leaf = workflow("leaf", async (ctx) => ctx.receive(stamp));
    const middle = workflow("middle", async (ctx) => ctx.child(leaf, undefined, { id: "leaf-1" }));
    const top = workflow("top", async (ctx) => ctx.child(middle, undefined, { id: "middle-1" }));
    const t = await openEngine(top, middle, leaf);
    await t.client.start(top, undefined, { id: "top-1" });
    await t.clock.settle();
    expect((await t.client.why("leaf-1")).reason).toBe('It waits for signal "stamp"; no timer is set.');
    expect((await t.client.why("top-1")).reason).toBe(
      'It waits for child "middle"; no timer is set. Child "middle" (run "middle-1") waits for run "leaf-1", which waits for signal "stamp".',
    );
  });

  test("which condition, and which updates are being handled", async () => {
    const w = workflow("w", async (ctx) => {
      ctx.on(add, async (text) => {
        await ctx.sleep("a while", "1 day");
        return text;
      });
      await ctx.until(() => false);
    });
    const start = (client: Client): Promise<unknown> =>
      client.start(w, undefined, { id: "w" }).then((run) => run.update(add, "x", { wait: "accepted" }));
    expect(await reasonOf("w", start, w)).toMatch(
      /^It waits for a condition \("until:condition"\), "a while", at the latest until \S+Z\. The handler of update "add" has not finished; it began 1s ago\.$/,
    );
    const parent = workflow("parent", async (ctx) => ctx.child(w, undefined, { id: "w" }));
    expect(await reasonOf("p", (client) => client.start(parent, undefined, { id: "p" }), parent, w)).toBe(
      'It waits for child "w"; no timer is set. Child "w" waits for a condition ("until:condition").',
    );
  });

  test("which result, and which answer", async () => {
    const slow = workflow("slow", async (ctx) => {
      ctx.on(add, async (text) => {
        await ctx.sleep("a while", "1 day");
        return text;
      });
      await ctx.sleep("long", "2 days");
    });
    const reader = workflow("reader", async (ctx) => ctx.resultOf("s"));
    const start = async (client: Client): Promise<void> => {
      await client.start(slow, undefined, { id: "s" });
      await client.start(reader, undefined, { id: "r" });
    };
    expect(await reasonOf("r", start, slow, reader)).toBe(
      'It waits for the result of run "s"; no timer is set. Run "s" waits for timer "long".',
    );
    const asker = workflow("asker", async (ctx) => {
      const child = await ctx.startChild(slow, undefined, { id: "c" });
      return child.update(add, "x");
    });
    expect(await reasonOf("a", (client) => client.start(asker, undefined, { id: "a" }), asker, slow)).toContain(
      'It waits for child "slow", the answer to update "add"',
    );
  });

  test("what has become of a child: parked, ended, between two attempts, not served", async () => {
    const bug = workflow("bug", async () => {
      throw new TypeError("oops");
    });
    const flaky = workflow("flaky", async (ctx) =>
      ctx.step("call", () => Promise.reject(new Error("down")), { retry: { attempts: 3, fixed: "1h" } }),
    );
    const parent = workflow("parent", async (ctx, kind: "bug" | "flaky" | "unserved") =>
      kind === "unserved"
        ? ctx.child(unserved, undefined, { id: "u" })
        : ctx.child(kind === "bug" ? bug : flaky, undefined, { id: "c" }),
    );
    const unserved = workflow("unserved", async () => "never");
    const say = (kind: "bug" | "flaky" | "unserved"): Promise<string> =>
      reasonOf("p", (client) => client.start(parent, kind, { id: "p" }), parent, bug, flaky);
    expect(await say("bug")).toContain(
      'Child "bug" (run "c") waits for somebody to resume it: it is parked (workflow_bug).',
    );
    expect(await say("flaky")).toContain('Child "flaky" (run "c") waits for the next attempt of "call".');
    expect(await say("unserved")).toContain(
      'Child "unserved" (run "u") waits for a worker: no live one offers its workflow.',
    );
  });

  test("how a run ended, with one full stop", async () => {
    const w = workflow("w", async () => {
      throw new Error('No such "order".');
    });
    const t = await openEngine(w);
    await (await t.client.start(w, undefined, { id: "w" })).result().catch(() => {});
    expect((await t.client.why("w")).reason).toBe('It is failed: No such "order". It waits for nothing.');
  });

  test("not all of many children one by one", async () => {
    const leaf = workflow("leaf", async (ctx) => ctx.receive(stamp));
    const top = workflow("top", async (ctx) => {
      await Promise.all(Array.from({ length: 30 }, () => ctx.child(leaf)));
    });
    const reason = await reasonOf("t", (client) => client.start(top, undefined, { id: "t" }), top, leaf);
    expect(reason).toContain(
      'It waits for child "leaf", child "leaf#2", child "leaf#3", child "leaf#4", child "leaf#5" and at least 15 more; no timer is set.',
    );
    expect(reason.length).toBeLessThan(600);
  });
});

describe("a circle of waits", () => {
  const waiter = workflow("waiter", async (ctx, others: string[]) => {
    for (const other of others) void ctx.resultOf(other);
    await ctx.until(() => false);
  });

  async function circle(waits: Record<string, string[]>, asked: string) {
    const t = await openEngine(waiter);
    for (const [id, others] of Object.entries(waits)) await t.client.start(waiter, others, { id, delay: "1m" });
    await t.clock.advance("2m");
    return t.client.why(asked);
  }

  test("is shown where the run is one of it, and where it only waits for one that is", async () => {
    const inside = await circle({ a: ["b"], b: ["c"], c: ["a"] }, "a");
    expect(inside.causes[0]).toMatchObject({ kind: "child", run: { id: "b" }, circle: ["a", "b", "c"] });
    expect(inside.reason).toContain(
      'Runs "a", "b" and "c" wait for each other in a circle; none of them ends on its own.',
    );
    const beyond = await circle({ a: ["b"], b: ["c"], c: ["b"] }, "a");
    expect(beyond.causes[0]).toMatchObject({ circle: ["b", "c"] });
    expect(beyond.reason).toContain(
      'Run "b" never ends: runs "b" and "c" wait for each other in a circle; none of them ends on its own.',
    );
  });

  test("is found behind another wait of the run in between", async () => {
    const found = await circle({ a: ["b"], b: ["x", "a"], x: [] }, "a");
    expect(found.causes[0]).toMatchObject({ circle: ["a", "b"] });
  });
});

test("why looks at a bounded number of runs, however many wait for each other", async () => {
  const wide: WorkflowDefinition<number, void> = workflow("wide", async (ctx, depth: number): Promise<void> => {
    if (depth === 0) await ctx.receive(stamp);
    else await Promise.all([1, 2, 3].map(() => ctx.child(wide, depth - 1)));
  });
  const t = await openEngine(wide);
  await t.client.start(wide, 5, { id: "top" }); // 364 runs
  await t.clock.settle();
  const { causes } = await t.client.why("top");
  const runs = JSON.stringify(causes).split('"run":').length - 1;
  expect(runs).toBeGreaterThan(3);
  expect(runs).toBeLessThanOrEqual(60);
});

test("a run of another namespace is not mistaken for one of the same id in this one", async () => {
  const ours = workflow("ours", async (ctx) => ctx.resultOf({ namespace: "theirs", id: "x" }));
  const t = await openEngine(ours);
  await t.client.start(ours, undefined, { id: "x" });
  await t.clock.settle();
  const { causes } = await t.client.why("x");
  expect(causes.every(({ circle }) => circle === undefined)).toBe(true);
});
