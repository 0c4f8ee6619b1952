import { query, signal, update, workflow } from "holdfast";
import { encrypted } from "holdfast/codecs";
import { expect } from "vitest";
import type { ClientSuite } from "./client-suite.ts";
import { BOTH, connectBoth, connectOld, needsNew, statusOf } from "./codecs.ts";

const go = signal<string>("go");
const add = update<string, string>("add");
const said = query<string, string>("said");

const listener = workflow("listener", async (ctx, text: string) => {
  ctx.on(add, (word) => `${word} added`);
  ctx.on(said, (word) => `${word} said`);
  return [text, await ctx.receive(go)];
});

/** What runs and clients tell each other whose codecs write differently. */
export const codecsBetweenRuns: ClientSuite = {
  noun: "whose codec differs from that of another",
  cases: {
    "has its queries and updates answered by a worker that writes with another key": async (t) => {
      const worker = await t.connect({ codec: encrypted({ current: "old", keys: BOTH }) });
      await worker.worker({ workflows: [listener] }).start();
      const both = await connectBoth(t);
      const run = await both.start(listener, "input");
      await statusOf(both, run.id, "waiting");
      expect(await run.query(said, "word")).toBe("word said");
      expect(await run.update(add, "word")).toBe("word added");
      await run.signal(go, "end");
      expect(await run.result()).toEqual(["input", "end"]);
    },

    "is told which key it needs to read an answer, and the run goes on": async (t) => {
      const [both, old] = [await connectBoth(t), await connectOld(t)];
      await both.worker({ workflows: [listener] }).start();
      const run = await old.start(listener, "input");
      await statusOf(old, run.id, "waiting");
      const missing = { code: "codec_key_missing", data: { keyId: "new", known: ["old"] } };
      await expect(run.query(said, "word")).rejects.toMatchObject(missing);
      await expect(run.update(add, "word")).rejects.toMatchObject(missing);
      await run.signal(go, "end");
      expect(await both.get(listener, run.id).result()).toEqual(["input", "end"]);
    },

    "has runs that exchange values with those of another namespace, each with the keys of the other": async (t) => {
      const theirs = await connectBoth(t, "theirs");
      const ours = await t.connect({ codec: encrypted({ current: "old", keys: BOTH }) });
      await theirs.namespaces.allow("default");
      const there = { namespace: "theirs", id: "there" };
      const main = workflow("main", async (ctx) => {
        await ctx.signal(there, go, "from us");
        return ctx.resultOf(listener, there);
      });
      await theirs.worker({ workflows: [listener] }).start();
      await ours.worker({ workflows: [main] }).start();
      await theirs.start(listener, "theirs", { id: there.id });
      expect(await ours.run(main)).toEqual(["theirs", "from us"]);
    },

    "parks the run that is told something by another namespace that it cannot read": async (t) => {
      const [theirs, old] = [await connectBoth(t, "theirs"), await connectOld(t)];
      await theirs.namespaces.allow("default");
      const there = { namespace: "theirs", id: "there" };
      const main = workflow("main", async (ctx) => {
        await ctx.signal(there, go, "from us");
        return ctx.resultOf(listener, there).catch(() => "wrong way");
      });
      await theirs.worker({ workflows: [listener] }).start();
      const worker = old.worker({ workflows: [main] });
      await worker.start();
      const other = await theirs.start(listener, "theirs", { id: there.id });
      const run = await old.start(main);
      await expect(run.result()).rejects.toMatchObject(needsNew);
      expect(await other.result()).toEqual(["theirs", "from us"]);
      await worker.stop();
      const both = await connectBoth(t);
      await both.worker({ workflows: [main] }).start();
      await statusOf(both, run.id, "completed");
      expect(await both.get(main, run.id).result()).toEqual(["theirs", "from us"]);
    },

    "parks the parent whose child returns, or answers, what it cannot read": async (t) => {
      const child = workflow("child", async (_ctx, text: string) => `${text} by a child`);
      const main = workflow("main", async (ctx) => {
        const other = await ctx.startChild(listener, "born", { id: "other" });
        const answer = await other.update(add, "word").catch(() => "wrong way");
        const result = await ctx.child(child, "born").catch(() => "wrong way");
        return [answer, result];
      });
      const [both, old] = [await connectBoth(t), await connectOld(t)];
      const worker = old.worker({ workflows: [main] });
      await worker.start();
      await both.worker({ workflows: [child, listener] }).start();
      const run = await old.start(main);
      await expect(run.result()).rejects.toMatchObject(needsNew);
      await worker.stop();
      await both.worker({ workflows: [main] }).start();
      await statusOf(both, run.id, "completed");
      expect(await both.get(main, run.id).result()).toEqual(["word added", "born by a child"]);
    },
  },
};
