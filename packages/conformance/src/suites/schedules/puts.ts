import { DECISIONS_MAX, type Hint, type PutSchedule, type Schedule, type ScheduleDecision } from "holdfast/adapter";
import { expect } from "vitest";
import { due, ended, expectHints } from "../../expected-hints.ts";
import type { Fixture } from "../../fixture.ts";
import { bytes, end, errorRecord, park } from "../../sample-data.ts";
import { aPut, aSchedule, DEFINITION, put, readSchedule, STATE, scheduledStart } from "../../sample-schedules.ts";
import type { Suite } from "../../suite.ts";

const FIRED: ScheduleDecision = { at: 1, what: "fired" };
const STARTED = { openId: "s@1", lastAt: 1, nextAt: 2 };

/** A put that starts the second run of a schedule, and terminates that run for it. */
function replacing(t: Fixture, id: string, revision: string | null, runId: string, why = "make way"): PutSchedule {
  const fresh = revision === null ? {} : { revision };
  const state = { ...STATE, openId: `${id}@2` };
  const starts = [scheduledStart(t, `${id}@2`)];
  return aPut(t, { id, ...fresh, state, starts, terminates: { runId, error: errorRecord(why) } });
}

export const schedulePuts: Suite = {
  noun: "changes of schedules",
  cases: {
    "a schedule is created, and read as it was put": async (t) => {
      const state = {
        ...STATE,
        nextAt: t.now + 5,
        buffered: [1, 2],
        waits: "end" as const,
        failures: 3,
        lastError: "odd \u0000",
      };
      const definition = { ...DEFINITION, note: "a \u0000 note", attributes: { n: 1, ok: true } };
      const one = aPut(t, { id: "s", state, definition, input: bytes("\u0001\u0000x") });
      expect(await put(t, one)).toEqual([{ outcome: "written" }]);
      expect(await readSchedule(t, "s")).toEqual({
        namespace: "default",
        id: "s",
        revision: one.next,
        createdAt: t.now,
        definition,
        input: bytes("\u0001\u0000x"),
        state,
        open: null,
      });
      expect(await t.store.schedules.read({ schedules: [{ namespace: "other", id: "s" }] })).toEqual([null]);
    },

    "a put of another revision than the schedule has changes nothing": async (t) => {
      const { revision } = await aSchedule(t, { id: "s" });
      const next = aPut(t, { id: "s", revision, state: { ...STATE, nextAt: 7 } });
      const late = aPut(t, { id: "s", revision, state: { ...STATE, nextAt: 8 }, starts: [scheduledStart(t, "late")] });
      const again = aPut(t, { id: "s" });
      const none = aPut(t, { id: "no such schedule", revision });
      expect(await put(t, next)).toEqual([{ outcome: "written" }]);
      expect(await put(t, late)).toEqual([{ outcome: "moved" }]);
      expect(await put(t, again, none)).toEqual([{ outcome: "moved" }, { outcome: "moved" }]);
      expect((await readSchedule(t, "s")).state.nextAt).toBe(7);
      expect(await t.store.runs.read({ runs: [{ namespace: "default", id: "late" }] })).toEqual([null]);
      expect(await t.store.schedules.read({ schedules: [{ namespace: "default", id: "no such schedule" }] })).toEqual([
        null,
      ]);
    },

    "a put that is repeated has been written, and starts nothing again": async (t) => {
      const { revision } = await aSchedule(t, { id: "s" });
      const fire = aPut(t, {
        id: "s",
        revision,
        state: { ...STATE, ...STARTED },
        decided: [{ at: 1, what: "fired" }],
        starts: [scheduledStart(t, "s@1")],
      });
      expect(await put(t, fire)).toEqual([{ outcome: "written" }]);
      expect(await put(t, fire)).toEqual([{ outcome: "written" }]);
      expect(await t.store.runs.count({ namespace: "default", atMost: null })).toBe(1);
      expect(await t.store.schedules.decisions({ namespace: "default", id: "s" })).toHaveLength(1);
    },

    "a put and its starts happen together; the schedule has the run as its open one": async (t) => {
      const { revision } = await aSchedule(t, { id: "s" });
      const start = scheduledStart(t, "s@1");
      const attributes = { "holdfast.schedule": "s" };
      const starts = [{ ...start, run: { ...start.run, attributes, startAt: t.now + 50, timeoutMs: 1_000 } }];
      await expectHints(t, [{ type: "due", namespace: "default", queue: "default", at: t.now + 50 }], () =>
        put(t, aPut(t, { id: "s", revision, state: { ...STATE, ...STARTED }, starts })),
      );
      const { open, state } = await readSchedule(t, "s");
      expect(state).toEqual({ ...STATE, ...STARTED });
      expect(open).toEqual({ runId: start.run.runId, status: "pending", error: null });
      const listed = await t.store.runs.list({ namespace: "default", attributes, limit: 10 });
      expect(listed).toMatchObject([{ id: "s@1", availableAt: t.now + 50, deadlineAt: t.now + 1_000, attributes }]);
    },

    "of several puts each is decided for itself, with its own starts": async (t) => {
      const one = await aSchedule(t, { id: "one" });
      const two = await aSchedule(t, { id: "two" });
      const three = await aSchedule(t, { id: "three" });
      const fire = (id: string, revision: string, ...ids: string[]) =>
        aPut(t, {
          id,
          revision,
          state: { ...STATE, openId: ids.at(-1) as string },
          starts: ids.map((run) => scheduledStart(t, run)),
        });
      const puts = [
        fire("one", one.revision, "one@1", "one@2"),
        fire("two", t.newId(), "two@1"),
        fire("three", three.revision, "three@1"),
        aPut(t, { id: "four", starts: [scheduledStart(t, "four@1")] }),
      ];
      expect((await put(t, ...puts)).map(({ outcome }) => outcome)).toEqual(["written", "moved", "written", "written"]);
      const rows = await t.store.runs.list({ namespace: "default", limit: 10 });
      expect(rows.map(({ id }) => id).sort()).toEqual(["four@1", "one@1", "one@2", "three@1"]);
      expect((await readSchedule(t, "two")).revision).toBe(two.revision);
    },

    "a put that assumes that the open run is open, or that it is not, is refused if that is wrong": async (t) => {
      const run = await t.held({ id: "s@1" });
      const { revision } = await aSchedule(t, { id: "s", state: { ...STATE, openId: "s@1" } });
      const assuming = (open: boolean) =>
        aPut(t, { id: "s", revision, state: STATE, assumes: { open }, starts: [scheduledStart(t, `s ${open}`)] });
      expect(await put(t, assuming(false))).toEqual([{ outcome: "moved" }]);
      await run.commit(end());
      expect(await put(t, assuming(true))).toEqual([{ outcome: "moved" }]);
      expect(await put(t, assuming(false))).toEqual([{ outcome: "written" }]);
      const rows = await t.store.runs.list({ namespace: "default", limit: 10 });
      expect(rows.map(({ id }) => id).sort()).toEqual(["s false", "s@1"]);
    },

    "a run that continued as new is still open; one that was purged is not": async (t) => {
      const run = await t.held({ id: "s@1" });
      const next = t.newRun({ id: "s@1" });
      await run.commit({ type: "continue", next, carried: [] });
      await aSchedule(t, { id: "s", state: { ...STATE, openId: "s@1" } });
      expect((await readSchedule(t, "s")).open).toEqual({ runId: next.runId, status: "pending", error: null });
      const holder = await t.claimOne(await t.worker());
      await holder.commit(end());
      expect((await readSchedule(t, "s")).open).toMatchObject({ runId: next.runId, status: "completed" });
      await t.advance(10);
      await t.store.runs.purge({ namespace: "default", endedBefore: t.now, limit: 10 });
      expect((await readSchedule(t, "s")).open).toBeNull();
    },

    "an open run of a schedule is not purged": async (t) => {
      await t.start({ id: "s@1" });
      await aSchedule(t, { id: "s", state: { ...STATE, openId: "s@1" } });
      await t.advance(10);
      expect(await t.store.runs.purge({ namespace: "default", endedBefore: t.now, limit: 10 })).toMatchObject({
        purged: 0,
      });
      expect((await readSchedule(t, "s")).open).toMatchObject({ status: "pending" });
    },

    "the error of the open run is known: of one that has failed, and of one that is parked": async (t) => {
      const failed = await t.held({ id: "s@1" });
      await failed.commit(end({ status: "failed", output: null, error: errorRecord("no paper") }));
      await aSchedule(t, { id: "s", state: { ...STATE, openId: "s@1" } });
      expect((await readSchedule(t, "s")).open).toMatchObject({ status: "failed", error: "no paper" });
      const parked = await t.held({ id: "p@1" });
      await parked.commit(park("odd"));
      await aSchedule(t, { id: "p", state: { ...STATE, openId: "p@1" } });
      expect((await readSchedule(t, "p")).open).toMatchObject({ status: "parked", error: "odd" });
    },

    "a put that starts an id that a run has writes nothing, and says which": async (t) => {
      const other = await t.start({ id: "s@1" });
      const { revision } = await aSchedule(t, { id: "s" });
      const starts = [scheduledStart(t, "s@1"), scheduledStart(t, "s@2")];
      const fire = aPut(t, { id: "s", revision, state: { ...STATE, ...STARTED }, decided: [FIRED], starts });
      const own = aPut(t, { id: "s", revision, starts: [scheduledStart(t, "s@1", other.run.runId)] });
      const fresh = aPut(t, { id: "new", starts });
      const beside = aPut(t, { id: "beside", starts: [scheduledStart(t, "beside@1")] });
      const late = aPut(t, { id: "s", revision: t.newId(), starts });
      const taken = { outcome: "taken", taken: ["s@1"] };
      expect(await put(t, fire, fresh, beside)).toEqual([taken, taken, { outcome: "written" }]);
      expect(await put(t, own)).toEqual([taken]);
      expect(await put(t, late)).toEqual([{ outcome: "moved" }]);
      expect(await readSchedule(t, "s")).toMatchObject({ revision, state: STATE });
      expect(await t.store.schedules.decisions({ namespace: "default", id: "s" })).toEqual([]);
      expect(await t.store.schedules.read({ schedules: [{ namespace: "default", id: "new" }] })).toEqual([null]);
      const rows = await t.store.runs.list({ namespace: "default", limit: 10 });
      expect(rows.map(({ id }) => id).sort()).toEqual(["beside@1", "s@1"]);
    },

    "a put that terminates the open run ends it, and starts the next one, in one step": async (t) => {
      const run = await t.held({ id: "s@1" });
      const { revision } = await aSchedule(t, { id: "s", state: { ...STATE, openId: "s@1" } });
      const one = replacing(t, "s", revision, run.runId);
      const { runId, workerId } = run;
      const hints: Hint[] = [ended(runId), { type: "taken", runId, workerId }, due("default"), { type: "schedule" }];
      await expectHints(t, hints, async () => expect(await put(t, one)).toEqual([{ outcome: "written" }]));
      const [old, fresh] = await t.store.runs.read({
        runs: [
          { namespace: "default", id: "s@1" },
          { namespace: "default", id: "s@2" },
        ],
      });
      expect(old).toMatchObject({ status: "terminated", error: errorRecord("make way") });
      expect(fresh).toMatchObject({ status: "pending" });
      expect(await run.send(run.draft(end()))).toMatchObject({ outcome: "lost" });
      expect(await put(t, one)).toEqual([{ outcome: "written" }]);
      expect(await t.store.runs.count({ namespace: "default", atMost: null })).toBe(2);
    },

    "a put terminates nothing if a run has the id of its start, if another run is the open one, or if it has ended":
      async (t) => {
        const open = await t.start({ id: "s@1" });
        const over = await t.held({ id: "e@1" });
        await over.commit(end());
        await t.start({ id: "s@2" });
        const s = await aSchedule(t, { id: "s", state: { ...STATE, openId: "s@1" } });
        const e = await aSchedule(t, { id: "e", state: { ...STATE, openId: "e@1" } });
        const none = await aSchedule(t, { id: "none" });
        const answers = await put(
          t,
          replacing(t, "s", s.revision, open.run.runId),
          replacing(t, "e", e.revision, over.runId),
          replacing(t, "none", none.revision, open.run.runId),
          replacing(t, "fresh", null, open.run.runId),
        );
        const moved = { outcome: "moved" };
        expect(answers).toEqual([{ outcome: "taken", taken: ["s@2"] }, moved, moved, moved]);
        expect(await put(t, replacing(t, "s", s.revision, t.newId()))).toEqual([moved]);
        expect((await readSchedule(t, "s")).open).toMatchObject({ runId: open.run.runId, status: "pending" });
        const rows = await t.store.runs.list({ namespace: "default", limit: 10 });
        expect(rows.map(({ id }) => id).sort()).toEqual(["e@1", "s@1", "s@2"]);
      },

    "of several puts that terminate runs each gives its own error, and says what its run owes": async (t) => {
      const parent = await t.held({ id: "p@1" });
      await t.talks.child(parent);
      await t.start({ id: "q@1" });
      const p = await aSchedule(t, { id: "p", state: { ...STATE, openId: "p@1" } });
      const q = await aSchedule(t, { id: "q", state: { ...STATE, openId: "q@1" } });
      const written = { outcome: "written" };
      expect(
        await put(
          t,
          replacing(t, "p", p.revision, parent.runId, "way for p"),
          replacing(t, "q", q.revision, q.open?.runId as string, "way for q"),
        ),
      ).toEqual([{ ...written, owes: true }, written]);
      const runs = await t.store.runs.read({ runs: ["p@1", "q@1"].map((id) => ({ namespace: "default", id })) });
      expect(runs.map((run) => run?.error)).toEqual([errorRecord("way for p"), errorRecord("way for q")]);
    },

    "what a put leaves out stays; decisions are added, and the last hundred kept": async (t) => {
      let { revision } = await aSchedule(t, { id: "s" });
      const decision = (at: number): ScheduleDecision => ({ at, what: "skipped", reason: `reason ${at} \u0000` });
      for (const [from, count] of [
        [0, 60],
        [60, 60],
      ] as const) {
        const decided = Array.from({ length: count }, (_, i) => decision(from + i));
        const next = aPut(t, { id: "s", revision, decided });
        expect(await put(t, next)).toEqual([{ outcome: "written" }]);
        revision = next.next;
      }
      const { definition, input } = await readSchedule(t, "s");
      expect([definition, input]).toEqual([DEFINITION, bytes('"in"')]);
      const decisions = await t.store.schedules.decisions({ namespace: "default", id: "s" });
      expect(decisions).toEqual(Array.from({ length: DECISIONS_MAX }, (_, i) => decision(20 + i)));
      await put(t, aPut(t, { id: "s", revision, definition: { ...DEFINITION, paused: true }, input: bytes("2") }));
      expect(await readSchedule(t, "s")).toMatchObject({ definition: { paused: true }, input: bytes("2") });
    },

    "the leader is hinted of a change, unless the caller is the leader": async (t) => {
      await expectHints(t, [{ type: "schedule" }], () => put(t, aPut(t, { id: "s" })));
    },

    "a schedule that is removed is gone, and its runs stay": async (t) => {
      await aSchedule(t, { id: "s", starts: [scheduledStart(t, "s@1")] });
      const ref = { namespace: "default", id: "s" };
      expect(await t.store.schedules.remove({ ...ref, namespace: "other" })).toEqual({ removed: false });
      expect(await t.store.schedules.remove(ref)).toEqual({ removed: true });
      expect(await t.store.schedules.remove(ref)).toEqual({ removed: false });
      expect(await t.store.schedules.read({ schedules: [ref] })).toEqual([null]);
      expect(await t.store.schedules.decisions(ref)).toEqual([]);
      expect(await t.store.runs.count({ namespace: "default", atMost: null })).toBe(1);
    },

    "two leaders that fire the same times at once start each run once": async (t) => {
      const other = await t.second();
      const schedules: Schedule[] = [];
      for (let i = 0; i < 20; i++) schedules.push(await aSchedule(t, { id: `s${i}` }));
      const fires = () =>
        schedules.map(({ id, revision }) =>
          aPut(t, { id, revision, state: { ...STATE, openId: `${id}@1` }, starts: [scheduledStart(t, `${id}@1`)] }),
        );
      const [a, b] = await Promise.all([
        t.store.schedules.putIfRevision({ puts: fires(), announce: false }),
        other.schedules.putIfRevision({ puts: fires(), announce: false }),
      ]);
      const written = schedules.map(
        (_, i) => [a, b].filter(({ outcomes }) => outcomes[i]?.outcome === "written").length,
      );
      expect(written).toEqual(schedules.map(() => 1));
      expect(await t.store.runs.count({ namespace: "default", atMost: null })).toBe(20);
    },
  },
};
