import type { DuePosition, ScheduleState } from "holdfast/adapter";
import { expect } from "vitest";
import type { Fixture } from "../../fixture.ts";
import { end, errorRecord } from "../../sample-data.ts";
import { aSchedule, STATE } from "../../sample-schedules.ts";
import type { Suite } from "../../suite.ts";

async function dueIds(t: Fixture, limit = 100): Promise<string[]> {
  return (await t.store.schedules.due({ limit })).schedules.map(({ id }) => id);
}

const at = (nextAt: number | null, more: Partial<ScheduleState> = {}): { state: ScheduleState } => ({
  state: { ...STATE, nextAt, ...more },
});

export const dueSchedules: Suite = {
  noun: "due schedules",
  cases: {
    "are those whose time has come, the longest due first, of all namespaces": async (t) => {
      await aSchedule(t, { id: "b", ...at(t.now - 1) });
      await aSchedule(t, { id: "a", ...at(t.now) });
      await aSchedule(t, { id: "first", namespace: "other", ...at(t.now - 5) });
      await aSchedule(t, { id: "later", ...at(t.now + 10) });
      await aSchedule(t, { id: "last", ...at(t.now + 20) });
      await aSchedule(t, { id: "never", ...at(null) });
      const result = await t.store.schedules.due({ limit: 100 });
      expect(result.schedules.map(({ id }) => id)).toEqual(["first", "b", "a"]);
      expect(result).toMatchObject({ now: t.now, more: false, nextAt: t.now + 10, waiting: false });
      await t.advance(10);
      expect(await dueIds(t)).toEqual(["first", "b", "a", "later"]);
    },

    "are given out up to the limit": async (t) => {
      for (let i = 0; i < 5; i++) await aSchedule(t, { id: `s${i}`, ...at(t.now - i) });
      const result = await t.store.schedules.due({ limit: 3 });
      expect(result.schedules.map(({ id }) => id)).toEqual(["s4", "s3", "s2"]);
      expect(result.more).toBe(true);
      expect((await t.store.schedules.due({ limit: 5 })).more).toBe(false);
    },

    "are given out page by page: those whose time has come, then those that wait": async (t) => {
      for (const id of ["s0", "s1", "s2"]) await aSchedule(t, { id, ...at(t.now - 1) });
      await aSchedule(t, { id: "s1", namespace: "other", ...at(t.now - 1) });
      await aSchedule(t, { id: "first", ...at(t.now - 2) });
      for (const id of ["w0", "w1"]) await aSchedule(t, { id, ...at(null, { buffered: [1], waits: "look" }) });
      await aSchedule(t, { id: "w0", namespace: "other", ...at(t.now + 9, { buffered: [1], waits: "end" }) });
      const behind = async (after: DuePosition, limit = 100): Promise<string[]> => {
        const { schedules, more } = await t.store.schedules.due({ limit, after });
        return [...schedules.map(({ namespace, id }) => `${namespace}/${id}`), ...(more ? ["more"] : [])];
      };
      const waiting = ["default/w0", "default/w1", "other/w0"];
      const position = { namespace: "default", id: "s1", dueAt: t.now - 1 };
      expect(await behind(position)).toEqual(["default/s2", "other/s1", ...waiting]);
      expect(await behind(position, 1)).toEqual(["default/s2", "more"]);
      expect(await behind(position, 3)).toEqual(["default/s2", "other/s1", "default/w0", "more"]);
      expect(await behind({ ...position, id: "between" })).toEqual(
        ["s0", "s1", "s2"].map((id) => `default/${id}`).concat("other/s1", waiting),
      );
      expect(await behind({ ...position, namespace: "other" })).toEqual(waiting);
      expect(await behind({ ...position, dueAt: null })).toEqual(waiting);
      expect(await behind({ namespace: "default", id: "w0", dueAt: null })).toEqual(waiting.slice(1));
      expect(await behind({ namespace: "other", id: "w0", dueAt: null })).toEqual([]);
    },

    "are none where there are none": async (t) => {
      expect(await t.store.schedules.due({ limit: 5 })).toEqual({
        schedules: [],
        now: t.now,
        awaited: [],
        more: false,
        nextAt: null,
        waiting: false,
      });
    },

    "are also those with buffered times whose run has ended": async (t) => {
      const run = await t.held({ id: "s@1" });
      await aSchedule(t, { id: "s", ...at(t.now + 10, { openId: "s@1", buffered: [1], waits: "end" }) });
      expect(await t.store.schedules.due({ limit: 5 })).toMatchObject({
        schedules: [],
        awaited: [run.runId],
        waiting: true,
        nextAt: t.now + 10,
      });
      await aSchedule(t, { id: "idle", ...at(null, { openId: "s@1" }) });
      await aSchedule(t, { id: "other", ...at(null, { openId: "other@1", buffered: [1], waits: "look" }) });
      const other = await t.start({ id: "other@1" });
      expect((await t.store.schedules.due({ limit: 5 })).awaited).toEqual([other.run.runId, run.runId]);
      expect((await t.store.schedules.due({ limit: 1 })).awaited).toEqual([other.run.runId]);
      await t.store.schedules.remove({ namespace: "default", id: "other" });
      await run.commit(end());
      expect((await t.store.schedules.due({ limit: 5 })).awaited).toEqual([]);
      expect(await dueIds(t)).toEqual(["s"]);
      await t.advance(10);
      expect(await dueIds(t)).toEqual(["s"]);
    },

    "are also those with buffered times whose run is to be stopped, whatever it does": async (t) => {
      await t.start({ id: "s@1" });
      await aSchedule(t, { id: "s", ...at(null, { openId: "s@1", buffered: [1], waits: "look" }) });
      await aSchedule(t, { id: "gone", ...at(null, { openId: "gone@1", buffered: [1], waits: "end" }) });
      expect(await dueIds(t)).toEqual(["gone", "s"]);
      expect(await dueIds(t, 1)).toEqual(["gone"]);
    },

    "come before those that wait": async (t) => {
      await aSchedule(t, { id: "a", ...at(null, { buffered: [1], waits: "look" }) });
      await aSchedule(t, { id: "b", ...at(t.now) });
      expect(await dueIds(t)).toEqual(["b", "a"]);
    },

    "are listed by id, page by page; those that fail, or whose run is parked, can be listed alone": async (t) => {
      for (const [id, status] of [
        ["a", "failed"],
        ["b", "completed"],
        ["c", "timed_out"],
      ] as const) {
        const run = await t.held({ id: `${id}@1` });
        const error = status === "completed" ? {} : { output: null, error: errorRecord("odd") };
        await run.commit(end({ status, ...error }));
        await aSchedule(t, { id, ...at(null, { openId: `${id}@1` }) });
      }
      await aSchedule(t, { id: "d", ...at(null, { failures: 2 }) });
      await aSchedule(t, { id: "b", namespace: "other", ...at(null, { failures: 2 }) });
      for (const id of ["e", "f"]) {
        await t.start({ id: `${id}@1` });
        await aSchedule(t, { id, ...at(null, { openId: `${id}@1` }) });
      }
      await t.pause({ namespace: "default", id: "f@1" });
      const list = async (more: object) =>
        (await t.store.schedules.list({ namespace: "default", limit: 10, ...more })).map(({ id }) => id);
      expect(await list({})).toEqual(["a", "b", "c", "d", "e", "f"]);
      expect(await list({ limit: 2 })).toEqual(["a", "b"]);
      expect(await list({ after: "b" })).toEqual(["c", "d", "e", "f"]);
      expect(await list({ failing: true })).toEqual(["a", "c", "d", "f"]);
      expect(await list({ failing: true, after: "a", limit: 1 })).toEqual(["c"]);
    },
  },
};
