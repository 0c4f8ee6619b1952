import { expect, test } from "vitest";
import { SeededSource } from "../testing/seeded-source.ts";
import { VirtualClock } from "../testing/virtual-clock.ts";
import { Batcher } from "./batcher.ts";

interface Item {
  readonly row: string;
  readonly n: number;
}

/** A batcher over rows of which some are locked, and what it has sent. */
function batcherOf(inFlightMax: number, patienceMs = Number.POSITIVE_INFINITY) {
  const clock = new VirtualClock();
  const locked = new Set<string>();
  const calls: string[][] = [];
  const answers: (() => void)[] = [];
  let open = 0;
  const batcher = new Batcher<Item, string>({
    clock,
    random: new SeededSource(1),
    sizeMax: 10,
    inFlightMax,
    giveUp: (_failures, _error, waitedMs) => waitedMs >= patienceMs,
    rows: { of: ({ row }) => row, isBusy: (result) => result === "busy" },
    send: async (items) => {
      calls.push(items.map(({ row, n }) => `${row}${n}`));
      open += 1;
      await new Promise<void>((resolve) => answers.push(resolve));
      open -= 1;
      return items.map(({ row }) => (locked.has(row) ? "busy" : `${row} done`));
    },
  });
  const answer = async (): Promise<void> => {
    for (const resolve of answers.splice(0)) resolve();
    await clock.advance("0ms");
  };
  return { clock, locked, calls, answer, batcher, open: () => open };
}

test("two batches in flight never carry items of the same row", async () => {
  const { batcher, calls, answer, clock } = batcherOf(2);
  const first = batcher.add({ row: "a", n: 1 });
  await clock.advance("0ms");
  const others = [batcher.add({ row: "a", n: 2 }), batcher.add({ row: "b", n: 1 }), batcher.add({ row: "a", n: 3 })];
  await clock.advance("0ms");
  expect(calls).toEqual([["a1"], ["b1"]]);
  await answer();
  expect(calls).toEqual([["a1"], ["b1"], ["a2", "a3"]]);
  await answer();
  expect(await Promise.all([first, ...others])).toEqual(["a done", "a done", "b done", "a done"]);
});

test("the next batch leaves before the callers of the last one go on, and one that they make follows it", async () => {
  const { batcher, calls, answer, clock } = batcherOf(2);
  const items = Array.from({ length: 11 }, (_, n) => ({ row: "a", n }));
  const seen: number[] = [];
  const all = items.map((item) => batcher.add(item).then(() => seen.push(calls.length)));
  await clock.advance("0ms");
  const more = all[0]?.then(() => batcher.add({ row: "b", n: 0 }));
  await answer();
  expect(calls.map((call) => call.length)).toEqual([10, 1, 1]);
  // Two calls had been made when the first of them went on.
  expect(seen).toEqual(Array.from({ length: 10 }, () => 2));
  await answer();
  await Promise.all([...all, more]);
});

test("items of a locked row are sent again within some tens of milliseconds, before later ones of that row", async () => {
  const { batcher, calls, answer, clock, locked } = batcherOf(1);
  locked.add("a");
  const results = [batcher.add({ row: "a", n: 1 }), batcher.add({ row: "b", n: 1 })];
  await clock.advance("0ms");
  await answer();
  results.push(batcher.add({ row: "a", n: 2 }), batcher.add({ row: "c", n: 1 }));
  await clock.advance("0ms");
  await answer();
  expect(calls).toEqual([["a1", "b1"], ["c1"]]);
  for (let sends = 0; sends < 20; sends++) {
    await clock.advance("60ms");
    await answer();
  }
  expect(calls.slice(2)).toEqual(Array.from({ length: 20 }, () => ["a1", "a2"]));
  locked.clear();
  await clock.advance("60ms");
  await answer();
  expect(await Promise.all(results)).toEqual(["a done", "b done", "a done", "c done"]);
});

test("an item whose row stays locked for longer than anyone would wait is refused", async () => {
  const { batcher, answer, clock, locked } = batcherOf(1, 1_000);
  locked.add("a");
  const result = batcher.add({ row: "a", n: 1 });
  const refused = expect(result).rejects.toMatchObject({ code: "store_unavailable" });
  for (let ms = 0; ms < 1_200; ms += 60) {
    await clock.advance("60ms");
    await answer();
  }
  await refused;
});
