import { expect } from "vitest";
import { expectHints } from "../expected-hints.ts";
import type { Suite } from "../suite.ts";

/** The rules by which the leader purges. */
export const retention: Suite = {
  noun: "retention",
  cases: {
    "a namespace has no rules until it is given some": async (t) => {
      expect(await t.store.retention.read({ namespace: "default" })).toEqual({});
      expect(await t.store.retention.list({})).toEqual([]);
    },

    "rules replace those before": async (t) => {
      const set = (rules: object) => t.store.retention.set({ namespace: "default", rules });
      await set({ completed: 60_000, failed: 3_155_760_000_000 });
      expect(await t.store.retention.read({ namespace: "default" })).toEqual({
        completed: 60_000,
        failed: 3_155_760_000_000,
      });
      await set({ timed_out: 1 });
      await set({ timed_out: 1 });
      expect(await t.store.retention.read({ namespace: "default" })).toEqual({ timed_out: 1 });
      await set({});
      expect(await t.store.retention.read({ namespace: "default" })).toEqual({});
      expect(await t.store.retention.list({})).toEqual([]);
    },

    "rules are those of one namespace, and all of them can be listed": async (t) => {
      await t.store.retention.set({ namespace: "other", rules: { completed: 1 } });
      await t.store.retention.set({ namespace: "default", rules: { failed: 2 } });
      expect(await t.store.retention.read({ namespace: "other" })).toEqual({ completed: 1 });
      expect(await t.store.retention.read({ namespace: "third" })).toEqual({});
      expect(await t.store.retention.list({})).toEqual([
        { namespace: "default", rules: { failed: 2 } },
        { namespace: "other", rules: { completed: 1 } },
      ]);
    },

    "a change of rules hints the leader": async (t) => {
      const set = (rules: object) => () => t.store.retention.set({ namespace: "default", rules });
      await expectHints(t, [{ type: "retention" }], set({ completed: 1 }));
      await expectHints(t, [{ type: "retention" }], set({}));
    },

    "the leader is told whether there are any": async (t) => {
      const workerId = await t.worker();
      const beat = async () =>
        (
          await t.store.workers.heartbeat({
            namespace: "default",
            workerId,
            leaseMs: 60_000,
            draining: false,
            coordinates: true,
          })
        ).leads;
      expect(await beat()).toMatchObject({ retains: false });
      await t.store.retention.set({ namespace: "other", rules: { completed: 1 } });
      expect(await beat()).toMatchObject({ retains: true });
      await t.store.retention.set({ namespace: "other", rules: {} });
      expect(await beat()).toMatchObject({ retains: false });
    },
  },
};
