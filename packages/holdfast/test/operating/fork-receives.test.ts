import fc from "fast-check";
import { type Context, type RunHandle, signal, workflow } from "holdfast";
import { replay } from "holdfast/testing";
import { describe, expect, test } from "vitest";
import { deferred } from "../lab/deferred.ts";
import { Fleet, openFleet } from "../lab/fleet.ts";

const say = signal<string>("say");
const go = signal<string>("go");

async function opsOf(run: RunHandle): Promise<string[]> {
  return (await run.steps()).map(({ op, status, output }) => `${op} ${status} ${JSON.stringify(output)}`);
}

describe("the op id of a receive", () => {
  test("is the same whether its signal came before it was asked for or afterward", async () => {
    const listener = workflow("listener", async (ctx) => {
      const first = await ctx.receive(say);
      await ctx.receive(go);
      return [first, await ctx.receive(say), await ctx.receive(say, { timeout: "1h" })];
    });
    const fleet = openFleet();
    await fleet.forgetful({ workflows: [listener] });
    const run = await fleet.client().start(listener);
    await fleet.clock.settle();
    for (const word of ["a", "b"]) await run.signal(say, word);
    await run.signal(go, "now");
    await fleet.clock.settle();
    expect(await opsOf(run)).toEqual([
      'receive:say completed "a"',
      'receive:say#2 completed "b"',
      'receive:go completed "now"',
      "receive:say#3 waiting undefined",
    ]);
    await run.signal(say, "c");
    expect(await fleet.result(run)).toEqual(["a", "b", "c"]);
    const third = await run.history({ ops: ["receive:say#3"] });
    expect(third.map(({ type, value, receive }) => [type, value, receive])).toEqual([
      ["timer_created", undefined, undefined],
      ["signal_received", "c", 3],
    ]);
    expect(await replay(listener, await run.history())).toEqual({ output: ["a", "b", "c"] });
  });

  test("counts receives that have lost a race", async () => {
    const listener = workflow("listener", async (ctx) => {
      for (const name of ["one", "two"])
        await ctx.race([(inner) => inner.receive(say), (inner) => inner.sleep(name, "1h")]);
      await ctx.receive(go);
      return ctx.receive(say);
    });
    const fleet = openFleet();
    await fleet.forgetful({ workflows: [listener] });
    const run = await fleet.client().start(listener);
    await fleet.clock.advance("3h");
    await run.signal(say, "early");
    await run.signal(go, "now");
    expect(await fleet.result(run)).toBe("early");
    expect((await opsOf(run)).filter((line) => line.startsWith("receive"))).toEqual([
      'receive:say#3 completed "early"',
      'receive:go completed "now"',
    ]);
    const fork = await run.fork({ before: "receive:say#3", edit: { "receive:say#3": { result: "edited" } } });
    await fork.signal(go, "now");
    expect(await fleet.result(fork)).toBe("edited");
  });

  test("is that of a signal of the same name as a step, without what is known of the step", async () => {
    const gate = deferred();
    const listener = workflow("listener", async (ctx) => {
      const [word] = await ctx.parallel([
        (c) => c.receive(say),
        (c) => c.step("say", () => gate.promise.then(() => 1)),
      ]);
      return word;
    });
    const fleet = openFleet();
    await fleet.worker({ workflows: [listener] });
    const run = await fleet.client().start(listener);
    await fleet.clock.settle();
    await run.signal(say, "a");
    await fleet.clock.settle();
    gate.resolve();
    await fleet.result(run);
    const [event] = await run.history({ types: ["signal_received"] });
    expect(event).not.toHaveProperty("branch");
  });
});

