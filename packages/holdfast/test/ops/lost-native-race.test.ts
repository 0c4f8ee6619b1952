import { type Context, signal, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { type Fleet, openFleet } from "../lab/fleet.ts";

const go = signal<string>("go");

function warnings(fleet: Fleet): string[] {
  return fleet.lines.filter(({ level }) => level === "warn").map(({ message }) => message);
}

/** Runs the code on a worker that keeps nothing in memory, and sends these when it waits. */
async function play(code: (ctx: Context) => Promise<unknown>, ...sent: string[]): Promise<[unknown, string[]]> {
  const fleet = openFleet();
  const wait = workflow("wait", code);
  await fleet.forgetful({ workflows: [wait] });
  const run = await fleet.client().start(wait, undefined, { id: "w-1" });
  await fleet.clock.advance("2h");
  for (const word of sent) {
    await run.signal(go, word);
    await fleet.clock.settle();
  }
  return [await fleet.result(run), warnings(fleet)];
}

describe("a receive that has lost a native Promise.race", () => {
  test("takes the next signal, and the worker says so once, in no replay", async () => {
    const [result, warned] = await play(
      async (ctx) => {
        for (const name of ["first", "second"])
          await Promise.race([ctx.receive(go), ctx.sleep(name, "30m").then(() => "late")]);
        return [await ctx.receive(go), await ctx.step("after", () => "done")];
      },
      "one",
      "two",
      "three",
    );
    expect(result).toEqual(["three", "done"]);
    expect(warned).toEqual([
      'signal "go" went to a ctx.receive from an earlier turn (receive:go) while a later one also waits for it; if the earlier one lost a Promise.race, the code never sees this signal: use ctx.race, or a receive with a timeout',
    ]);
  });

  test("is no longer there after ctx.race, nor after its timeout", async () => {
    const [result, warned] = await play(async (ctx) => {
      await ctx.race([(c) => c.receive(go), (c) => c.sleep("nap", "30m")]);
      await ctx.receive(go, { timeout: "30m" });
      return ctx.receive(go);
    }, "one");
    expect([result, warned]).toEqual(["one", []]);
  });
});

describe("receives that wait side by side on purpose", () => {
  test("are not warned about when they are asked for together", async () => {
    const [result, warned] = await play(
      (ctx) => Promise.all([ctx.receive(go, { timeout: "1 day" }), ctx.receive(go, { timeout: "1 day" })]),
      "one",
      "two",
    );
    expect([result, warned]).toEqual([["one", "two"], []]);
  });

  test("are not warned about in branches of their own", async () => {
    const consumer = async (branch: Context, name: string): Promise<string[]> => {
      const seen: string[] = [];
      while (seen.length < 2) {
        seen.push(await branch.receive(go));
        await branch.step(name, () => {});
      }
      return seen;
    };
    const [result, warned] = await play(
      (ctx) => ctx.parallel([(branch) => consumer(branch, "a"), (branch) => consumer(branch, "b")]),
      "one",
      "two",
      "three",
      "four",
    );
    expect([result, warned]).toEqual([
      [
        ["one", "three"],
        ["two", "four"],
      ],
      [],
    ]);
  });
});
