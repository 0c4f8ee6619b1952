import { type Context, signal, workflow } from "holdfast";
import { crashEverywhere, replay } from "holdfast/testing";
import { describe, expect, test } from "vitest";
import type { MemoryTransaction } from "../../src/memory/transactions/transact.ts";
import { askTransaction } from "../../src/replay/context/run-context.ts";
import { openEngine, openFleet } from "../lab/fleet.ts";

const go = signal<string>("go");

describe("ctx taken apart", () => {
  test("works for every member that a ctx has", async () => {
    const undone: string[] = [];
    const apart = workflow("apart", async (ctx, round: number) => {
      const { step, sleep, sleepUntil, receive, parallel, race, uncancelable, sideEffect } = ctx;
      const { now, random, uuid, set, patched, retired, compensate, continueAsNew, info, log, abortSignal } = ctx;
      log.info({ round }, "begun");
      compensate("undo", () => undone.push("undone"));
      retired("gone");
      set({ round });
      const begun = now();
      const values = [
        await step("step", (s) => s.attempt, { retry: "none" }),
        await sleep("nap", "1h"),
        await sleepUntil("later", new Date(begun.getTime() + 2 * 3_600_000)),
        await receive(go, { timeout: "1h" }),
        await parallel({ a: () => 1, b: () => 2 }),
        await race([() => "first"]),
        await uncancelable(() => "shielded"),
        sideEffect("flag", () => true),
        random() < 1,
        uuid("a") === ctx.uuid("a"),
        patched("change"),
        abortSignal.aborted,
      ];
      if (round === 1) return continueAsNew(2);
      return { values, slept: now().getTime() - begun.getTime(), workflow: info.workflow };
    });
    const t = await openEngine(apart);
    const run = await t.client.start(apart, 1, { id: "apart-1" });
    expect(await run.result()).toEqual({
      values: [
        1,
        undefined,
        undefined,
        undefined,
        { a: 1, b: 2 },
        { winner: 0, value: "first" },
        "shielded",
        true,
        true,
        true,
        true,
        false,
      ],
      slept: 3 * 3_600_000,
      workflow: "apart",
    });
    expect((await t.client.get("apart-1").describe()).attributes).toEqual({ round: 2 });
    expect(undone).toEqual([]);
  });

  test("works in the parameter list, and survives a crash at every event", async () => {
    const signup = workflow("signup", async ({ step, sleep, random }, name: string) => {
      const account = await step("create", () => `account of ${name}`);
      await sleep("look-around", "3 days");
      return { mail: await step("mail", () => `mail to ${account}`), dice: random() };
    });
    const t = await openEngine(signup);
    const run = await t.client.start(signup, "Ada");
    const output = await run.result();
    expect(output.mail).toBe("mail to account of Ada");
    expect(await replay(signup, await run.history())).toEqual({ output });
    expect((await crashEverywhere(signup, "Ada")).crashes).toBeGreaterThan(0);
  });

  test("belongs to its branch: what it has asked for is canceled with the branch, and shielded with it", async () => {
    const done: string[] = [];
    const branches = workflow("branches", async ({ race, parallel, uncancelable, sleep }) => {
      const { winner } = await race({
        quick: ({ sleep: nap }) => nap("quick", "1h"),
        slow: async ({ sleep: nap, step }) => {
          await nap("slow", "1 day").catch((error) => done.push(error.code));
          await step("next", () => done.push("a loser went on"));
        },
      });
      const failed = await parallel({
        bad: ({ step }) => step("bad", () => Promise.reject(new Error("no")), { retry: "none" }),
        late: ({ step, sleep: nap }) => nap("late", "1 day").then(() => step("after", () => done.push("went on"))),
      }).catch((error) => error.message);
      try {
        await sleep("ride", "2 days");
      } finally {
        await uncancelable(({ step }) => step("lock", () => done.push("locked")));
      }
      return { winner, failed };
    });
    const fleet = openFleet();
    await fleet.worker({ workflows: [branches] });
    const run = await fleet.client().start(branches);
    await fleet.clock.advance("1 day");
    expect((await run.describe()).waitingFor).toEqual(["ride"]);
    await run.cancel();
    await expect(fleet.result(run)).rejects.toMatchObject({ code: "run_canceled" });
    expect(done).toEqual(["op_canceled", "locked"]);
  });

  test("goes together with a transaction, which takes the whole ctx", async () => {
    const transfer = workflow("transfer", async (ctx) => {
      const { step, parallel } = ctx;
      const write = (of: Context, name: string) =>
        askTransaction(of, name, { kind: "memory", fn: (_tx: MemoryTransaction) => `${name} written` });
      return [
        await write(ctx, "first"),
        await parallel([(branch) => write(branch, "second"), ({ step: inner }) => inner("third", () => "third done")]),
        await step("fourth", () => "fourth done"),
      ];
    });
    const t = await openEngine(transfer);
    expect(await t.run(transfer)).toEqual(["first written", ["second written", "third done"], "fourth done"]);
  });

  test("keeps telling how long the history is, and info is still plain data", async () => {
    const growing = workflow("growing", async ({ info, step }) => {
      const before = info.historyLength;
      await step("a", () => 1);
      await step("b", () => 2);
      return { grown: info.historyLength - before, info };
    });
    const t = await openEngine(growing);
    const run = await t.client.start(growing, undefined, { id: "g-1" });
    expect(await run.result()).toEqual({
      grown: 2,
      info: {
        runId: run.runId,
        id: "g-1",
        workflow: "growing",
        version: "1",
        namespace: "default",
        queue: "default",
        historyLength: 2,
      },
    });
  });

  test("gives the same function each time it is read, so that it can be compared and put into a map", async () => {
    const same = workflow("same", async (ctx) => {
      const { step, info, log } = ctx;
      return [step === ctx.step, info === ctx.info, log === ctx.log];
    });
    const t = await openEngine(same);
    expect(await t.run(same)).toEqual([true, true, true]);
  });
});
