import { type ListRunsParams, type NewRun, RUN_STATUSES, type RunFilter, type RunStatus } from "holdfast/adapter";
import { expect } from "vitest";
import type { Fixture } from "../fixture.ts";
import { end, errorRecord, park, suspend } from "../sample-data.ts";
import type { Suite } from "../suite.ts";

export const listing: Suite = {
  noun: "listing",
  cases: {
    "a filter may have as many attributes as a client lets through": async (t) => {
      const attributes = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`a${i}`, i]));
      const { run } = await t.start({ attributes });
      await t.start({ attributes: { ...attributes, a99: 0 } });
      const found = await t.store.runs.list({ namespace: "default", attributes, limit: 10 });
      expect(found.map(({ runId }) => runId)).toEqual([run.runId]);
      expect(await t.store.runs.count({ namespace: "default", attributes, atMost: null })).toBe(1);
    },

    "runs are listed newest first, as lean rows": async (t) => {
      for (const id of ["a", "b", "c"]) {
        await t.start({ id });
        await t.advance(1);
      }
      const rows = await t.store.runs.list({ namespace: "default", limit: 10 });
      expect(rows.map(({ id }) => id)).toEqual(["c", "b", "a"]);
      const { input: _input, output: _output, ...row } = await t.run({ namespace: "default", id: "a" });
      expect(rows[2]).toEqual({ ...row, lastEventAt: null });
    },

    "of runs created in the same millisecond the greater run id comes first": async (t) => {
      const ids = [t.newId(), t.newId(), t.newId(), t.newId()];
      const [a, b, c, d] = ids as [string, string, string, string];
      await t.startMany([c, a, d, b].map((runId) => t.newRun({ runId })));
      expect(await listed(t)).toEqual([d, c, b, a]);
    },

    "no more than the limit": async (t) => {
      await t.startMany([t.newRun(), t.newRun(), t.newRun()]);
      expect(await listed(t, { limit: 2 })).toHaveLength(2);
      expect(await listed(t, { limit: 4 })).toHaveLength(3);
    },

    "pages follow each other without gaps or doubles, in every millisecond": async (t) => {
      for (let i = 0; i < 5; i++) {
        await t.startMany([t.newRun(), t.newRun(), t.newRun()]);
        if (i % 2 === 1) await t.advance(1);
      }
      const all = await t.store.runs.list({ namespace: "default", limit: 100 });
      expect(all).toHaveLength(15);
      const paged: string[] = [];
      let before: ListRunsParams["before"];
      for (let pages = 0; pages < 10; pages++) {
        const page = await t.store.runs.list({ namespace: "default", limit: 4, ...(before ? { before } : {}) });
        paged.push(...page.map(({ runId }) => runId));
        const last = page.at(-1);
        if (!last) break;
        before = { createdAt: last.createdAt, runId: last.runId };
      }
      expect(paged).toEqual(all.map(({ runId }) => runId));
    },

    "a cursor need not be a run that exists": async (t) => {
      const { run } = await t.start();
      const { createdAt, runId } = run;
      expect(await listed(t, { before: { createdAt: createdAt + 1, runId: FIRST } })).toEqual([runId]);
      expect(await listed(t, { before: { createdAt, runId: FIRST } })).toEqual([]);
      expect(await listed(t, { before: { createdAt, runId: LAST } })).toEqual([runId]);
      expect(await listed(t, { before: { createdAt: createdAt - 1, runId: LAST } })).toEqual([]);
    },

    "a cursor and a filter go together": async (t) => {
      await t.startMany(["a", "b", "a", "b", "a"].map((queue) => t.newRun({ queue })));
      const [newest, ...rest] = await listed(t, { queue: "a" });
      const { createdAt } = await t.run(newest as string);
      expect(await listed(t, { queue: "a", before: { createdAt, runId: newest as string } })).toEqual(rest);
      expect(rest).toHaveLength(2);
    },

    "namespaces are isolated": async (t) => {
      const { run } = await t.start({ namespace: "one" });
      await t.start({ namespace: "two" });
      expect(await listed(t, { namespace: "one" })).toEqual([run.runId]);
      expect(await listed(t, { namespace: "none" })).toEqual([]);
    },

    "filters by workflow, version, queue and id": async (t) => {
      const fields: Partial<NewRun>[] = [
        { workflow: "x" },
        { version: "x" },
        { queue: "x" },
        { id: "x" },
        { workflow: "x", version: "x", queue: "x", id: "y" },
      ];
      const started = await t.startMany(fields.map((some) => t.newRun(some)));
      const idOf = (i: number) => started[i]?.run.runId as string;
      await expectFilter(t, { workflow: "x" }, [idOf(4), idOf(0)]);
      await expectFilter(t, { version: "x" }, [idOf(4), idOf(1)]);
      await expectFilter(t, { queue: "x" }, [idOf(4), idOf(2)]);
      await expectFilter(t, { id: "x" }, [idOf(3)]);
      await expectFilter(t, { workflow: "x", version: "x", queue: "x" }, [idOf(4)]);
      await expectFilter(t, { workflow: "x", id: "x" }, []);
      await expectFilter(t, { workflow: "X" }, []);
    },

    "an id lists all of its runs": async (t) => {
      const runIds: string[] = [];
      for (let i = 0; i < 3; i++) {
        const { run } = await t.start({ id: "a" }, { ifRunning: "replace" });
        runIds.unshift(run.runId);
      }
      await t.start({ id: "b" });
      await expectFilter(t, { id: "a" }, runIds);
    },

    "filters by one status or several": async (t) => {
      const byStatus = await oneOfEach(t);
      expect([...byStatus.keys()].sort()).toEqual([...RUN_STATUSES].sort());
      for (const [status, runId] of byStatus) await expectFilter(t, { statuses: [status] }, [runId]);
      const some = ["completed", "parked", "waiting"] as const;
      const wanted = some.map((status) => byStatus.get(status) as string);
      await expectFilter(t, { statuses: some }, wanted.sort().reverse());
      await expectFilter(t, { statuses: [] }, []);
    },

    "a status filter follows the run": async (t) => {
      const holder = await t.held();
      await expectFilter(t, { statuses: ["running"] }, [holder.runId]);
      await holder.commit(end());
      await expectFilter(t, { statuses: ["running"] }, []);
      await expectFilter(t, { statuses: ["completed"] }, [holder.runId]);
    },

    "filters by time of creation, without the bounds": async (t) => {
      const times: number[] = [];
      const runIds: string[] = [];
      for (let i = 0; i < 3; i++) {
        times.push(t.now);
        runIds.push((await t.start()).run.runId);
        await t.advance(10);
      }
      const [first, middle, last] = times as [number, number, number];
      await expectFilter(t, { createdAfter: first }, [runIds[2], runIds[1]]);
      await expectFilter(t, { createdBefore: last }, [runIds[1], runIds[0]]);
      await expectFilter(t, { createdAfter: first, createdBefore: last }, [runIds[1]]);
      await expectFilter(t, { createdAfter: middle, createdBefore: middle }, []);
      await expectFilter(t, { createdAfter: first - 1, createdBefore: last + 1 }, [...runIds].reverse());
    },

    "filters by attributes of every type, exactly": async (t) => {
      const values = ["1", 1, true, null, "true", 0, false, "", "null", -1.5, "ü'\"\\%_"];
      const started = await t.startMany(values.map((value) => t.newRun({ attributes: { key: value, other: "x" } })));
      await t.start({ attributes: { other: "x" } });
      for (const [i, value] of values.entries()) {
        await expectFilter(t, { attributes: { key: value } }, [started[i]?.run.runId]);
      }
      await expectFilter(t, { attributes: { key: 2 } }, []);
      await expectFilter(t, { attributes: { missing: null } }, []);
      expect(await listed(t, { attributes: {} })).toHaveLength(values.length + 1);
    },

    "several attributes must all match": async (t) => {
      const [a] = await t.startMany([
        t.newRun({ attributes: { region: "eu", tier: 1 } }),
        t.newRun({ attributes: { region: "eu", tier: 2 } }),
        t.newRun({ attributes: { region: "us", tier: 1 } }),
      ]);
      await expectFilter(t, { attributes: { region: "eu", tier: 1 } }, [a?.run.runId]);
    },

    "an attribute's name is a name, not a path": async (t) => {
      const names = ["a.b", "a b", '"', "'", "$.a", "a[0]", "ключ", "constructor", "{a}", "%"];
      const started = await t.startMany(names.map((name) => t.newRun({ attributes: { [name]: 1 } })));
      for (const [i, name] of names.entries()) {
        await expectFilter(t, { attributes: { [name]: 1 } }, [started[i]?.run.runId]);
      }
      await expectFilter(t, { attributes: { a: 1 } }, []);
    },

    "an attribute filter follows what commits set": async (t) => {
      const holder = await t.held({ attributes: { region: "eu" } });
      await holder.commit({ type: "hold", status: "running" }, { attributes: { region: "us" } });
      await expectFilter(t, { attributes: { region: "eu" } }, []);
      await expectFilter(t, { attributes: { region: "us" } }, [holder.runId]);
    },

    "counting stops where it is told": async (t) => {
      await t.startMany(Array.from({ length: 7 }, (_, i) => t.newRun({ queue: i < 5 ? "a" : "b" })));
      const count = (filter: Partial<RunFilter>, atMost: number | null) =>
        t.store.runs.count({ namespace: "default", ...filter, atMost });
      expect(await count({}, null)).toBe(7);
      expect(await count({}, 3)).toBe(3);
      expect(await count({}, 7)).toBe(7);
      expect(await count({}, 100)).toBe(7);
      expect(await count({ queue: "a" }, null)).toBe(5);
      expect(await count({ queue: "a" }, 2)).toBe(2);
      expect(await count({ queue: "c" }, 2)).toBe(0);
    },
  },
};

