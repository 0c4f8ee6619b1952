import type { TakeUpParams, TakeUpResult } from "holdfast/adapter";
import { expect } from "vitest";
import type { Fixture } from "../fixture.ts";
import { Holder } from "../holder.ts";
import { CODES, end, park, RELEASE, suspend } from "../sample-data.ts";
import type { Suite } from "../suite.ts";

const [OLD, NEW, NEWEST] = CODES;
const NOTHING: TakeUpResult = { live: true, taken: 0, more: false };

/** Runs that were parked by code, and are taken up by workers with other code. */
export const parkedRuns: Suite = {
  noun: "parked runs",
  cases: {
    "a run that code has parked is held by a worker with other code, who finds it under the id of its claim": async (
      t,
    ) => {
      const holder = await parkedBy(t, OLD);
      await t.deliver(t.ref(holder.runId), { name: "late" });
      await t.advance(5);
      const parked = await t.run(holder.runId);
      const [workerId, claimId] = [await t.worker(), t.newId()];
      expect(await t.store.runs.holdIfParkedByOtherCode(paramsOf(NEW, { workerId, claimId }))).toMatchObject({
        live: true,
        taken: 1,
      });
      const taken = { status: "running", epoch: parked.epoch + 1, heldBy: workerId, claimId, error: null } as const;
      const held = { ...taken, eventCount: parked.eventCount + 1 };
      expect((await t.history(holder.runId)).at(-1)).toEqual({
        seq: held.eventCount,
        type: "run_resumed",
        op: null,
        at: t.now,
        meta: { by: "worker b" },
      });
      expect(await t.run(holder.runId)).toEqual({ ...parked, ...held });
      const { runs, messages } = await t.claim(workerId, { claimId, again: true });
      expect(runs).toEqual([{ ...parked, ...held }]);
      expect(messages).toMatchObject([{ runId: holder.runId, name: "late" }]);
      const next = new Holder(t.store, workerId, runs[0] as (typeof runs)[0]);
      expect(await next.commit(end(), { consumed: 1 })).toMatchObject({ outcome: "written", held: false });
      expect(await holder.commit(end())).toMatchObject({ outcome: "lost" });
    },

    "the code that has parked a run does not get it": async (t) => {
      const holder = await parkedBy(t, OLD);
      const before = await t.run(holder.runId);
      expect(await takeUp(t, OLD)).toEqual(NOTHING);
      expect(await t.run(holder.runId)).toEqual(before);
    },

    "a repeated call takes nothing more, and what was taken is still found": async (t) => {
      const holder = await parkedBy(t, OLD);
      const params = paramsOf(NEW, { workerId: await t.worker(), claimId: t.newId() });
      await t.store.runs.holdIfParkedByOtherCode(params);
      const before = await t.run(holder.runId);
      await t.advance(5);
      expect(await t.store.runs.holdIfParkedByOtherCode(params)).toEqual(NOTHING);
      expect(await t.run(holder.runId)).toEqual(before);
      const { runs } = await t.claim(params.workerId, { claimId: params.claimId, again: true });
      expect(runs.map(({ runId }) => runId)).toEqual([holder.runId]);
    },

    "a worker that is offline or unknown gets nothing": async (t) => {
      const holder = await parkedBy(t, OLD);
      const workerId = await t.worker();
      await t.store.workers.stop({ namespace: "default", workerId });
      for (const id of [workerId, t.newId()])
        expect(await t.store.runs.holdIfParkedByOtherCode(paramsOf(NEW, { workerId: id, claimId: t.newId() }))).toEqual(
          {
            live: false,
            taken: 0,
            more: false,
          },
        );
      expect((await t.run(holder.runId)).status).toBe("parked");
    },

    "runs that were parked for another reason, waiting, ended and held ones are left alone": async (t) => {
      const poison = await t.held();
      await poison.commit(park("it needs a person"));
      const waiting = await t.held();
      await waiting.commit(suspend(null));
      const ended = await parkedBy(t, OLD);
      await t.store.runs.terminate({
        runs: [t.ref(ended.runId)],
        error: { name: "E", message: "m", kind: "Unknown" },
      });
      const held = await t.held();
      const runIds = [poison, waiting, ended, held].map(({ runId }) => runId);
      const before = await Promise.all(runIds.map((runId) => t.run(runId)));
      expect(await takeUp(t, NEW)).toEqual(NOTHING);
      expect(await Promise.all(runIds.map((runId) => t.run(runId)))).toEqual(before);
    },

    "only runs of the worker's namespace, queues and versions are taken": async (t) => {
      const others: Holder[] = [];
      for (const fields of [{ namespace: "other" }, { version: "2" }, { workflow: "refund" }])
        others.push(await parkedBy(t, OLD, fields));
      await parkedBy(t, OLD, { queue: "slow" });
      await parkedBy(t, OLD);
      expect(await takeUp(t, NEW)).toMatchObject({ taken: 1 });
      expect(await takeUp(t, NEW, { queues: ["default", "slow"] })).toMatchObject({ taken: 1 });
      for (const { namespace, runId } of others) expect((await t.run({ namespace, runId })).status).toBe("parked");
    },

    "each version is judged by its own code": async (t) => {
      const [first, second] = [await parkedBy(t, OLD, { version: "1" }), await parkedBy(t, OLD, { version: "2" })];
      const handlers = [
        { workflow: "order", version: "1", code: OLD },
        { workflow: "order", version: "2", code: NEW },
      ];
      expect(await takeUp(t, NEW, { handlers })).toMatchObject({ taken: 1 });
      expect([(await t.run(first.runId)).status, (await t.run(second.runId)).status]).toEqual(["parked", "running"]);
    },

    "two codes that both park a run do not pass it on for ever; a third one gets its chance": async (t) => {
      const holder = await parkedBy(t, OLD);
      await takeAndPark(t, holder, NEW);
      for (const code of [OLD, NEW]) expect(await takeUp(t, code)).toEqual(NOTHING);
      await takeAndPark(t, holder, NEWEST);
      for (const code of CODES) expect(await takeUp(t, code)).toEqual(NOTHING);
    },

    "an old worker that gets the run in between and parks it once more does not keep it from new code": async (t) => {
      const holder = await parkedBy(t, OLD);
      for (let i = 0; i < 3; i++) {
        await (await taken(t, holder, NEW)).commit(RELEASE);
        await (await t.claimOne(await t.worker())).commit(park("a bug", OLD));
      }
      expect(await takeUp(t, NEW)).toMatchObject({ taken: 1 });
    },

    "after progress every code gets a new chance": async (t) => {
      const holder = await parkedBy(t, OLD);
      await (await taken(t, holder, NEW)).commit(park("further on", NEW), { events: 1 });
      expect(await takeUp(t, NEW)).toEqual(NOTHING);
      expect(await takeUp(t, OLD)).toMatchObject({ taken: 1 });
    },

    "after a resume by a person every code gets a new chance": async (t) => {
      const holder = await parkedBy(t, OLD);
      await takeAndPark(t, holder, NEW);
      await t.resume(t.ref(holder.runId));
      await (await t.claimOne(await t.worker())).commit(park("a bug", NEW));
      expect(await takeUp(t, OLD)).toMatchObject({ taken: 1 });
    },

    "a run that other code has taken and that then kills its workers stays parked": async (t) => {
      const holder = await parkedBy(t, OLD);
      await taken(t, holder, NEW);
      for (let deaths = 0; deaths < 4; deaths++) {
        await t.advance(60_000);
        await t.sweep();
        await t.claim(await t.worker(), { solo: deaths >= 1 });
      }
      expect(await t.run(holder.runId)).toMatchObject({ status: "parked", error: { message: "it kills its workers" } });
      expect(await takeUp(t, NEWEST)).toEqual(NOTHING);
    },

    "a suspect is left to people": async (t) => {
      await t.held();
      for (let deaths = 0; deaths < 2; deaths++) {
        await t.advance(60_000);
        await t.sweep();
        if (deaths === 0) await t.claim(await t.worker());
      }
      await (await t.claimOne(await t.worker(), { solo: true })).commit(park("a bug", OLD));
      expect(await takeUp(t, NEW)).toEqual(NOTHING);
    },

    "a failed run that is tried again is given to every code": async (t) => {
      const holder = await parkedBy(t, OLD);
      const next = await taken(t, holder, NEW);
      await next.commit(end({ status: "failed", output: null }));
      const event = { type: "run_retried", op: null, meta: { forgets: [] } } as const;
      await t.store.runs.reopenIfFailed({ run: t.ref(holder.runId), eventCount: next.eventCount, event });
      await (await t.claimOne(await t.worker())).commit(park("a bug", NEW));
      expect(await takeUp(t, OLD)).toMatchObject({ taken: 1 });
    },

    "many runs are taken in pieces, each of them once": async (t) => {
      const runIds: string[] = [];
      for (let i = 0; i < 7; i++) runIds.push((await parkedBy(t, i % 2 === 0 ? OLD : NEWEST)).runId);
      let count = 0;
      for (let calls = 0; calls < 4; calls++) {
        const result = await takeUp(t, NEW, { limit: 3 });
        expect(result.taken).toBeLessThanOrEqual(3);
        count += result.taken;
        if (count < runIds.length) expect(result.more).toBe(true);
      }
      expect(count).toBe(7);
      for (const runId of runIds) expect(await t.run(runId)).toMatchObject({ status: "running", epoch: 2 });
    },

    "of two workers at the same time, and a person who resumes, one has each run": async (t) => {
      const runIds: string[] = [];
      for (let i = 0; i < 5; i++) runIds.push((await parkedBy(t, OLD)).runId);
      const second = await t.second();
      const other = paramsOf(NEWEST, { workerId: await t.worker(), claimId: t.newId() });
      const [a, b] = await Promise.all([
        takeUp(t, NEW),
        second.runs.holdIfParkedByOtherCode(other),
        // If another transaction has locked the row, the store says so; the client then asks again.
        t.resume(t.ref(runIds[0] as string)).catch(() => undefined),
      ]);
      const rest = await takeUp(t, NEW);
      const held = (await Promise.all(runIds.map((runId) => t.run(runId)))).filter((run) => run.heldBy !== null);
      expect(held).toHaveLength(a.taken + b.taken + rest.taken);
      for (const runId of runIds) expect(await t.run(runId)).toMatchObject({ status: "running", epoch: 2 });
    },
  },
};

