import { signal, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { openEngine, openFleet } from "../lab/fleet.ts";

const approve = signal<{ by: string }>("approve");

describe("ctx.race", () => {
  test("names the winner by its key, or by its position in a list", async () => {
    const race = workflow("race", async (ctx) => [
      await ctx.race({
        slow: (c) => c.sleep("slow", "2h").then(() => "slow"),
        quick: (c) => c.sleep("quick", "1h").then(() => "quick"),
      }),
      await ctx.race([(c) => c.sleep("a", "2h"), (c) => c.step("b", () => "b")]),
    ]);
    const t = await openEngine(race);
    expect(await t.run(race)).toEqual([
      { winner: "quick", value: "quick" },
      { winner: 1, value: "b" },
    ]);
  });

  test("cancels the losers: their sleeps end, their steps are aborted, and nothing more of them is done", async () => {
    const events: string[] = [];
    const race = workflow("race", async (ctx) => {
      const { winner } = await ctx.race({
        quick: (c) => c.sleep("quick", "1h"),
        busy: (c) =>
          c.step("busy", (s) => {
            s.signal.addEventListener("abort", () => events.push("busy aborted"));
            return new Promise(() => {});
          }),
        asleep: async (c) => {
          await c.sleep("asleep", "1 day").catch((error) => events.push(error.code));
          await c.step("next", () => events.push("a loser went on"));
        },
      });
      await ctx.sleep("afterwards", "2 days");
      return winner;
    });
    const fleet = openFleet();
    await fleet.worker({ workflows: [race] });
    expect(await fleet.result(await fleet.client().start(race))).toBe("quick");
    expect(events).toEqual(["op_canceled", "busy aborted"]);
  });

  test("is not decided by a branch that fails, unless all of them do", async () => {
    const fail = (message: string) => () => Promise.reject(new Error(message));
    const race = workflow("race", async (ctx, all: boolean) =>
      ctx.race({
        bad: (c) => c.step("bad", fail("first"), { retry: "none" }),
        good: (c) =>
          all ? c.step("worse", fail("second"), { retry: "none" }) : c.sleep("nap", "1h").then(() => "good"),
      }),
    );
    const t = await openEngine(race);
    expect(await t.run(race, false)).toEqual({ winner: "good", value: "good" });
    await expect(t.run(race, true)).rejects.toMatchObject({
      cause: {
        code: "race_failed",
        message: "Every branch of ctx.race failed; the first: first",
        cause: {
          name: "AggregateError",
          message: "first; second",
          data: { errors: [{ message: "first" }, { message: "second" }] },
        },
      },
    });
  });

  test("between a signal and a timer: a signal that comes after the timer is kept for the next receive", async () => {
    const race = workflow("race", async (ctx) => {
      const first = await ctx.race({ signal: (c) => c.receive(approve), late: (c) => c.sleep("late", "1h") });
      return { first: first.winner, second: await ctx.receive(approve) };
    });
    const t = await openEngine(race);
    const run = await t.client.start(race);
    await t.clock.advance("2h");
    await run.signal(approve, { by: "ann" });
    expect(await run.result()).toEqual({ first: "late", second: { by: "ann" } });
  });

  test("that is canceled with its run looks canceled, not like a race that nobody won", async () => {
    const race = workflow("race", (ctx) => ctx.race([(c) => c.sleep("a", "1h"), (c) => c.sleep("b", "2h")]));
    const t = await openEngine(race);
    const run = await t.client.start(race);
    await t.clock.settle();
    await run.cancel();
    await expect(run.result()).rejects.toMatchObject({ code: "run_canceled" });
  });

  test("in a shielded scope of a canceled run reports its own failure", async () => {
    const race = workflow("race", async (ctx) => {
      await ctx.sleep("nap", "1h").catch(() => {});
      return ctx.uncancelable((c) =>
        c
          .race([() => Promise.reject(new Error("one")), () => Promise.reject(new Error("two"))])
          .catch((error) => error.code),
      );
    });
    const t = await openEngine(race);
    const run = await t.client.start(race);
    await t.clock.settle();
    await run.cancel();
    expect(await run.result()).toBe("race_failed");
  });

  test("shows a loser as canceled, with or without a compensation, for good", async () => {
    const until = ({ signal }: { readonly signal: AbortSignal }) =>
      new Promise<never>((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    const race = workflow("race", async (ctx) => {
      await ctx.race({
        undone: (c) => c.step("undone", until, { compensate: () => {} }),
        plain: (c) => c.step("plain", until),
        asleep: (c) => c.sleep("asleep", "1 day"),
        first: (c) => c.sleep("first", "1m"),
      });
      await ctx.sleep("more", "1h");
    });
    const fleet = openFleet();
    await fleet.worker({ workflows: [race] });
    const run = await fleet.client().start(race);
    await fleet.clock.advance("2m");
    const losers = async () =>
      Object.fromEntries((await run.steps()).map(({ op, status, endedAt }) => [op, [status, endedAt !== undefined]]));
    const canceled = { undone: ["canceled", true], plain: ["canceled", false], asleep: ["canceled", false] };
    expect(await losers()).toMatchObject(canceled);
    await fleet.result(run);
    expect(await losers()).toMatchObject(canceled);
    const events = (await run.history()).map(({ type, op }) => `${type} ${op}`);
    expect(events.filter((event) => / (?:undone|plain|asleep)$/.test(event)).sort()).toEqual([
      "step_failed undone",
      "step_started plain",
      "step_started undone",
      "timer_created asleep",
    ]);
  });

  test("shows losers as canceled to other processes, too, as soon as nobody holds the run", async () => {
    const race = workflow("race", async (ctx) => {
      await ctx.race([(c) => c.sleep("long", "1 day"), (c) => c.sleep("short", "1m")]);
      await ctx.step("check", () => seen());
      await ctx.sleep("more", "1h");
    });
    const fleet = openFleet();
    await fleet.worker({ workflows: [race] });
    const other = fleet.client();
    const statuses: unknown[] = [];
    const seen = async (): Promise<void> => {
      statuses.push((await other.get("r").steps()).find(({ op }) => op === "long")?.status);
    };
    const run = await fleet.client().start(race, undefined, { id: "r" });
    await fleet.clock.advance("2m");
    await seen();
    await fleet.result(run);
    expect(statuses).toEqual(["waiting", "canceled"]);
  });

  test("needs at least one branch", async () => {
    const race = workflow("race", (ctx) => ctx.race({}));
    const t = await openEngine(race);
    await expect(t.run(race)).rejects.toMatchObject({
      cause: { cause: { code: "invalid_option", message: "ctx.race: there are no branches." } },
    });
  });
});