describe("the edit of a receive", () => {
  const pair = workflow("pair", async (ctx) => {
    const both = await Promise.all([ctx.receive(say), ctx.receive(say)]);
    await ctx.receive(go);
    return [...both, await ctx.receive(say)];
  });

  async function paired(): Promise<{ fleet: Fleet; run: RunHandle }> {
    const fleet = openFleet();
    await fleet.forgetful({ workflows: [pair] });
    const run = await fleet.client().start(pair);
    await fleet.clock.settle();
    for (const word of ["a", "b", "c"]) await run.signal(say, word);
    await run.signal(go, "now");
    expect(await fleet.result(run)).toEqual(["a", "b", "c"]);
    return { fleet, run };
  }

  test("reaches that one of several that wait at once, and no signal does", async () => {
    const { fleet, run } = await paired();
    const fork = await run.fork({ before: 1, edit: { "receive:say#2": { result: "edited" } } });
    await fleet.clock.settle();
    expect(await opsOf(fork)).toEqual(['receive:say#2 completed "edited"', "receive:say waiting undefined"]);
    for (const word of ["x", "y"]) await fork.signal(say, word);
    await fork.signal(go, "now");
    expect(await fleet.result(fork)).toEqual(["x", "edited", "y"]);
    expect(await replay(pair, await fork.history())).toEqual({ output: ["x", "edited", "y"] });
  });

  test("reaches the one that would have taken a signal which came before it was asked for", async () => {
    const { fleet, run } = await paired();
    const fork = await run.fork({ before: "receive:say#3", edit: { "receive:say#3": { result: "edited" } } });
    await fork.signal(say, "too early");
    await fork.signal(go, "now");
    expect(await fleet.result(fork)).toEqual(["a", "b", "edited"]);
    expect(await replay(pair, await fork.history())).toEqual({ output: ["a", "b", "edited"] });
  });

  test("leaves a signal that waits to the next receive", async () => {
    const triple = workflow("triple", async (ctx) => {
      await ctx.receive(go);
      return [await ctx.receive(say), await ctx.receive(say), await ctx.receive(say)];
    });
    const fleet = openFleet();
    await fleet.forgetful({ workflows: [triple] });
    const run = await fleet.client().start(triple);
    await fleet.clock.settle();
    const fork = await run.fork({ before: 1, edit: { "receive:say#2": { result: "edited" } } });
    for (const word of ["x", "y"]) await fork.signal(say, word);
    await fork.signal(go, "now");
    const output = ["x", "edited", "y"];
    expect(await fleet.result(fork)).toEqual(output);
    expect(
      (await fork.history({ types: ["signal_received"] })).map(({ receive = 1, value }) => [receive, value]),
    ).toEqual([
      [1, "x"],
      [3, "y"],
      [1, "now"],
      [2, "edited"],
    ]);
    expect(await replay(triple, await fork.history())).toEqual({ output });
  });

  test("is refused if a signal has come for it before the cut", async () => {
    const { run } = await paired();
    await expect(run.fork({ before: 4, edit: { "receive:say#3": { result: "edited" } } })).rejects.toMatchObject({
      code: "fork_refused",
      message: expect.stringContaining('op "receive:say#3" has ended before that (event 3)'),
    });
  });

  test("is delivered before a signal that waits for the fork, and while it is pausing", async () => {
    const { fleet, run } = await paired();
    const fork = await run.fork({ before: 1, edit: { "receive:say": { result: "edited" } } });
    await fork.signal(say, "x");
    await fork.pause();
    await fleet.clock.settle();
    await fork.resume();
    await fork.signal(go, "now");
    await fork.signal(say, "y");
    expect(await fleet.result(fork)).toEqual(["edited", "x", "y"]);
    expect(await replay(pair, await fork.history())).toEqual({ output: ["edited", "x", "y"] });
  });
});

/** What the code does: it receives, with or without a timeout, alone or several at once or in a race, or executes a step. */
type Node =
  | { readonly type: "step" | "receive" | "timed" | "race" }
  | { readonly type: "both"; readonly timed: boolean };

const nodes: fc.Arbitrary<readonly Node[]> = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ type: fc.constantFrom("step" as const, "receive" as const, "timed" as const) }),
    },
    { weight: 1, arbitrary: fc.record({ type: fc.constant("race" as const) }) },
    { weight: 2, arbitrary: fc.record({ type: fc.constant("both" as const), timed: fc.boolean() }) },
  ),
  { minLength: 1, maxLength: 6 },
);

/** A fleet that runs these nodes, and what its steps did. The code notes which receive gave it which value. */
function laboratory(program: readonly Node[]) {
  const fleet = new Fleet();
  const executed: string[] = [];
  const listener = workflow("listener", async (ctx) => {
    const seen: (readonly [op: string, word: string])[] = [];
    let count = 0;
    const receive = (inner: Context, timed: boolean): Promise<string> => {
      count += 1;
      const op = count === 1 ? "receive:say" : `receive:say#${count}`;
      const word = timed ? inner.receive(say, { timeout: "10m" }) : inner.receive(say);
      return word.then((given) => {
        seen.push([op, given ?? "nothing"]);
        return given ?? "nothing";
      });
    };
    for (const [at, node] of program.entries()) {
      if (node.type === "step") await ctx.step(`step ${at}`, () => void executed.push(`${ctx.info.runId} step ${at}`));
      else if (node.type === "both") await Promise.all([receive(ctx, false), receive(ctx, node.timed)]);
      else if (node.type === "race")
        await ctx.race([(inner) => receive(inner, false), (inner) => inner.sleep(`nap ${at}`, "3m")]);
      else await receive(ctx, node.type === "timed");
      await ctx.sleep(`rest ${at}`, "2m");
    }
    return seen;
  });
  const open = async (): Promise<RunHandle<(readonly [string, string])[]>> => {
    await fleet.forgetful({ workflows: [listener] });
    return fleet.client().start(listener);
  };
  return { fleet, executed, listener, open };
}