async function parkedBy(t: Fixture, code: string, fields: Parameters<Fixture["held"]>[0] = {}): Promise<Holder> {
  const holder = await t.held(fields);
  await holder.commit(park("a bug", code), { events: 1 });
  return holder;
}

function paramsOf(
  code: string,
  fields: Pick<TakeUpParams, "workerId" | "claimId"> & Partial<TakeUpParams>,
): TakeUpParams {
  const handlers = [{ workflow: "order", version: "1", code }];
  const event = { type: "run_resumed", op: null, meta: { by: "worker b" } } as const;
  return { namespace: "default", queues: ["default"], handlers, limit: 100, event, ...fields };
}

async function takeUp(t: Fixture, code: string, fields: Partial<TakeUpParams> = {}): Promise<TakeUpResult> {
  const params = paramsOf(code, { workerId: await t.worker(), claimId: t.newId(), ...fields });
  return t.store.runs.holdIfParkedByOtherCode(params);
}

/** The run, held by a worker with this code. */
async function taken(t: Fixture, { runId }: Holder, code: string): Promise<Holder> {
  const workerId = await t.worker();
  expect(await takeUp(t, code, { workerId })).toMatchObject({ taken: 1 });
  return new Holder(t.store, workerId, await t.run(runId));
}

/** Without any progress. */
async function takeAndPark(t: Fixture, holder: Holder, code: string): Promise<void> {
  await (await taken(t, holder, code)).commit(park("a bug", code));
}
