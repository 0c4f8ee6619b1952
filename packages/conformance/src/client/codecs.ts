import { type Client, query, signal, task, update, workflow } from "holdfast";
import { compressed, encrypted, messagePack } from "holdfast/codecs";
import { expect } from "vitest";
import type { ClientFixture } from "./client-fixture.ts";
import type { ClientSuite } from "./client-suite.ts";
import { gate } from "./gate.ts";

export const OLD = { old: new Uint8Array(32).fill(1) };
export const BOTH = { ...OLD, new: new Uint8Array(32).fill(2) };

const begin = signal<string>("begin");
const go = signal<string>("go");
const add = update<string, string>("add");
const said = query<string, string>("said");

export const connectOld = (t: ClientFixture): Promise<Client> =>
  t.connect({ codec: encrypted({ current: "old", keys: OLD, inner: messagePack() }) });
export const connectBoth = (t: ClientFixture, namespace = "default"): Promise<Client> =>
  t.connect({ codec: encrypted({ current: "new", keys: BOTH, inner: compressed() }), namespace });

export const needsNew = {
  code: "run_parked",
  cause: { recordedCode: "codec_key_missing", message: expect.stringContaining('encrypted with the key "new"') },
};

export const codecs: ClientSuite = {
  noun: "with a codec of its own",
  cases: {
    "gets everything back that it has encrypted, and every call with the same id is the same call": async (t) => {
      const client = await connectBoth(t);
      const double = task("double", (text: string) => text + text);
      const child = workflow("child", async (_ctx, text: string) => `${text} by a child`);
      const main = workflow("main", async (ctx, text: string) => {
        const words = [text, ctx.sideEffect("side", () => "side")];
        ctx.on(add, (word) => `${words.push(word)} words`);
        words.push(
          await ctx.step("step", () => "step"),
          await ctx.task(double, "task"),
          await ctx.child(child, "born"),
        );
        words.push(String(await ctx.receive(go)));
        return words;
      });
      await client.worker({ workflows: [main, child], tasks: [double] }).start();
      const run = await client.start(main, "input", { id: "one" });
      expect((await client.start(main, "input", { id: "one" })).runId).toBe(run.runId);
      expect(await run.update(add, "update", { id: "u" })).toBe(await run.update(add, "other", { id: "u" }));
      await run.signal(go, "signal", { id: "s" });
      await run.signal(go, "signal", { id: "s" });
      expect((await run.result()).toSorted()).toEqual(
        ["born by a child", "input", "side", "signal", "step", "tasktask", "update"].toSorted(),
      );
      expect(await run.describe()).toMatchObject({ input: "input" });
      expect((await client.list({ id: "one" })).runs).toHaveLength(1);
    },

    "reads what was written before it encrypted anything": async (t) => {
      const main = workflow("main", async (ctx, n: number) => {
        const step = await ctx.step("step", () => new Map([["n", n]]));
        return [step, await ctx.receive(go)];
      });
      const plain = await t.connect({ codec: messagePack() });
      const worker = plain.worker({ workflows: [main] });
      await worker.start();
      const { id } = await plain.start(main, 7);
      await statusOf(plain, id, "waiting");
      await worker.stop();
      const client = await connectBoth(t);
      await client.worker({ workflows: [main] }).start();
      await client.get(main, id).signal(go, "later");
      expect(await client.get(main, id).result()).toEqual([new Map([["n", 7]]), "later"]);
    },

    "says which key it needs to show a run, and still lists it": async (t) => {
      const main = workflow("main", async (_ctx, text: string) => text);
      const [both, old] = [await connectBoth(t), await connectOld(t)];
      await both.worker({ workflows: [main] }).start();
      const { id } = await both.start(main, "secret");
      await both.get(id).result();
      const missing = { code: "codec_key_missing", data: { keyId: "new", known: ["old"] } };
      for (const call of [old.get(id).result(), old.get(id).describe(), old.get(id).history()])
        await expect(call).rejects.toMatchObject(missing);
      expect((await old.list()).runs).toMatchObject([{ id, status: "completed" }]);
      expect(await old.why(id)).toMatchObject({ status: "completed" });
    },

    "parks a run whose input it cannot read; a worker that has the key takes it up": async (t) => {
      const main = workflow("main", async (_ctx, text: string) => text);
      const [both, old] = [await connectBoth(t), await connectOld(t)];
      await old.worker({ workflows: [main] }).start();
      const run = await both.start(main, "secret");
      await expect(run.result()).rejects.toMatchObject(needsNew);
      await both.worker({ workflows: [main] }).start();
      await statusOf(both, run.id, "completed");
      expect(await run.result()).toBe("secret");
    },

    "parks a run for a signal, a side effect or an update that it cannot read, and loses none of them": async (t) => {
      const executed: string[] = [];
      const main = workflow("main", async (ctx) => {
        const heard: unknown[] = [];
        ctx.on(add, { validate: () => {}, handle: (word) => `${word} ${heard.length}` });
        try {
          heard.push(await ctx.receive(go));
          heard.push(ctx.sideEffect("side", () => "side effect"));
          heard.push(await ctx.step("first", () => executed.push("first")));
          heard.push(await ctx.receive(go));
          heard.push(await ctx.receive(go));
          return heard;
        } catch (error) {
          // What cannot be read must not reach the code.
          executed.push(String(error));
          throw error;
        }
      });
      const [both, old] = [await connectBoth(t), await connectOld(t)];
      const blind = old.worker({ workflows: [main] });
      await blind.start();
      const run = await both.start(main);
      await statusOf(old, run.id, "waiting");
      await run.signal(go, "waited for");
      await expect(run.result()).rejects.toMatchObject(needsNew);
      await blind.stop();
      const worker = both.worker({ workflows: [main] });
      await worker.start();
      await statusOf(both, run.id, "waiting");
      expect(await run.update(add, "update")).toBe("update 3");
      await worker.stop();
      const blindAgain = old.worker({ workflows: [main] });
      await blindAgain.start();
      // It is replayed by the worker that lacks the key: the side effect, too, was encrypted with it.
      await expect(run.update(add, "again", { id: "again" })).rejects.toMatchObject(needsNew);
      await expect(run.result()).rejects.toMatchObject(needsNew);
      await run.signal(go, "kept");
      await blindAgain.stop();
      await both.worker({ workflows: [main] }).start();
      await statusOf(both, run.id, "waiting");
      expect(await run.update(add, "other", { id: "again" })).toBe("again 3");
      await run.signal(go, "last");
      expect(await run.result()).toEqual(["waited for", "side effect", 1, "kept", "last"]);
      expect(executed).toEqual(["first"]);
    },

    "keeps an update that it cannot read for a worker that has the key": async (t) => {
      const main = workflow("main", async (ctx) => {
        const heard: string[] = [];
        ctx.on(add, (word) => {
          heard.push(word);
          return `${heard.length}: ${word}`;
        });
        await ctx.receive(go);
        return heard;
      });
      const [both, old] = [await connectBoth(t), await connectOld(t)];
      const blind = old.worker({ workflows: [main] });
      await blind.start();
      const run = await old.start(main);
      await statusOf(old, run.id, "waiting");
      const asked = both.get(main, run.id);
      await expect(asked.update(add, "first", { id: "u1" })).rejects.toMatchObject(needsNew);
      // The same worker, once more: the update is still there.
      await asked.resume("try again");
      await expect(asked.update(add, "first", { id: "u1" })).rejects.toMatchObject(needsNew);
      await blind.stop();
      await both.worker({ workflows: [main] }).start();
      expect(await asked.update(add, "first", { id: "u1" })).toBe("1: first");
      expect(await asked.update(add, "second", { id: "u2" })).toBe("2: second");
      await asked.signal(go, "end");
      expect(await asked.result()).toEqual(["first", "second"]);
    },

    "parks a run whose code asks for something that it cannot read, and drops what the code did then": async (t) => {
      const executed: string[] = [];
      const main = workflow("main", async (ctx) => {
        const heard: unknown[] = [];
        const quietly = async (read: () => unknown): Promise<void> => {
          try {
            heard.push(await read());
          } catch {
            heard.push(await ctx.step("wrong way", () => executed.push("wrong way")));
          }
        };
        await quietly(() => ctx.sideEffect("side", () => "side effect"));
        heard.push(await ctx.receive(begin));
        await quietly(() => ctx.receive(go));
        return heard;
      });
      const [both, old] = [await connectBoth(t), await connectOld(t)];
      const first = both.worker({ workflows: [main] });
      await first.start();
      const run = await both.start(main);
      await statusOf(both, run.id, "waiting");
      await first.stop();
      const oldWorker = old.worker({ workflows: [main] });
      await oldWorker.start();
      await old.get(main, run.id).signal(begin, "begin");
      await expect(run.result()).rejects.toMatchObject(needsNew);
      await oldWorker.stop();
      await both.worker({ workflows: [main] }).start();
      await run.signal(go, "go");
      expect(await run.result()).toEqual(["side effect", "begin", "go"]);
      expect(executed).toEqual([]);
    },

    "parks a run whose code receives a waiting signal that it cannot read": async (t) => {
      const main = workflow("main", async (ctx) => {
        const word = await ctx.receive(begin);
        try {
          return [word, await ctx.receive(go)];
        } catch {
          return "wrong way";
        }
      });
      const [both, old] = [await connectBoth(t), await connectOld(t)];
      const oldWorker = old.worker({ workflows: [main] });
      await oldWorker.start();
      const run = await old.start(main);
      await statusOf(old, run.id, "waiting");
      await both.get(main, run.id).signal(go, "go");
      await run.signal(begin, "begin");
      await expect(run.result()).rejects.toMatchObject(needsNew);
      await both.worker({ workflows: [main] }).start();
      await statusOf(both, run.id, "completed");
      expect(await both.get(main, run.id).result()).toEqual(["begin", "go"]);
    },

    "continues a parked run when it is told to": async (t) => {
      const main = workflow("main", async (_ctx, text: string) => text);
      const [both, old] = [await connectBoth(t), await connectOld(t)];
      const worker = old.worker({ workflows: [main] });
      await worker.start();
      const run = await both.start(main, "secret");
      await expect(run.result()).rejects.toMatchObject(needsNew);
      await worker.stop();
      await run.resume();
      await both.worker({ workflows: [main] }).start();
      expect(await run.result()).toBe("secret");
    },

    "refuses a query whose argument it cannot read, and the run goes on": async (t) => {
      const main = workflow("main", async (ctx) => {
        ctx.on(said, (text) => text);
        return await ctx.receive(go);
      });
      const [both, old] = [await connectBoth(t), await connectOld(t)];
      await old.worker({ workflows: [main] }).start();
      const run = await old.start(main);
      await statusOf(old, run.id, "waiting");
      const failed = { code: "query_failed", message: expect.stringContaining('"new"') };
      await expect(both.get(main, run.id).query(said, "hello")).rejects.toMatchObject(failed);
      await run.signal(go, "done");
      expect(await run.result()).toBe("done");
    },

    "leaves a task whose input it cannot read to a worker that has the key, and counts no attempt": async (t) => {
      const job = task({ name: "job", retry: { attempts: 1 } }, (text: string, { attempt }) => `${text} ${attempt}`);
      const main = workflow("main", (ctx) => ctx.task(job, "secret"));
      const both = await connectBoth(t);
      const tried = gate();
      const warn = (_fields: object, message?: string): void => {
        if (message?.includes("waits for a worker that has its key")) tried.open();
      };
      const logger = { debug() {}, info() {}, warn, error() {} };
      const old = await t.connect({ codec: encrypted({ current: "old", keys: OLD }), logger });
      const worker = old.worker({ tasks: [job] });
      await worker.start();
      await both.worker({ workflows: [main] }).start();
      const run = await both.start(main);
      await tried.opened;
      await worker.stop();
      await both.worker({ tasks: [job] }).start();
      expect(await run.result()).toBe("secret 1");
    },
  },
};

/** Asks until the run has that status; time is counted in round trips to the store. */
export async function statusOf(client: Client, id: string, status: string): Promise<void> {
  while ((await client.get(id).status()) !== status);
}