const FIRST = "00000000-0000-7000-8000-000000000000";
const LAST = "ffffffff-ffff-7fff-bfff-ffffffffffff";

async function listed(t: Fixture, params: Partial<ListRunsParams> = {}): Promise<string[]> {
  const rows = await t.store.runs.list({ namespace: "default", limit: 100, ...params });
  return rows.map(({ runId }) => runId);
}

/** The list has exactly these runs, newest first, and the count agrees. */
export async function expectFilter(
  t: Fixture,
  filter: Partial<RunFilter>,
  runIds: readonly (string | undefined)[],
): Promise<void> {
  expect(await listed(t, filter), JSON.stringify(filter)).toEqual(runIds);
  const count = await t.store.runs.count({ namespace: "default", ...filter, atMost: null });
  expect(count, JSON.stringify(filter)).toBe(runIds.length);
}

/** A run in every status. */
async function oneOfEach(t: Fixture) {
  const byStatus = new Map<RunStatus, string>();
  const workerId = await t.worker();
  byStatus.set("pending", (await t.start()).run.runId);
  byStatus.set("running", (await t.held({}, workerId)).runId);
  for (const status of ["completed", "failed", "canceled", "timed_out"] as const) {
    const holder = await t.held({}, workerId);
    await holder.commit(end({ status }));
    byStatus.set(status, holder.runId);
  }
  for (const status of ["sleeping", "waiting", "compensating"] as const) {
    const holder = await t.held({}, workerId);
    await holder.commit(suspend(t.now + 1_000_000, { status }));
    byStatus.set(status, holder.runId);
  }
  const parked = await t.held({}, workerId);
  await parked.commit(park("odd"));
  byStatus.set("parked", parked.runId);
  const continued = await t.held({ id: "c" }, workerId);
  const next = t.newRun({ id: "c" });
  await continued.commit({ type: "continue", next, carried: [] });
  await t.store.runs.terminate({ runs: [t.ref(next.runId)], error: errorRecord("x") });
  byStatus.set("continued", continued.runId).set("terminated", next.runId);
  const { run } = await t.start({ startDelayMs: 1_000_000 });
  await t.transfers.departed(run.runId);
  byStatus.set("moved", run.runId);
  return byStatus;
}