/** Sends words at these times, and enough of them in the end. */
async function talk(fleet: Fleet, run: RunHandle<unknown>, minutes: readonly number[], word: string): Promise<void> {
  for (const [at, wait] of minutes.entries()) {
    await fleet.clock.advance({ minutes: wait });
    if (await isOpen(run)) await run.signal(say, `${word}${at}`).catch(() => {});
  }
  for (let more = 0; more < 30 && (await isOpen(run)); more++) {
    await run.signal(say, `${word} more ${more}`).catch(() => {});
    await fleet.clock.advance("4m");
  }
}

async function isOpen(run: RunHandle<unknown>): Promise<boolean> {
  return !(await run.describe()).endedAt;
}

const times = fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 8 });

test("steps() names the receive that the code has given each signal, however they meet", async () => {
  let early = 0;
  await fc.assert(
    fc.asyncProperty(nodes, times, async (program, minutes) => {
      const { fleet, open, listener } = laboratory(program);
      const run = await open();
      await talk(fleet, run, minutes, "w");
      const seen = await fleet.result(run);
      const shown = new Map((await run.steps()).map(({ op, output }) => [op, output]));
      for (const [op, word] of seen) {
        if (word === "nothing") expect(shown.get(op)).toBeUndefined();
        else expect([op, shown.get(op)]).toEqual([op, word]);
      }
      const history = await run.history();
      early += history.filter(({ type }, at) => type === "signal_received" && history[at + 1]?.type === type).length;
      expect(await replay(listener, history)).toEqual({ output: seen });
      await fleet.close();
    }),
    { numRuns: 80, seed: 5 },
  );
  expect(early).toBeGreaterThan(20);
});

test("a fork at a receive with an edit gives it to that receive, repeats the past, and executes nothing of it again", async () => {
  let edited = 0;
  await fc.assert(
    fc.asyncProperty(nodes, times, times, fc.nat(), async (program, minutes, later, pick) => {
      const { fleet, executed, open, listener } = laboratory(program);
      const run = await open();
      await talk(fleet, run, minutes, "w");
      const seen = await fleet.result(run);
      const received = seen.filter(([, word]) => word !== "nothing");
      const [op] = received[pick % Math.max(1, received.length)] ?? [];
      if (op !== undefined) {
        edited += 1;
        executed.length = 0;
        const history = await run.history();
        const fork = await run.fork({ before: op, edit: { [op]: { result: "edited" } } });
        await talk(fleet, fork, later, "v");
        const again = await fleet.result(fork);
        expect(again.filter(([, word]) => word === "edited")).toEqual([[op, "edited"]]);
        const cut = (await fork.history()).findIndex(({ type }) => type === "run_forked");
        expect((await fork.history()).slice(1, cut)).toEqual(history.slice(1, cut));
        const done = history.slice(0, cut).filter(({ type }) => type === "step_completed");
        expect(executed.filter((line) => done.some((event) => line === `${fork.runId} ${event.op}`))).toEqual([]);
        const shown = new Map((await fork.steps()).map((step) => [step.op, step.output]));
        for (const [own, word] of again) if (word !== "nothing") expect([own, shown.get(own)]).toEqual([own, word]);
        expect(await replay(listener, await fork.history())).toEqual({ output: again });
      }
      await fleet.close();
    }),
    { numRuns: 80, seed: 6 },
  );
  expect(edited).toBeGreaterThan(40);
});

test("a fork without edits that gets the same signals ends as its origin did", async () => {
  await fc.assert(
    fc.asyncProperty(nodes, times, fc.nat(), async (program, minutes, pick) => {
      fc.pre(program.every(({ type }) => type === "step" || type === "receive" || type === "both"));
      fc.pre(program.every((node) => node.type !== "both" || !node.timed));
      const { fleet, open } = laboratory(program);
      const run = await open();
      await talk(fleet, run, minutes, "w");
      const seen = await fleet.result(run);
      const history = await run.history();
      const before = 1 + (pick % (history.length - 1));
      const fork = await run.fork({ before });
      for (const { seq, type, value } of history)
        if (seq >= before && type === "signal_received") await fork.signal(say, value as string);
      expect(await fleet.result(fork)).toEqual(seen);
      await fleet.close();
    }),
    { numRuns: 60, seed: 7 },
  );
});
