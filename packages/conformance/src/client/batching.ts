import { type BatchResult, signal, workflow } from "holdfast";
import { encrypted } from "holdfast/codecs";
import { expect } from "vitest";
import type { ClientSuite } from "./client-suite.ts";
import { BOTH } from "./codecs.ts";

const go = signal<string>("go");
const wait = workflow({ name: "wait", signals: [go] }, (ctx) => ctx.receive(go));
const broken = workflow("broken", async (ctx, repaired: { yes: boolean }) => {
  await ctx.step("work", () => (isRepaired.yes || repaired.yes ? "done" : Promise.reject(new Error("no"))), {
    retry: "none",
  });
});
const isRepaired = { yes: false };

const someOf = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ workflow: wait, options: { id: `w${i}` } }));

/** Actions on many runs, through the whole engine on each store. */
export const batching: ClientSuite = {
  noun: "that acts on many runs",
  cases: {
    "signals all of them once, though no worker is there": async (t) => {
      const client = await t.connect();
      await client.startMany(someOf(250));
      const told: BatchResult[] = [];
      const batch = client.batch({ workflow: "wait" });
      const result = await batch.signal(go, "on", { id: "b", onProgress: (at) => void told.push(at) });
      expect(result).toEqual({ id: "b", matched: 250, done: 250, skipped: [], skippedCount: 0 });
      expect(told.at(-1)).toEqual(result);
      expect(await client.batch({ workflow: "wait" }).signal(go, "on", { id: "b" })).toEqual(result);
      const other = client.batch({ workflow: "wait" }).signal(go, "off", { id: "b" });
      await expect(other).rejects.toMatchObject({ code: "batch_id_taken" });
      await client.worker({ workflows: [wait] }).start();
      const results = await Promise.all(someOf(250).map(({ options }) => client.get(wait, options.id).result()));
      expect(new Set(results)).toEqual(new Set(["on"]));
      expect(await client.count()).toBe(250);
      expect((await client.list({ limit: 1_000 })).runs.length).toBe(250);
      expect(await client.count({ workflow: "holdfast.batch" })).toBe(1);
      expect((await client.list({ workflow: "holdfast.batch" })).runs).toMatchObject([
        { id: "b", status: "completed" },
      ]);
    },

    "pauses, resumes, cancels and purges them": async (t) => {
      const client = await t.connect();
      await client.worker({ workflows: [wait] }).start();
      await client.startMany(someOf(20));
      const who = { by: "ana", reason: "a break" };
      expect(await client.batch({ workflow: "wait" }).pause(who)).toMatchObject({ matched: 20, done: 20 });
      while ((await client.count({ status: "parked" })) < 20);
      expect(await client.batch({ status: "parked" }).resume(who)).toMatchObject({ matched: 20, done: 20 });
      expect(await client.batch({ workflow: "wait" }).purge()).toMatchObject({
        matched: 20,
        done: 0,
        skippedCount: 20,
      });
      expect(await client.batch({ workflow: "wait" }).cancel(who)).toMatchObject({ matched: 20, done: 20 });
      for (const { options } of someOf(20))
        await expect(client.get(options.id).result()).rejects.toMatchObject({ code: "run_canceled" });
      const { runId: batch } = await client.batchRun((await client.batch({}).cancel({ id: "late" })).id).describe();
      expect(batch).toBeTypeOf("string");
      const ended = await client.batch({ workflow: "wait" }).purge({ id: "purge" });
      expect(ended).toEqual({ id: "purge", matched: 20, done: 20, skipped: [], skippedCount: 0 });
      expect(await client.count()).toBe(0);
    },

    "terminates them, says which it has skipped, and marks each end with the batch": async (t) => {
      const client = await t.connect();
      await client.startMany(someOf(120));
      await client.get("w7").terminate("before");
      const { runId } = await client.get("w7").describe();
      const result = await client.batch({}).terminate({ id: "stop", by: "ana", reason: "enough" });
      expect(result).toEqual({
        ...{ id: "stop", matched: 120, done: 119, skippedCount: 1 },
        skipped: [{ runId, code: "run_closed" }],
      });
      const { runId: batch } = await client.batchRun("stop").describe();
      expect((await client.get("w8").history()).at(-1)).toMatchObject({
        type: "run_terminated",
        data: { by: "ana", reason: "enough", batch },
      });
    },

    "retries failed runs": async (t) => {
      const client = await t.connect();
      await client.worker({ workflows: [broken] }).start();
      isRepaired.yes = false;
      const ids = Array.from({ length: 5 }, (_, i) => `x${i}`);
      for (const id of ids) await client.start(broken, { yes: false }, { id });
      for (const id of ids) await expect(client.get(id).result()).rejects.toMatchObject({ code: "run_failed" });
      isRepaired.yes = true;
      expect(await client.batch({ status: "failed" }).retry({ by: "ana" })).toMatchObject({ matched: 5, done: 5 });
      for (const id of ids) await client.get(id).result();
    },

    "goes on with the batch of a client that was closed": async (t) => {
      const [first, second] = [await t.connect(), await t.connect()];
      await first.startMany(someOf(300));
      let close = (): void => {};
      const closing = new Promise<void>((resolve) => {
        close = resolve;
      });
      const onProgress = (): void => close();
      const batch = { id: "b", perSecond: 150 };
      const begun = first.batch({}).signal(go, "on", { ...batch, onProgress });
      const refused = expect(begun).rejects.toMatchObject({ code: "client_closed" });
      await closing;
      await first.close();
      await refused;
      expect(await second.batch({}).signal(go, "on", batch)).toMatchObject({
        matched: 300,
        done: 300,
        skippedCount: 0,
      });
      await second.worker({ workflows: [wait] }).start();
      for (const { options } of someOf(300)) expect(await second.get(options.id).result()).toBe("on");
    },

    "keeps the payload of a signal encrypted, and re-encodes it": async (t) => {
      const old = encrypted({ current: "old", keys: { old: BOTH.old } });
      const both = encrypted({ current: "new", keys: BOTH });
      const [writer, rewriter] = [await t.connect({ codec: old }), await t.connect({ codec: both })];
      await writer.startMany(someOf(3));
      await writer.batch({}).signal(go, "secret", { id: "b" });
      await rewriter.reencode();
      const only = await t.connect({ codec: encrypted({ current: "new", keys: { new: BOTH.new } }) });
      expect(await only.batchRun("b").describe()).toMatchObject({
        input: { action: { signal: { payload: "secret" } } },
      });
      expect(await only.batchRun("b").result()).toMatchObject({ matched: 3, done: 3 });
    },
  },
};
