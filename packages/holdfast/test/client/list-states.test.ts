import { type ListFilter, NonRetryableError, signal, task, workflow } from "holdfast";
import { testEngine } from "holdfast/testing";
import { describe, expect, test } from "vitest";

const paid = signal("paid");
const approval = task<string, string>({ name: "approval", external: true });
const kid = workflow("kid", (ctx) => ctx.receive(paid));
const refuse = (): never => {
  throw new Error("card refused");
};

/** One run for each thing that a run can wait for. */
const waits = workflow("waits", async (ctx, what: string) => {
  if (what === "timer") await ctx.sleep("nap", "1 day");
  if (what === "signal") await ctx.receive(paid, { timeout: "2 days" });
  if (what === "condition") await ctx.until(() => false);
  if (what === "task") await ctx.task(approval, "please");
  if (what === "child") await ctx.child(kid);
  if (what === "backoff") await ctx.step("charge", refuse, { retry: { attempts: 5, fixed: "1 hour" } });
  if (what === "bug") (undefined as unknown as { bug: () => void }).bug();
  if (what === "fail") throw new NonRetryableError("no", { kind: "NotFound" } as never);
  if (what === "both") await Promise.all([ctx.sleep("nap", "1 day"), ctx.receive(paid)]);
});
const fails = workflow({ name: "fails", retry: { attempts: 3, fixed: "1 hour" } }, async (ctx) =>
  ctx.step("charge", refuse, { retry: "none" }),
);

async function filled() {
  const t = await testEngine({ workflows: [waits, kid, fails], onForgotten: "warn" });
  const began = t.clock.now();
  const whats = ["timer", "signal", "condition", "task", "child", "backoff", "bug", "fail", "both", "nothing"];
  for (const what of whats) await t.client.start(waits, what, { id: what });
  await t.client.start(fails, undefined, { id: "run retry" });
  await t.client.start(waits, "timer", { id: "later", delay: "1h" });
  await t.clock.advance("1m");
  const ids = async (filter: ListFilter) => {
    const { runs } = await t.client.list(filter);
    expect(await t.client.count(filter)).toBe(runs.length);
    return runs.map(({ id }) => id).sort();
  };
  return { t, ids, began };
}

