import { HEARTBEAT_KEPT_EVERY_MS } from "holdfast/adapter";
import { expect } from "vitest";
import type { Fixture } from "../fixture.ts";
import { LEASE_MS } from "../sample-data.ts";
import type { Suite } from "../suite.ts";

const NAMESPACE = "default";
const MINUTE = 60_000;
/** Longer than a kept heartbeat is apart, so that nobody dies by accident. */
const LONG_LEASE = 10 * HEARTBEAT_KEPT_EVERY_MS;

function beat(t: Fixture, workerId: string, fields: { readonly draining?: boolean; readonly leaseMs?: number } = {}) {
  return t.store.workers.heartbeat({ namespace: NAMESPACE, workerId, leaseMs: LONG_LEASE, draining: false, ...fields });
}

async function log(t: Fixture, fields: { readonly workerId?: string; readonly namespace?: string } = {}) {
  const entries = await t.store.workers.readLog({ namespace: NAMESPACE, before: null, limit: 100, ...fields });
  return entries.map(({ type, at }) => [type, at]);
}

function counts(from: number, workflow: string, n: number) {
  return { from, workflow, started: n, ended: n + 1, failed: n + 2, retried: n + 3 };
}

/** What is kept of workers: how busy they are, their lives, and what they have counted. */
export const workerLog: Suite = {
  noun: "the lives of workers",
  cases: {
    "a worker is listed with what it said of itself, and how busy it said that it is": async (t) => {
      const about = {
        holdfast: "1.0.0",
        runtime: "node 20",
        options: { concurrency: 100, coordinate: true, name: "ü" },
      };
      const workerId = await t.worker({ about });
      const pace = { overMs: 59_999, attempts: 4_200, failed: 3, attemptMsMean: 12.5, attemptMsMax: 90_000 };
      const load = { runs: 3, tasks: 0, loopDelayMs: 1.5, loopBusy: 0.25, memoryBytes: 123_456_789_012, pace };
      expect(await t.store.workers.list({ namespace: NAMESPACE })).toMatchObject([
        { about, load: null, drainAsked: false },
      ]);
      await t.store.workers.heartbeat({ namespace: NAMESPACE, workerId, leaseMs: LEASE_MS, draining: false, load });
      expect(await t.store.workers.list({ namespace: NAMESPACE })).toMatchObject([{ about, load }]);
      await beat(t, workerId);
      expect(await t.store.workers.list({ namespace: NAMESPACE })).toMatchObject([{ load }]);
    },

    "a worker that is asked to drain learns of it with each heartbeat": async (t) => {
      const [workerId, other] = [await t.worker(), await t.worker()];
      expect((await beat(t, workerId)).drain).toBeUndefined();
      const ask = (id: string, namespace = NAMESPACE) => t.store.workers.askToDrain({ namespace, workerId: id });
      expect(await ask(workerId)).toEqual({ outcome: "asked" });
      expect(await ask(workerId)).toEqual({ outcome: "asked" });
      expect((await beat(t, workerId)).drain).toBe(true);
      expect((await beat(t, workerId, { draining: true })).drain).toBe(true);
      expect((await beat(t, other)).drain).toBeUndefined();
      expect(await ask(other, "elsewhere")).toEqual({ outcome: "not_found" });
      expect(await ask(t.newId())).toEqual({ outcome: "not_found" });
      await t.store.workers.stop({ namespace: NAMESPACE, workerId });
      expect(await ask(workerId)).toEqual({ outcome: "offline" });
    },

    "its log has when a worker started, drained and stopped, newest first": async (t) => {
      const workerId = await t.worker();
      const began = t.now;
      await t.advance(10);
      await beat(t, workerId);
      await beat(t, workerId, { draining: true });
      await beat(t, workerId, { draining: true });
      const drained = t.now;
      await t.advance(10);
      await t.store.workers.stop({ namespace: NAMESPACE, workerId });
      await t.store.workers.stop({ namespace: NAMESPACE, workerId });
      const life = [
        ["stopped", t.now],
        ["stopping", drained],
        ["started", began],
      ];
      expect(await log(t)).toEqual(life);
      expect(await log(t, { workerId })).toEqual(life);
      expect(await log(t, { workerId: t.newId() })).toEqual([]);
      expect(await log(t, { namespace: "elsewhere" })).toEqual([]);
    },

    "a registration that is repeated is one start": async (t) => {
      const workerId = t.newId();
      const params = { namespace: NAMESPACE, name: "w", queues: [], workflows: [], labels: {}, leaseMs: LEASE_MS };
      await t.store.workers.register({ ...params, workerId });
      await t.store.workers.register({ ...params, workerId });
      expect(await log(t)).toEqual([["started", t.now]]);
    },

    "a worker that is declared dead has died, whatever the reason, and only once": async (t) => {
      const silent = await t.worker({ leaseMs: 100 });
      const gone = await t.worker();
      const began = t.now;
      await t.sweep({ gone: [gone] });
      await t.advance(100);
      await t.sweep();
      await t.sweep();
      expect(await log(t, { workerId: silent })).toEqual([
        ["died", t.now],
        ["started", began],
      ]);
      expect(await log(t, { workerId: gone })).toEqual([
        ["died", began],
        ["started", began],
      ]);
    },

    "of the heartbeats, one every ten minutes is kept": async (t) => {
      const workerId = await t.worker({ leaseMs: LONG_LEASE });
      const began = t.now;
      for (let i = 0; i < 5; i++) {
        await t.advance(HEARTBEAT_KEPT_EVERY_MS / 2 - 1);
        await beat(t, workerId);
      }
      const kept = (await log(t)).filter(([type]) => type === "heartbeat").map(([, at]) => (at as number) - began);
      expect(kept).toEqual([(HEARTBEAT_KEPT_EVERY_MS / 2 - 1) * 3]);
    },

    "the log can be read in pages": async (t) => {
      for (let i = 0; i < 5; i++) await t.worker({ name: `w${i}` });
      const page = (before: number | null) => t.store.workers.readLog({ namespace: NAMESPACE, before, limit: 2 });
      const first = await page(null);
      const second = await page(first[1]?.entryNo as number);
      const third = await page(second[1]?.entryNo as number);
      expect([...first, ...second, ...third].map(({ name }) => name)).toEqual(["w4", "w3", "w2", "w1", "w0"]);
    },

    "what workers count is summed by time and workflow": async (t) => {
      const [a, b] = [await t.worker(), await t.worker()];
      const add = (workerId: string, no: number, ...rates: ReturnType<typeof counts>[]) =>
        t.store.workers.addRates({ namespace: NAMESPACE, workerId, no, rates });
      await add(a, 1, counts(0, "order", 1), counts(0, "refund ü", 10));
      await add(b, 1, counts(0, "order", 2), counts(MINUTE, "order", 5));
      await add(a, 2, counts(59 * MINUTE, "order", 7), counts(60 * MINUTE, "order", 9));
      const read = (from: number, to: number, grainMs: number, workflow?: string) =>
        t.store.workers.readRates({ namespace: NAMESPACE, from, to, grainMs, ...(workflow && { workflow }) });
      const both = { from: 0, workflow: "order", started: 3, ended: 5, failed: 7, retried: 9 };
      expect(await read(0, MINUTE, MINUTE)).toEqual([both, counts(0, "refund ü", 10)]);
      expect(await read(0, 60 * MINUTE, MINUTE, "order")).toEqual([
        both,
        counts(MINUTE, "order", 5),
        counts(59 * MINUTE, "order", 7),
      ]);
      expect(await read(0, 120 * MINUTE, 60 * MINUTE, "order")).toEqual([
        { from: 0, workflow: "order", started: 15, ended: 19, failed: 23, retried: 27 },
        counts(60 * MINUTE, "order", 9),
      ]);
      expect(await t.store.workers.readRates({ namespace: "elsewhere", from: 0, to: MINUTE, grainMs: MINUTE })).toEqual(
        [],
      );
    },

    "counts that are added again, out of order, or by a worker that is gone change nothing": async (t) => {
      const workerId = await t.worker();
      const add = (no: number, id = workerId, namespace = NAMESPACE) =>
        t.store.workers.addRates({ namespace, workerId: id, no, rates: [counts(0, "order", 1)] });
      await add(1);
      await add(1);
      await add(3);
      await add(2, workerId, "elsewhere");
      await add(1, t.newId());
      const sum = () => t.store.workers.readRates({ namespace: NAMESPACE, from: 0, to: MINUTE, grainMs: MINUTE });
      expect(await sum()).toEqual([counts(0, "order", 1)]);
      await add(2);
      await t.store.workers.stop({ namespace: NAMESPACE, workerId });
      await add(3);
      expect(await sum()).toMatchObject([{ started: 2 }]);
    },

    "what is old is forgotten, and nothing else": async (t) => {
      const [gone, alive] = [await t.worker({ leaseMs: LONG_LEASE }), await t.worker({ leaseMs: LONG_LEASE })];
      const holder = await t.held();
      const old = t.now - (t.now % MINUTE);
      const rates = [counts(old, "order", 1), counts(old + 10 * MINUTE, "order", 2)];
      await t.store.workers.addRates({ namespace: NAMESPACE, workerId: alive, no: 1, rates });
      await t.store.workers.stop({ namespace: NAMESPACE, workerId: gone });
      await t.sweep({ gone: [holder.workerId], limit: 0 });
      await t.sweep({ gone: [], limit: 0 });
      await t.advance(5 * MINUTE);
      const started = t.now;
      await t.worker({ name: "new" });
      const before = t.now - MINUTE;
      for (let more = true; more; ) ({ more } = await t.store.workers.forget({ before, limit: 1 }));
      const left = (await t.store.workers.list({ namespace: NAMESPACE })).map(({ workerId }) => workerId);
      expect([gone, alive, holder.workerId].map((id) => left.includes(id))).toEqual([false, true, true]);
      expect(await log(t)).toEqual([["started", started]]);
      const kept = await t.store.workers.readRates({ namespace: NAMESPACE, from: 0, to: t.now * 2, grainMs: MINUTE });
      expect(kept).toEqual([counts(old + 10 * MINUTE, "order", 2)]);
      expect(await t.store.workers.forget({ before, limit: 1 })).toEqual({ more: false });
    },
  },
};
