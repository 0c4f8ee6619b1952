import fc from "fast-check";
import { expect, test } from "vitest";
import type { RunExecutor } from "../execute/run-executor.ts";
import { DueOrder } from "./due-order.ts";
import { LiveCache } from "./live-cache.ts";

interface Kind {
  readonly waits?: boolean;
  readonly hasCalls?: boolean;
}

/** A cache for three runs, what it has evicted, and a clock to set. */
function cacheOfThree() {
  const time = { now: 0 };
  const evicted: string[] = [];
  const cache = new LiveCache(3, () => time.now);
  const put = (runId: string, dueAt: number | null, { waits = false, hasCalls = false }: Kind = {}): void => {
    const machine = { hasCalls, waitsForOthers: waits, regaining: false };
    const executor = { runId, run: { id: `id of ${runId}` }, machine, evict: () => void evicted.push(runId) };
    cache.put(executor as unknown as RunExecutor, dueAt);
  };
  return { cache, evicted, put, time };
}

test("of runs that sleep, the one that is due last is evicted, even if it has just come", () => {
  const { cache, evicted, put } = cacheOfThree();
  for (const [runId, dueAt] of Object.entries({ a: 300, b: 100, c: 400, d: 200, e: 500 })) put(runId, dueAt);
  expect(evicted).toEqual(["c", "e"]);
  expect(cache.take("a")?.runId).toBe("a");
  put("f", 1_000);
  expect(evicted).toEqual(["c", "e"]);
  put("g", 50);
  expect(evicted).toEqual(["c", "e", "f"]);
  expect([cache.size, cache.look("f"), cache.lookById("id of f"), cache.lookById("id of g")?.runId]).toEqual([
    3,
    undefined,
    undefined,
    "g",
  ]);
});

test("of runs that wait, the oldest is evicted, also if it would give up at some time; those that wait for other runs come last", () => {
  const { evicted, put } = cacheOfThree();
  put("parent", null, { waits: true, hasCalls: true });
  put("a", null, { waits: true });
  put("b", 5, { waits: true });
  put("c", null, { waits: true });
  put("d", null, { waits: true });
  expect(evicted).toEqual(["a", "b"]);
});

test("a run that waits is taken to wait as long again as it has waited", () => {
  const { evicted, put, time } = cacheOfThree();
  put("waits", null, { waits: true });
  put("soon", 1_000);
  put("sooner", 900);
  time.now = 100;
  put("later", 2_000);
  expect(evicted).toEqual(["later"]);
  time.now = 600;
  put("next", 950);
  expect(evicted).toEqual(["later", "waits"]);
});

test("a run that is put again has the time of its last suspension", () => {
  const { cache, evicted, put } = cacheOfThree();
  put("a", 100);
  put("b", 200);
  put("a", 400);
  put("c", 300);
  expect(cache.size).toBe(3);
  put("d", 350);
  expect(evicted).toEqual(["a"]);
  cache.clear();
  expect([cache.size, evicted]).toEqual([0, ["a", "b", "c", "d"]]);
});

test("the order of what is due is that of a sorted list", () => {
  const entry = fc.record({ at: fc.integer({ min: 0, max: 9 }), runId: fc.constantFrom("a", "b", "c", "d") });
  fc.assert(
    fc.property(fc.uniqueArray(entry, { selector: ({ at, runId }) => `${at}${runId}` }), fc.nat(), (entries, seed) => {
      const order = new DueOrder();
      for (const { at, runId } of entries) order.add(at, runId);
      const left = [...entries].sort((a, b) => a.at - b.at || (a.runId < b.runId ? -1 : 1));
      while (left.length > 0) {
        expect(order.last).toEqual(left.at(-1));
        const [gone] = left.splice(seed % left.length, 1) as [(typeof left)[number]];
        order.remove(gone.at, gone.runId);
      }
      expect(order.last).toBeUndefined();
    }),
  );
});
