import { type AnyWorkflow, type Context, signal, workflow } from "holdfast";
import { crashEverywhere, replay, testEngine } from "holdfast/testing";
import { describe, expect, test } from "vitest";
import { openFleet } from "../lab/fleet.ts";

const a = signal<string>("a");
const b = signal<string>("b");

/** The losing branch takes "b" from what is kept, and gives it back in the same turn. */
const keptForBoth = workflow("kept-for-both", async (ctx) => {
  await ctx.sleep("until both are here", "1s");
  return ctx.parallel({
    race: (c) => c.race({ a: (d) => d.receive(a), b: (d) => d.receive(b) }),
    other: (c) => c.receive(b),
  });
});

/** A branch that waits for its signal, and lets another one win when it has come. */
function loses(ctx: Context): Promise<unknown> {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return ctx.race({
    loser: async (c) => {
      await c.receive(b);
      open();
      await c.sleep("for long", "1 day");
    },
    winner: async () => {
      await opened;
      return "the winner";
    },
  });
}

const deliveredToLoser = workflow("delivered-to-loser", async (ctx) =>
  ctx.parallel({ race: (c) => loses(c), other: (c) => c.receive(b, { timeout: "1h" }) }),
);

async function send(definition: AnyWorkflow, signals: readonly (readonly [typeof a, string])[]) {
  const t = await testEngine({ workflows: [definition] });
  const run = await t.client.start(definition, undefined, { id: "r" });
  for (const [which, word] of signals) await run.signal(which, word);
  await t.clock.advance("1 minute");
  const described = await run.describe();
  const history = await run.history();
  const steps = (await run.steps())
    .filter(({ op }) => op.startsWith("receive:"))
    .map(({ op, status, output, branch }) => `${op} ${status} ${JSON.stringify(output)} ${branch ?? "-"}`)
    .sort();
  const output = described.status === "completed" ? await run.result() : described.waitingFor;
  await t.close();
  return { output, history, steps };
}

describe("a signal that a losing branch gives back", () => {
  test("goes to a receive that waits for it, in the same turn", async () => {
    const { output, history } = await send(keptForBoth, [
      [a, "1"],
      [b, "2"],
    ]);
    expect(output).toEqual({ race: { winner: "a", value: "1" }, other: "2" });
    expect(await replay(keptForBoth, history)).toEqual({ output });
  });

  test("goes to a receive with a timeout, which then does not time out", async () => {
    const { output, history, steps } = await send(deliveredToLoser, [[b, "1"]]);
    expect(output).toEqual({ race: { winner: "winner", value: "the winner" }, other: "1" });
    expect(await replay(deliveredToLoser, history)).toEqual({ output });
    const handed = history.findIndex(({ type }) => type === "signal_handed_on");
    expect(history[handed]).toMatchObject({ op: "receive:b#2", branch: "other" });
    expect(steps).toEqual(["receive:b canceled undefined -", 'receive:b#2 completed "1" other']);
    // Nothing depends on that event: the same history without it is replayed to the same end.
    const without = history.filter((_, i) => i !== handed).map((event, seq) => ({ ...event, seq }));
    expect(await replay(deliveredToLoser, without)).toEqual({ output });
  });

  test("goes to the receive that has waited longest, and the next signal to the next", async () => {
    const three = workflow("three", async (ctx) =>
      ctx.parallel({ race: (c) => loses(c), second: (c) => c.receive(b), third: (c) => c.receive(b) }),
    );
    expect((await send(three, [[b, "1"]])).output).toEqual(["receive:b#3"]);
    const { output, history, steps } = await send(three, [
      [b, "1"],
      [b, "2"],
    ]);
    expect(output).toMatchObject({ second: "1", third: "2" });
    expect(steps).toEqual([
      "receive:b canceled undefined -",
      'receive:b#2 completed "1" second',
      'receive:b#3 completed "2" -',
    ]);
    expect(await replay(three, history)).toEqual({ output });
  });

  test("does not go to another branch that loses, but is kept", async () => {
    const kept = workflow("kept", async (ctx) => {
      await ctx.sleep("until both are here", "1s");
      const race = await ctx.race({ a: (d) => d.receive(a), b: (d) => d.receive(b), c: (d) => d.receive(b) });
      return [race, await ctx.receive(b)];
    });
    const { output, history } = await send(kept, [
      [a, "1"],
      [b, "2"],
    ]);
    expect(output).toEqual([{ winner: "a", value: "1" }, "2"]);
    expect(await replay(kept, history)).toEqual({ output });
  });

  test("is shown at the receive that has it in the end, however often it was handed on", async () => {
    const twice = workflow("twice", async (ctx) =>
      ctx.parallel({ one: (c) => loses(c), two: (c) => loses(c), three: (c) => c.receive(b, { timeout: "1h" }) }),
    );
    const { output, history, steps } = await send(twice, [[b, "1"]]);
    expect(output).toMatchObject({ three: "1" });
    expect(await replay(twice, history)).toEqual({ output });
    expect(steps.map((line) => line.split(" ").slice(0, 3).join(" "))).toEqual([
      "receive:b canceled undefined",
      "receive:b#2 canceled undefined",
      'receive:b#3 completed "1"',
    ]);
  });

  test("is handed on again by a fork that is cut in that turn, so the receive cannot be edited there", async () => {
    const fleet = openFleet();
    await fleet.worker({ workflows: [deliveredToLoser] });
    const run = await fleet.client().start(deliveredToLoser);
    await fleet.clock.settle();
    await run.signal(b, "1");
    const output = await fleet.result(run);
    const handed = (await run.history()).find(({ type }) => type === "signal_handed_on");
    const before = handed?.seq as number;
    const edit = { "receive:b#2": { result: "another" } };
    await expect(run.fork({ before, edit })).rejects.toMatchObject({
      code: "fork_refused",
      message: expect.stringContaining('op "receive:b#2" has ended before that (event 2)'),
    });
    expect(await fleet.result(await run.fork({ before }))).toEqual(output);
    const fork = await run.fork({ before: "receive:b#2", edit });
    await fleet.clock.settle();
    expect(await fork.steps()).toContainEqual(expect.objectContaining({ op: "receive:b#2", output: "another" }));
  });

  test("reaches the same receive after a crash at any point", async () => {
    const after = workflow("after", async (ctx) => {
      const { other } = (await ctx.parallel({ race: (c) => loses(c), other: (c) => c.receive(b) })) as {
        other: string;
      };
      const later = await ctx.receive(b);
      return [other, await ctx.step("tell", () => other), later];
    });
    let sent = 0;
    const report = await crashEverywhere(after, undefined, {
      whenWaiting: async (client, id) => {
        sent += 1;
        const { waitingFor } = await client.get(id).describe();
        const word = waitingFor?.includes("receive:b#3") ? "second" : "first";
        await client.get(id).signal(b, word, { id: word });
      },
    });
    expect(report.output).toEqual(["first", "first", "second"]);
    expect(sent).toBeGreaterThan(report.crashes);
  });
});