describe("a list", () => {
  test("finds runs by what they wait for", async () => {
    const { t, ids } = await filled();
    expect(await ids({ waitingFor: "nap" })).toEqual(["both", "timer"]);
    expect(await ids({ waitingFor: "receive:" })).toHaveLength(3);
    expect(await ids({ waitingFor: "receive:paid", workflow: "waits" })).toEqual(["both", "signal"]);
    expect(await ids({ waitingFor: "until:" })).toEqual(["condition"]);
    expect(await ids({ waitingFor: "approval" })).toEqual(["task"]);
    expect(await ids({ waitingFor: "charge" })).toEqual(["backoff", "run retry"]);
    expect(await ids({ retrying: true })).toEqual(["backoff", "run retry"]);
    expect(await ids({ retrying: true, workflow: "fails" })).toEqual(["run retry"]);
    expect(await ids({ retrying: false, waitingFor: "approval" })).toEqual(["task"]);
    await t.close();
  });

  test("finds runs by their error, their end, and how long they have waited", async () => {
    const { t, ids, began } = await filled();
    const at = (minutes: number) => new Date(began + minutes * 60_000);
    expect(await ids({ error: "workflow_bug" })).toEqual(["bug"]);
    expect(await ids({ error: "nothing" })).toEqual([]);
    expect(await ids({ endedAfter: at(-1) })).toEqual(["fail", "nothing"]);
    expect(await ids({ endedAfter: at(2) })).toEqual([]);
    expect(await ids({ endedBefore: at(2), status: "completed" })).toEqual(["nothing"]);
    await t.clock.advance("59m");
    expect(await ids({ waitingSince: at(30), retrying: true })).toEqual([]);
    expect(await ids({ waitingSince: at(0), waitingFor: "receive:", workflow: "waits" })).toEqual(["both", "signal"]);
    expect(await ids({ waitingSince: at(70), retrying: true })).toEqual(["backoff", "run retry"]);
    expect(await t.client.count({ workflow: "waits", atMost: 3 })).toBe(3);
    expect(await t.client.count({ workflow: "waits", atMost: 100 })).toBe(11);
    await t.close();
  });

  test("says of each run what it waits for, without reading more than its row", async () => {
    const { t } = await filled();
    const before = { ...t.store.calls };
    const { runs } = await t.client.list({ limit: 100 });
    const calls = Object.entries(t.store.calls).filter(([name, n]) => n !== (before[name as keyof typeof before] ?? 0));
    expect(calls.map(([name]) => name)).toEqual(["runs.list"]);
    const why = Object.fromEntries(runs.map((run) => [run.id, run.why]));
    expect(why["timer"]).toMatchObject({ kind: "timer", op: "nap", at: expect.any(Date), text: 'timer "nap"' });
    expect(why["signal"]).toMatchObject({ kind: "signal", op: "receive:paid", text: 'signal "paid"' });
    expect(why["condition"]).toMatchObject({ kind: "condition" });
    expect(why["task"]).toMatchObject({ kind: "task", op: "approval", text: 'task "approval"' });
    expect(why["child"]).toMatchObject({ kind: "child", op: "kid", text: 'child "kid"' });
    expect(why["backoff"]).toMatchObject({ kind: "backoff", op: "charge", text: 'the next attempt of "charge"' });
    expect(why["run retry"]).toMatchObject({ kind: "backoff", op: "charge" });
    expect(why["bug"]).toMatchObject({ kind: "parked", error: { code: "workflow_bug" }, text: "parked: workflow_bug" });
    expect(why["fail"]).toMatchObject({ kind: "ended", text: expect.stringMatching(/^failed: /) });
    expect(why["nothing"]).toMatchObject({ kind: "ended", text: "completed" });
    expect(why["both"]?.text).toBe('timer "nap" and 1 more');
    expect(why["later"]).toMatchObject({ kind: "start_delay", at: expect.any(Date) });
    for (const run of runs) expect(run.waitingFor.join()).not.toMatch(/#0/);
    const described = await t.client.get("backoff").describe();
    expect(described).toMatchObject({ waitingFor: ["charge"], why: { kind: "backoff", op: "charge" } });
    expect((await t.client.why("backoff")).waitingFor).toEqual(["charge"]);
    await t.close();
  });

  test("says when something last happened to a run", async () => {
    const { t, began } = await filled();
    const updatedAt = async (id: string) => {
      const { runs } = await t.client.list({ id });
      const described = await t.client.get(id).describe();
      expect(runs[0]?.updatedAt).toEqual(described.updatedAt);
      return (described.updatedAt.getTime() - began) / 60_000;
    };
    expect(await updatedAt("timer")).toBe(0);
    expect(await updatedAt("both")).toBe(0);
    await t.client.get("both").signal(paid);
    await t.clock.advance("1m");
    expect(await updatedAt("both")).toBe(1);
    expect(await updatedAt("nothing")).toBe(0);
    expect(await updatedAt("later")).toBe(0);
    await t.close();
  });

  test("refuses filters that no run can have", async () => {
    const t = await testEngine({ workflows: [waits] });
    const refused = async (filter: object, message: string) => {
      const error = { code: "invalid_option", message: expect.stringContaining(message) };
      await expect(t.client.list(filter)).rejects.toMatchObject(error);
      await expect(t.client.count(filter)).rejects.toMatchObject(error);
    };
    await refused({ waitingFor: "" }, "waitingFor is empty");
    await refused({ waitingFor: 1 }, "waitingFor is not a string");
    await refused({ error: "a\u0000" }, "error contains a NUL");
    await refused({ retrying: "yes" }, "it may be true or false");
    await refused({ endedAfter: 1 }, "endedAfter is not a valid Date");
    await refused({ waitingSince: "1h" }, "waitingSince is not a valid Date");
    await expect(t.client.count({ atMost: 0 })).rejects.toMatchObject({ code: "invalid_option" });
    await t.close();
  });
});
