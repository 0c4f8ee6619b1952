import { signal, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { openFleet } from "../lab/fleet.ts";

const go = signal("go");

const order = workflow("order", async (ctx, amount: number) => {
  const a = await ctx.step("a", () => amount, { compensate: () => {} });
  if (a > 5 && ctx.info.id === "hop") return ctx.continueAsNew(1);
  if (a === 3) {
    await ctx.receive(go);
    throw new Error("too small");
  }
  return a + (await ctx.step("b", () => 1));
});

async function ended(amount: number) {
  const fleet = openFleet();
  await fleet.forgetful({ workflows: [order] });
  const run = await fleet.client().start(order, amount, { id: "o" });
  return { fleet, run };
}

describe("a fork that is asked for again under its id", () => {
  test("is the same run, whatever has become of it, and is made once", async () => {
    const { fleet, run } = await ended(1);
    await fleet.result(run);
    const options = { before: "b", id: "f", edit: { b: { result: { at: new Date(5) } } } };
    const fork = await run.fork(options);
    expect(await run.fork({ ...options, by: "ana" })).toMatchObject({ id: "f", runId: fork.runId, created: false });
    await fleet.result(fork);
    expect(await run.fork(options)).toMatchObject({ runId: fork.runId, created: false });
    expect(await fleet.client().count({ forkedFrom: run.runId })).toBe(1);
  });

  test("is the same run after it has continued as new", async () => {
    const { fleet, run } = await ended(1);
    await fleet.result(run);
    const hop = await run.fork({ before: "a", id: "hop", input: 6 });
    await fleet.result(hop);
    expect(await run.fork({ before: "a", id: "hop", input: 6 })).toMatchObject({ runId: hop.runId, created: false });
  });

  test("is the same run after its origin has undone what it has; another fork there is refused", async () => {
    const { fleet, run } = await ended(3);
    await fleet.clock.settle();
    const fork = await run.fork({ before: 3, id: "early" });
    await run.signal(go);
    await expect(fleet.result(run)).rejects.toMatchObject({ code: "run_failed" });
    expect((await run.history()).some(({ op }) => op === "compensate:a")).toBe(true);
    expect(await run.fork({ before: 3, id: "early" })).toMatchObject({ runId: fork.runId, created: false });
    await expect(run.fork({ before: 3, id: "late" })).rejects.toMatchObject({ code: "fork_refused" });
  });

  test("counts as the same with an error that was made elsewhere", async () => {
    const { fleet, run } = await ended(1);
    await fleet.result(run);
    const failure = (): Error => new Error("sold out", { cause: new TypeError("no stock") });
    const fork = await run.fork({ before: "b", id: "f", edit: { b: { error: failure() } } });
    const elsewhere = [failure()].map((error) => error)[0];
    expect(await run.fork({ before: "b", id: "f", edit: { b: { error: elsewhere } } })).toMatchObject({
      runId: fork.runId,
      created: false,
    });
  });

  test.for([
    ["at another place", { before: 1 }],
    ["with another input", { before: "b", input: 2 }],
    ["with other edits", { before: "b", edit: { b: { result: 8 } } }],
    ["with none of its edits", { before: "b", edit: {} }],
    ["with an error instead of a result", { before: "b", edit: { b: { error: new Error("7") } } }],
  ] as const)("is refused if it is another one: %s", async ([, options]) => {
    const { fleet, run } = await ended(1);
    await fleet.result(run);
    const fork = await run.fork({ before: "b", id: "f", edit: { b: { result: 7 } } });
    await expect(run.fork({ id: "f", ...options })).rejects.toMatchObject({
      code: "run_already_exists",
      message: expect.stringMatching(
        /^Run "f" already exists and is \w+, and it is not this fork\. A fork needs an id that no other run has: choose another one, or none\.$/,
      ),
      data: { id: "f", runId: fork.runId },
    });
  });

  test("is refused if the id belongs to a run that was started, or to a fork of another run", async () => {
    const { fleet, run } = await ended(1);
    await fleet.result(run);
    const other = await fleet.client().start(order, 1, { id: "other" });
    await fleet.result(other);
    await run.fork({ before: "b", id: "f" });
    for (const refused of [run.fork({ before: "b", id: "other" }), other.fork({ before: "b", id: "f" })])
      await expect(refused).rejects.toMatchObject({ code: "run_already_exists" });
  });
});
