import { expect } from "vitest";
import { expectHints } from "../../expected-hints.ts";
import type { Fixture } from "../../fixture.ts";
import { LEASE_MS } from "../../sample-data.ts";
import { aSchedule, STATE } from "../../sample-schedules.ts";
import type { Suite } from "../../suite.ts";

const leader = async (t: Fixture): Promise<string | null> => (await t.store.workers.readLeader({}))?.workerId ?? null;

const beat = (
  t: Fixture,
  workerId: string,
  more: { draining?: boolean; coordinates?: boolean; namespace?: string } = {},
) =>
  t.store.workers.heartbeat({
    namespace: "default",
    workerId,
    leaseMs: LEASE_MS,
    draining: false,
    coordinates: true,
    ...more,
  });

const LEAVINGS: readonly ((t: Fixture, workerId: string) => Promise<unknown>)[] = [
  (t, workerId) => beat(t, workerId, { draining: true }),
  (t, workerId) => beat(t, workerId, { coordinates: false }),
  (t, workerId) => t.store.workers.stop({ namespace: "default", workerId }),
];

export const leadership: Suite = {
  noun: "the leader",
  cases: {
    "is the first worker that coordinates, of whatever namespace, and stays it": async (t) => {
      expect(await t.store.workers.readLeader({})).toBeNull();
      await t.worker();
      expect(await leader(t)).toBeNull();
      const first = await t.worker({ coordinates: true, namespace: "other" });
      const since = t.now;
      await t.advance(5);
      const second = await t.worker({ coordinates: true });
      expect(await t.store.workers.readLeader({})).toEqual({ workerId: first, namespace: "other", since });
      expect((await beat(t, second)).leads).toBeUndefined();
      expect((await beat(t, first, { namespace: "other" })).leads).toEqual({
        nextAt: null,
        waiting: false,
        retains: false,
      });
      expect(await leader(t)).toBe(first);
    },

    "is told by registration and heartbeat when there is something to do": async (t) => {
      await aSchedule(t, { id: "later", state: { ...STATE, nextAt: t.now + 50 } });
      await aSchedule(t, { id: "s", state: { ...STATE, nextAt: t.now - 50 } });
      const params = {
        namespace: "default",
        name: "w",
        queues: ["default"],
        workflows: [],
        labels: {},
        leaseMs: LEASE_MS,
      };
      const workerId = t.newId();
      const registered = await t.store.workers.register({ ...params, workerId, coordinates: true });
      expect(registered.leads).toEqual({ nextAt: t.now - 50, waiting: false, retains: false });
      await aSchedule(t, { id: "w", state: { ...STATE, buffered: [1], waits: "end" } });
      expect((await beat(t, workerId)).leads).toEqual({ nextAt: t.now - 50, waiting: true, retains: false });
    },

    "is replaced by the heartbeat of another once its lease has expired, before any sweep": async (t) => {
      const first = await t.worker({ coordinates: true });
      const second = await t.worker({ coordinates: true, leaseMs: 10 * LEASE_MS });
      await t.advance(LEASE_MS - 1);
      expect((await beat(t, second)).leads).toBeUndefined();
      await t.advance(1);
      expect((await beat(t, second)).leads).toBeDefined();
      expect(await leader(t)).toBe(second);
      expect((await beat(t, first)).leads).toBeUndefined();
    },

    "that a sweep declares dead steps down": async (t) => {
      const first = await t.worker({ coordinates: true });
      const second = await t.worker({ coordinates: true, leaseMs: 10 * LEASE_MS });
      await t.advance(LEASE_MS - 1);
      await t.sweep();
      expect(await leader(t)).toBe(first);
      await t.advance(1);
      await t.sweep();
      expect(await leader(t)).toBeNull();
      expect((await beat(t, first)).leads).toBeUndefined();
      expect((await beat(t, second)).leads).toBeDefined();
      expect(await leader(t)).toBe(second);
    },

    "whose process is gone steps down before its lease has expired": async (t) => {
      const first = await t.worker({ coordinates: true });
      const second = await t.worker({ coordinates: true });
      await t.sweep({ gone: [second] });
      expect(await leader(t)).toBe(first);
      await t.sweep({ gone: [first] });
      expect(await leader(t)).toBeNull();
    },

    "stays when a sweep declares others dead": async (t) => {
      const first = await t.worker({ coordinates: true, leaseMs: 10 * LEASE_MS });
      await t.worker({ coordinates: true });
      await t.advance(LEASE_MS);
      expect((await t.sweep()).dead).toBe(1);
      expect(await leader(t)).toBe(first);
    },

    "steps down when it drains, stops, or no longer coordinates": async (t) => {
      for (const leave of LEAVINGS) {
        const first = await t.worker({ coordinates: true });
        const second = await t.worker({ coordinates: true });
        expect(await leader(t)).toBe(first);
        await leave(t, first);
        expect(await leader(t)).toBeNull();
        expect((await beat(t, second)).leads).toBeDefined();
        await t.store.workers.stop({ namespace: "default", workerId: second });
      }
    },

    "is one, also if many would be it at once": async (t) => {
      const other = await t.second();
      const workers = await Promise.all(Array.from({ length: 8 }, () => t.worker()));
      const beats = await Promise.all(
        workers.map((workerId, i) =>
          (i % 2 === 0 ? t.store : other).workers.heartbeat({
            namespace: "default",
            workerId,
            leaseMs: LEASE_MS,
            draining: false,
            coordinates: true,
          }),
        ),
      );
      expect(beats.filter(({ leads }) => leads !== undefined)).toHaveLength(1);
    },
  },
};

/** The hint that there is no leader, so that another worker takes its place at once. */
export const leaderHints: Suite = {
  noun: "hints about the leader",
  cases: {
    "a sweep that declares the leader dead hints others": async (t) => {
      await t.worker({ coordinates: true });
      await t.advance(LEASE_MS);
      await expectHints(t, [{ type: "leaderless" }], () => t.sweep());
    },

    "a sweep hints others of a leader whose process is gone": async (t) => {
      const first = await t.worker({ coordinates: true });
      await expectHints(t, [{ type: "leaderless" }], () => t.sweep({ gone: [first] }));
    },

    "a leader that drains, stops, or no longer coordinates hints others": async (t) => {
      for (const leave of LEAVINGS) {
        const first = await t.worker({ coordinates: true });
        expect(await leader(t)).toBe(first);
        await expectHints(t, [{ type: "leaderless" }], () => leave(t, first));
      }
    },
  },
};
