import fc from "fast-check";
import { type Context, type RunHandle, signal, workflow } from "holdfast";
import { replay } from "holdfast/testing";
import { expect, test } from "vitest";
import { Fleet, openFleet } from "../lab/fleet.ts";

const say = signal<string>("say");
const go = signal<string>("go");

const opOf = (number: number): string => (number === 1 ? "receive:say" : `receive:say#${number}`);

/** Asks for three words at once, and notes each when it comes: what is noted in which turn is history. */
const triple = workflow("triple", async (ctx) => {
  await ctx.receive(go);
  return Promise.all(
    [1, 2, 3].map(async (number) => {
      const word = await ctx.receive(say);
      await ctx.sideEffect(`note ${number}`, () => word);
      return word;
    }),
  );
});

async function edited(): Promise<{ fleet: Fleet; fork: RunHandle<string[]> }> {
  const fleet = openFleet();
  await fleet.forgetful({ workflows: [triple] });
  const run = await fleet.client().start(triple);
  await fleet.clock.settle();
  const fork = await run.fork({ before: 1, edit: { [opOf(1)]: { result: "one" }, [opOf(3)]: { result: "three" } } });
  for (const word of ["x", "y"]) await fork.signal(say, word);
  await fork.signal(go, "now");
  expect(await fleet.result(fork)).toEqual(["one", "x", "three"]);
  return { fleet, fork: fork as RunHandle<string[]> };
}

test("a fork of a fork repeats what that one did, between any two of its events, and its own edits alone count", async () => {
  const { fleet, fork } = await edited();
  const { length } = await fork.history();
  const cuts = new Map<string, unknown>();
  for (let before = 1; before < length; before++) {
    const second = await fork.fork({ before, id: `cut ${before}` });
    await fleet.clock.settle();
    expect([before, await second.status()]).not.toEqual([before, "parked"]);
    const begun = await second.history();
    expect(begun.slice(1, before)).toEqual((await fork.history()).slice(1, before));
    for (const word of ["a", "b", "c"]) await second.signal(say, word).catch(() => {});
    await second.signal(go, "again").catch(() => {});
    const output = await fleet.result(second);
    expect(await replay(triple, await second.history())).toEqual({ output });
    cuts.set(begun[before - 1]?.op ?? "", output);
  }
  expect(cuts.size).toBeGreaterThan(1);
});

test("a fork of a fork that is cut between two edited receives of one turn waits for the second one", async () => {
  const { fleet, fork } = await edited();
  const second = await fork.fork({ before: opOf(3) });
  await fleet.clock.settle();
  expect(await second.describe()).toMatchObject({ status: "waiting", waitingFor: [opOf(3)] });
  await second.signal(say, "z");
  expect(await fleet.result(second)).toEqual(["one", "x", "z"]);
  expect(await replay(triple, await second.history())).toEqual({ output: ["one", "x", "z"] });
});

test("a fork of a fork whose edits none was used of does in each turn what that one did", async () => {
  const { fleet, fork } = await edited();
  const first = (await fork.history()).find(({ edited: is }) => is);
  const second = await fork.fork({ before: first?.seq ?? 0, edit: { [opOf(3)]: { result: "drei" } } });
  await fleet.clock.settle();
  expect(await second.describe()).toMatchObject({ status: "waiting", waitingFor: [opOf(1)] });
  await second.signal(say, "z");
  expect(await fleet.result(second)).toEqual(["z", "x", "drei"]);
  expect(await replay(triple, await second.history())).toEqual({ output: ["z", "x", "drei"] });
});

/** How many receives the code asks for at once, one group after the other. */
const groups = fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 3 });
const numbers = fc.uniqueArray(fc.integer({ min: 1, max: 6 }), { maxLength: 4 });

test("forks of forks of any run repeat the past, wherever they are cut and whatever is edited", async () => {
  let compared = 0;
  await fc.assert(
    fc.asyncProperty(groups, numbers, numbers, fc.nat(4), fc.nat(), async (program, first, then, early, pick) => {
      const fleet = new Fleet();
      const listener = workflow("listener", async (ctx: Context) => {
        const words: string[] = [];
        let number = 0;
        for (const [at, size] of program.entries()) {
          await ctx.sleep(`rest ${at}`, "2m");
          await Promise.all(
            Array.from({ length: size }, async () => {
              number += 1;
              const own = number;
              const word = await ctx.receive(say);
              words.push(await ctx.sideEffect(`note ${own}`, () => `${own} ${word}`));
            }),
          );
        }
        return words;
      });
      await fleet.forgetful({ workflows: [listener] });
      const run = await fleet.client().start(listener);
      await fleet.clock.settle();
      const edits = (some: readonly number[], word: string) =>
        Object.fromEntries(some.map((number) => [opOf(number), { result: `${word} ${number}` }]));
      const talk = async (to: RunHandle<unknown>, word: string): Promise<unknown> => {
        for (let at = 0; at < 12 && !(await to.describe()).endedAt; at++) {
          expect(await to.status()).not.toBe("parked");
          await to.signal(say, `${word}${at}`).catch(() => {});
          if (at >= early) await fleet.clock.advance("1m");
        }
        return fleet.result(to);
      };
      const one = await run.fork({ before: 1, edit: edits(first, "first") });
      await talk(one, "v");
      const history = await one.history();
      const before = 1 + (pick % (history.length - 1));
      const ended = new Set(
        history.slice(0, before).flatMap(({ type, receive = 1 }) => (type === "signal_received" ? [receive] : [])),
      );
      const second = await one.fork({
        before,
        edit: edits(
          then.filter((number) => !ended.has(number)),
          "second",
        ),
      });
      const output = await talk(second, "w");
      const own = await second.history();
      expect(own.slice(1, before)).toEqual(history.slice(1, before));
      expect(await replay(listener, own)).toEqual({ output });
      const shown = new Map((await second.steps()).map((step) => [step.op, step.output]));
      for (const line of output as string[]) {
        const [number, ...words] = line.split(" ");
        expect([line, shown.get(opOf(Number(number)))]).toEqual([line, words.join(" ")]);
      }
      compared += 1;
      await fleet.close();
    }),
    { numRuns: 120, seed: 11 },
  );
  expect(compared).toBe(120);
});
