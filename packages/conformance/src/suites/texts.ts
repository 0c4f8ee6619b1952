import { expect } from "vitest";
import type { Fixture } from "../fixture.ts";
import { PAIRS, TEXTS } from "../odd-texts.ts";
import { end, HOLD, suspend } from "../sample-data.ts";
import type { Suite } from "../suite.ts";

export const texts: Suite = {
  noun: "texts",
  cases: {
    "a run keeps every name and id that it was given": async (t) => {
      for (const text of TEXTS) {
        const run = t.newRun({
          namespace: text,
          id: text,
          workflow: text,
          version: text,
          queue: text,
          seed: text,
          attributes: { [text]: text },
        });
        const [started] = await t.startMany([run]);
        expect(started?.outcome).toBe("created");
        expect(await t.run({ namespace: text, id: text })).toMatchObject(run);
        const workerId = await t.worker({ namespace: text });
        const { runs } = await t.claim(workerId, {
          namespace: text,
          queues: [text],
          handlers: [{ workflow: text, version: text }],
        });
        expect(runs.map(({ runId }) => runId)).toEqual([run.runId]);
        const filter = { namespace: text, workflow: text, version: text, id: text, queue: text };
        expect(await t.store.runs.list({ ...filter, attributes: { [text]: text }, limit: 10 })).toHaveLength(1);
      }
    },

    "messages keep their names and ids": async (t) => {
      const { run } = await t.start();
      for (const text of TEXTS) await t.deliver(t.ref(run.runId), { name: text, messageId: text });
      const inbox = await t.inbox(run.runId);
      expect(inbox.map(({ name }) => name)).toEqual(TEXTS);
      expect(inbox.map(({ messageId }) => messageId)).toEqual(TEXTS);
      for (const messageId of TEXTS) {
        expect(await t.deliver(t.ref(run.runId), { messageId })).toMatchObject({ outcome: "duplicate" });
      }
    },

    "events keep their ops, and suspended runs what they wait for": async (t) => {
      const holder = await t.held();
      const events = TEXTS.map((op, i) => ({ seq: i + 1, type: "step_completed", op, at: t.now }) as const);
      await holder.commit(suspend(null, { waitingFor: TEXTS }), { events });
      expect(await t.history(holder.runId)).toEqual(events);
      expect((await t.run(holder.runId)).waitingFor).toEqual(TEXTS);
    },

    "workers keep their names, queues, workflows and labels": async (t) => {
      const labels = Object.fromEntries(TEXTS.map((text) => [text, text]));
      for (const [i, name] of TEXTS.entries()) {
        await t.worker({ namespace: `n${i}`, name, queues: TEXTS, workflows: TEXTS, labels });
        const [worker] = await t.store.workers.list({ namespace: `n${i}` });
        expect(worker).toMatchObject({ name, queues: TEXTS, workflows: TEXTS });
        expect(Object.entries(worker?.labels ?? {}).sort()).toEqual(Object.entries(labels).sort());
      }
    },

    "versions keep their names and hashes": async (t) => {
      const versions = TEXTS.map((text) => ({ workflow: text, version: text, hash: text }));
      await t.store.versions.register({ namespace: "default", versions });
      const rows = await t.store.versions.list({ namespace: "default" });
      expect(rows.map(({ hash }) => hash).sort()).toEqual([...TEXTS].sort());
      for (const text of TEXTS) {
        expect(await t.store.versions.list({ namespace: "default", workflow: text })).toMatchObject([
          { version: text },
        ]);
      }
    },

    "ids that only look alike are different ids": async (t) => {
      for (const [i, pair] of PAIRS.entries()) {
        const namespace = `n${i}`;
        for (const id of pair) expect(await t.start({ namespace, id })).toMatchObject({ outcome: "created" });
        for (const id of pair) expect((await t.run({ namespace, id })).id).toBe(id);
      }
    },

    "namespaces, queues, workflows and versions that only look alike are different": async (t) => {
      for (const [one, other] of PAIRS) {
        const workerId = await t.worker({ namespace: one });
        const mine = { namespace: one, queue: one, workflow: one, version: one };
        for (const field of ["namespace", "queue", "workflow", "version"] as const)
          await t.start({ ...mine, [field]: other });
        const { run } = await t.start(mine);
        const claimed = await claimOf(t, workerId, mine);
        expect(claimed).toEqual([run.runId]);
      }
    },

    "message ids that only look alike are different messages": async (t) => {
      for (const pair of PAIRS) {
        const { run } = await t.start();
        for (const messageId of pair)
          expect(await t.deliver(t.ref(run.runId), { messageId })).toMatchObject({ outcome: "delivered" });
      }
    },

    "attributes that only look alike are different attributes": async (t) => {
      for (const [i, [one, other]] of PAIRS.entries()) {
        const namespace = `n${i}`;
        const { run } = await t.start({ namespace, attributes: { [one]: one, [other]: other } });
        const find = (name: string, value: string) =>
          t.store.runs.count({ namespace, attributes: { [name]: value }, atMost: null });
        expect((await t.run({ namespace, runId: run.runId })).attributes).toEqual({ [one]: one, [other]: other });
        expect([await find(one, one), await find(one, other), await find(other, other)]).toEqual([1, 0, 1]);
      }
    },

    "the longest names and ids are kept": async (t) => {
      const name = longText(200);
      const id = longText(400);
      const run = t.newRun({
        namespace: name,
        id,
        workflow: name,
        version: name,
        queue: name,
        attributes: { [name]: id },
      });
      const holder = await t.held(run);
      expect(await t.run({ namespace: name, id })).toMatchObject(run);
      await t.deliver({ namespace: name, id }, { name, messageId: id });
      expect(await t.deliver({ namespace: name, id }, { name, messageId: id })).toMatchObject({ outcome: "duplicate" });
      const event = { seq: 1, type: "step_completed", op: `${name}#12345`, at: t.now } as const;
      await holder.commit(HOLD, { events: [event], consumed: 1 });
      expect(await t.history(holder.runId, name)).toEqual([event]);
      await holder.commit(end());
      expect(await t.start(t.newRun({ namespace: name, id }), { ifClosed: "return" })).toMatchObject({
        outcome: "returned",
      });
    },
  },
};

async function claimOf(
  t: Fixture,
  workerId: string,
  run: { namespace: string; queue: string; workflow: string; version: string },
): Promise<string[]> {
  const { namespace, queue, workflow, version } = run;
  const { runs } = await t.claim(workerId, { namespace, queues: [queue], handlers: [{ workflow, version }] });
  return runs.map(({ runId }) => runId);
}

/** Characters of three bytes each in UTF-8, without a pattern that compresses. */
function longText(length: number): string {
  let state = length;
  return Array.from({ length }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return String.fromCharCode(0x4e00 + (state % 20_000));
  }).join("");
}
