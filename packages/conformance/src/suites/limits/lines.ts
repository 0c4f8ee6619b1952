import { ADMITTED_MAX, type Run, SORTED_MAX, SORTED_MIN } from "holdfast/adapter";
import { expect } from "vitest";
import type { Fixture } from "../../fixture.ts";
import { Holder } from "../../holder.ts";
import type { Suite } from "../../suite.ts";

/** Who is next: keys, weights, priorities, age, rates. */
export const lines: Suite = {
  noun: "lines before a queue with limits",
  cases: {
    "each key has its own limit, and what has no key has none": async (t) => {
      await t.queues.set({ perKey: { concurrency: 1 } });
      const [a] = await t.queues.start(3, { key: "a" });
      const [b] = await t.queues.start(3, { key: "b" });
      const plain = await t.queues.start(2);
      expect(new Set(await t.queues.claimed(await t.worker()))).toEqual(new Set([a, b, ...plain]));
    },

    "keys take turns, however much one of them has in line": async (t) => {
      await t.queues.set({ fair: true });
      const a = await t.queues.start(20, { key: "a" });
      const b = await t.queues.start(2, { key: "b" });
      const worker = await t.worker();
      const taken: string[] = [];
      for (let i = 0; i < 5; i++) taken.push(...(await t.queues.claimed(worker, { limit: 1 })));
      expect(taken).toEqual([a[0], b[0], a[1], b[1], a[2]]);
    },

    "a key that comes late has no claim on turns that it missed": async (t) => {
      await t.queues.set({ fair: true });
      const worker = await t.worker();
      const a = await t.queues.start(10, { key: "a" });
      for (let i = 0; i < 4; i++) await t.queues.claimed(worker, { limit: 1 });
      const b = await t.queues.start(5, { key: "b" });
      const taken: string[] = [];
      for (let i = 0; i < 4; i++) taken.push(...(await t.queues.claimed(worker, { limit: 1 })));
      expect(taken.filter((runId) => a.includes(runId))).toHaveLength(2);
      expect(taken.filter((runId) => b.includes(runId))).toHaveLength(2);
    },

    "a key whose limit is raised has no claim on turns that it missed": async (t) => {
      await t.queues.set({ perKey: { concurrency: 1 } });
      const worker = await t.worker();
      const a = await t.queues.start(6, { key: "a" });
      await t.queues.claimed(worker);
      for (let i = 0; i < 8; i++) {
        await t.queues.start(1, { key: "b" });
        await t.queues.end(...(await t.queues.claim(worker)));
      }
      const b = await t.queues.start(6, { key: "b" });
      await t.queues.set({ perKey: { concurrency: 10 } });
      const taken: string[] = [];
      for (let i = 0; i < 5; i++) taken.push(...(await t.queues.claimed(worker, { limit: 1 })));
      // The turn that a has missed last, and then every other one.
      expect(taken.filter((runId) => a.includes(runId))).toHaveLength(3);
      expect(taken.filter((runId) => b.includes(runId))).toHaveLength(2);
    },

    "a claim of many gives shares by weight": async (t) => {
      await t.queues.set({ weights: { a: 3 } });
      const a = await t.queues.start(20, { key: "a" });
      const b = await t.queues.start(20, { key: "b" });
      const taken = await t.queues.claimed(await t.worker(), { limit: 12 });
      expect(taken.filter((runId) => a.includes(runId))).toEqual(a.slice(0, 9));
      expect(taken.filter((runId) => b.includes(runId))).toEqual(b.slice(0, 3));
    },

    "what one key cannot use, others get in the same claim": async (t) => {
      await t.queues.set({ concurrency: 10, perKey: { concurrency: 6 } });
      await t.queues.start(2, { key: "a" });
      await t.queues.start(20, { key: "b" });
      const worker = await t.worker();
      expect(await t.queues.claimed(worker)).toHaveLength(8);
      await t.queues.start(5);
      expect(await t.queues.claimed(worker)).toHaveLength(2);
    },

    "the highest priority of a key goes first, unless another has waited long enough": async (t) => {
      await t.queues.set({ concurrency: 1, agingMs: 1_000 });
      const [low] = (await t.queues.start(1, { priority: -1 })) as [string];
      await t.queues.claimed(await t.worker({ leaseMs: 100_000_000 }), { limit: 0 });
      const [high] = (await t.queues.start(1, { priority: 0 })) as [string];
      const worker = await t.worker({ leaseMs: 100_000_000 });
      const [first] = await t.queues.claim(worker);
      expect(first?.runId).toBe(high);
      await t.advance(1_000);
      const [next] = (await t.queues.start(1, { priority: 0 })) as [string];
      await t.queues.end(first as never);
      const [second] = await t.queues.claim(worker);
      expect(second?.runId).toBe(low);
      await t.queues.end(second as never);
      expect(await t.queues.claimed(worker)).toEqual([next]);
    },

    "versions that the worker does not serve do not keep others of their key waiting": async (t) => {
      await t.queues.set({ perKey: { concurrency: 1 } });
      const [old] = (await t.queues.start(1, { key: "a", version: "0" })) as [string];
      const [a] = await t.queues.start(2, { key: "a" });
      const worker = await t.worker();
      const [holder] = await t.queues.claim(worker);
      expect(holder?.runId).toBe(a);
      await t.queues.end(holder as never);
      expect(await t.queues.claimed(worker, { handlers: [{ workflow: "order", version: "0" }] })).toEqual([old]);
    },

    "many keys with nothing for the worker do not keep the others waiting": async (t) => {
      await t.queues.set({ fair: true });
      for (let i = 0; i < 30; i++) await t.queues.start(1, { key: `k${i}`, version: "0" });
      const [served] = await t.queues.start(1, { key: "served" });
      const all = [
        { workflow: "order", version: "0" },
        { workflow: "order", version: "1" },
      ];
      const worker = await t.worker();
      // Sorts everything in.
      await t.queues.claimed(worker, { handlers: all, limit: 0 });
      expect(await t.queues.claimed(worker, { limit: 3 })).toEqual([served]);
    },

    "a rate gives a burst, and then a place for each token; the claim says when": async (t) => {
      await t.queues.set({ rate: { limit: 2, perMs: 1_000, burst: 3 } });
      const runs = await t.queues.start(6);
      const worker = await t.worker({ leaseMs: 100_000_000 });
      const at = t.now;
      expect(await t.queues.claimed(worker)).toEqual(runs.slice(0, 3));
      const { nextDueAt, moreDue } = await t.claim(worker);
      expect({ nextDueAt, moreDue }).toEqual({ nextDueAt: at + 500, moreDue: false });
      await t.advance(499);
      expect(await t.queues.claimed(worker)).toEqual([]);
      await t.advance(1);
      expect(await t.queues.claimed(worker)).toEqual([runs[3]]);
      await t.advance(60_000);
      const last = await t.claim(worker);
      expect(last.runs.map(({ runId }) => runId)).toEqual(runs.slice(4));
      // Nothing is in line: there is nothing to ask for.
      expect(last.nextDueAt).toBeNull();
    },

    "a claim that comes late does not slow a rate down, and a pause gives no more than a burst": async (t) => {
      await t.queues.set({ rate: { limit: 1, perMs: 100, burst: 1 } });
      const runs = await t.queues.start(5);
      const worker = await t.worker({ leaseMs: 100_000_000 });
      const at = t.now;
      const claim = async () => {
        const taken = await t.queues.claimed(worker);
        return { taken, nextDueAt: (await t.claim(worker)).nextDueAt };
      };
      expect(await claim()).toEqual({ taken: [runs[0]], nextDueAt: at + 100 });
      await t.advance(130);
      expect(await claim()).toEqual({ taken: [runs[1]], nextDueAt: at + 200 });
      await t.advance(1_010);
      expect(await claim()).toEqual({ taken: [runs[2]], nextDueAt: at + 1_200 });
    },

    "what comes while something waits and a claim is late is not lost, but what comes in a pause is": async (t) => {
      await t.queues.set({ rate: { limit: 1, perMs: 10, burst: 1 } });
      const worker = await t.worker({ leaseMs: 100_000_000 });
      const runs = await t.queues.start(15);
      expect(await t.queues.claimed(worker)).toEqual(runs.slice(0, 1));
      await t.advance(37);
      expect(await t.queues.claimed(worker)).toEqual(runs.slice(1, 4));
      // Most of the next one had come by then.
      await t.advance(3);
      expect(await t.queues.claimed(worker)).toEqual(runs.slice(4, 5));
      // No more than what comes in 50 ms is kept.
      await t.advance(1_000);
      expect(await t.queues.claimed(worker)).toEqual(runs.slice(5, 10));
      await t.advance(50);
      expect(await t.queues.claimed(worker)).toEqual(runs.slice(10));
      await t.advance(1_000);
      const later = await t.queues.start(5);
      expect(await t.queues.claimed(worker)).toEqual(later.slice(0, 1));
    },

    "a late claim costs the rate of a key nothing either": async (t) => {
      await t.queues.set({ perKey: { rate: { limit: 1, perMs: 10, burst: 1 } } });
      const worker = await t.worker({ leaseMs: 100_000_000 });
      const runs = await t.queues.start(5, { key: "a" });
      expect(await t.queues.claimed(worker)).toEqual(runs.slice(0, 1));
      await t.advance(40);
      expect(await t.queues.claimed(worker)).toEqual(runs.slice(1));
    },

    "a rate per key is counted for each key, and remembered when nothing of it is left": async (t) => {
      await t.queues.set({ perKey: { rate: { limit: 1, perMs: 1_000, burst: 1 } } });
      const [a1, a2] = await t.queues.start(2, { key: "a" });
      const [b1] = await t.queues.start(1, { key: "b" });
      const worker = await t.worker({ leaseMs: 100_000_000 });
      const at = t.now;
      const { runs, nextDueAt } = await t.claim(worker);
      expect(new Set(runs.map(({ runId }) => runId))).toEqual(new Set([a1, b1]));
      expect(nextDueAt).toBe(at + 1_000);
      const [b2] = await t.queues.start(1, { key: "b" });
      expect(await t.queues.claimed(worker)).toEqual([]);
      await t.advance(1_000);
      expect(new Set(await t.queues.claimed(worker))).toEqual(new Set([a2, b2]));
    },

    "a key at its own limit does not hide those behind it": async (t) => {
      const worker = await t.worker();
      await t.queues.start(1, { key: "a" });
      expect(await t.queues.claimed(worker)).toHaveLength(1);
      // All that "a" may have. For the two other places there are two other keys.
      await t.queues.set({ concurrency: 3, perKey: { concurrency: 1 } });
      const [first] = await t.queues.start(2);
      await t.queues.start(1, { key: "a" });
      const [b] = await t.queues.start(1, { key: "b" });
      expect(new Set(await t.queues.claimed(worker))).toEqual(new Set([first, b]));
    },

    "a key that comes now does not wait until the backlog of another one is sorted in": async (t) => {
      await t.queues.set({ concurrency: 1 });
      await t.startMany(Array.from({ length: 3 * SORTED_MAX }, () => t.newRun({ key: "a" })));
      await t.advance(1);
      const [b] = await t.queues.start(1, { key: "b" });
      const worker = await t.worker();
      const first = await t.claim(worker);
      await t.queues.end(new Holder(t.store, worker, first.runs[0] as Run));
      expect(await t.queues.claimed(worker)).toEqual([b]);
    },

    "a claim that leaves something to be sorted in asks again at once, or in a moment if nothing can begin anyway":
      async (t) => {
        await t.queues.set({ concurrency: 2 });
        await t.startMany(Array.from({ length: 5 * SORTED_MIN }, () => t.newRun({ key: "a" })));
        const worker = await t.worker();
        const ask = async (limit: number) => {
          const at = t.now;
          const { runs, moreDue, nextDueAt } = await t.claim(worker, { limit });
          return { runs: runs.length, moreDue, inMs: (nextDueAt as number) - at };
        };
        // Nobody gives a hint of that.
        expect(await ask(1)).toEqual({ runs: 1, moreDue: true, inMs: 0 });
        expect(await ask(10)).toEqual({ runs: 1, moreDue: false, inMs: 20 });
        expect((await t.claim(worker)).nextDueAt).toBeNull();
        expect((await t.queues.read()).runs).toMatchObject({ waiting: 5 * SORTED_MIN - 2, running: 2 });
      },

    "a claim gives a few places at a time, and asks again at once while there are more": async (t) => {
      await t.queues.set({ concurrency: 2 * ADMITTED_MAX + 3 });
      await t.startMany(Array.from({ length: 3 * ADMITTED_MAX }, (_, i) => t.newRun({ key: i % 2 === 0 ? "a" : "b" })));
      const [first, second] = [await t.worker(), await t.worker()];
      const ask = async (worker: string, limit: number) => {
        const { runs, nextDueAt } = await t.claim(worker, { limit });
        return { runs: runs.length, now: nextDueAt === t.now };
      };
      expect(await ask(first, 100)).toEqual({ runs: ADMITTED_MAX, now: true });
      expect(await ask(second, 100)).toEqual({ runs: ADMITTED_MAX, now: true });
      expect(await ask(first, 100)).toEqual({ runs: 3, now: false });
      expect((await t.queues.read()).runs).toMatchObject({ running: 2 * ADMITTED_MAX + 3 });
    },

    "a claim that has given the last place does not ask again at once": async (t) => {
      await t.queues.set({ concurrency: ADMITTED_MAX });
      await t.startMany(Array.from({ length: ADMITTED_MAX + 1 }, () => t.newRun()));
      const worker = await t.worker();
      expect(await t.claim(worker, { limit: 100 })).toMatchObject({ moreDue: false, nextDueAt: null });
    },

    "runs that were started together begin in the order of their starts, whatever their run ids": async (t) => {
      await t.queues.set({ concurrency: 1 });
      // Enough that they are not sorted in at once.
      const ids = Array.from({ length: 3 * SORTED_MAX }, () => t.newRun().runId).reverse();
      await t.startMany(ids.map((runId) => t.newRun({ runId })));
      const worker = await t.worker();
      const taken: string[] = [];
      for (let i = 0; i < 5; i++) {
        const [holder] = (await t.queues.claim(worker)) as [Holder];
        taken.push(holder.runId);
        await t.queues.end(holder);
      }
      expect(taken).toEqual(ids.slice(0, 5));
    },

    "thousands that wait behind a full limit are passed by": async (t) => {
      await t.queues.set({ concurrency: 1 });
      const worker = await t.worker();
      const runs = Array.from({ length: 2_500 }, () => t.newRun());
      await t.startMany(runs);
      await t.advance(1);
      const rounds = await sortAll(t, worker);
      expect(rounds).toBeLessThanOrEqual(Math.ceil(2_500 / (2 * SORTED_MIN)) + 1);
      expect((await t.queues.read()).runs).toMatchObject({ waiting: 2_499, running: 1 });
    },
  },
};

/** Claims until nothing is due; how often. */
async function sortAll(t: Fixture, worker: string): Promise<number> {
  for (let rounds = 1; ; rounds++) if ((await t.claim(worker)).nextDueAt === null) return rounds;
}
