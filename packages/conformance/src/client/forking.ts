import { type Client, type RunHandle, signal, task, workflow } from "holdfast";
import { encrypted } from "holdfast/codecs";
import { expect } from "vitest";
import type { ClientFixture } from "./client-fixture.ts";
import type { ClientSuite } from "./client-suite.ts";
import { BOTH, connectBoth, connectOld, needsNew } from "./codecs.ts";

const go = signal<string>("go");
const small = workflow("small", async (_ctx, text: string) => `${text} by a child`);

/** What was executed, by run. */
function shop() {
  const executed: string[] = [];
  const pack = task("pack", (item: string) => `${item} packed`);
  const order = workflow("order", async (ctx, item: string) => {
    const did = (op: string): string => {
      executed.push(`${ctx.info.id} ${op}`);
      return `${op} ${item}`;
    };
    const charge = await ctx.step("charge", () => did("charge"));
    const packed = await ctx.task(pack, item);
    const born = await ctx.child(small, item);
    const word = await ctx.receive(go);
    return [charge, packed, born, word, await ctx.step("ship", () => did("ship"))];
  });
  const serve = (client: Client): Promise<void> => client.worker({ workflows: [order, small], tasks: [pack] }).start();
  return { executed, order, serve };
}

async function shipped(client: Client, { order, serve }: ReturnType<typeof shop>): Promise<RunHandle<string[]>> {
  await serve(client);
  const run = await client.start(order, "lamp", { id: "o" });
  await run.signal(go, "now");
  expect(await run.result()).toEqual(["charge lamp", "lamp packed", "lamp by a child", "now", "ship lamp"]);
  return run;
}

/** A run with so many events, which a worker without memory of it has read, so that they are packed. */
async function longRun(t: ClientFixture, steps: number) {
  const executed: number[] = [];
  const long = workflow("long", async (ctx) => {
    let sum = 0;
    for (let i = 1; i <= steps; i++) sum += await ctx.step("work", () => executed.push(i));
    const word = await ctx.receive(go);
    return `${sum} ${word} ${await ctx.step("end", () => executed.length)}`;
  });
  const first = await t.connect();
  const worker = first.worker({ workflows: [long] });
  await worker.start();
  const run = await first.start(long, undefined, { id: "long" });
  while ((await run.status()) !== "waiting");
  await worker.stop();
  return { executed, long, run };
}

/** Forks, through the whole engine on each store. */
export const forking: ClientSuite = {
  noun: "that forks runs",
  cases: {
    "executes nothing again of what was before the cut, and leaves the origin as it is": async (t) => {
      const it = shop();
      const client = await t.connect();
      const run = await shipped(client, it);
      const before = await run.history();
      it.executed.length = 0;
      const fork = await run.fork({ before: "ship", id: "again", by: "ana", reason: "lost" });
      expect(await fork.result()).toEqual(await run.result());
      expect(it.executed).toEqual(["again ship"]);
      expect(await run.history()).toEqual(before);
      const history = await fork.history();
      const cut = history.findIndex(({ type }) => type === "run_forked");
      expect(history.slice(1, cut)).toEqual(before.slice(1, cut));
      expect(history[cut]).toMatchObject({
        forkedFrom: { id: "o", runId: run.runId },
        data: { by: "ana", reason: "lost" },
      });
      expect(await fork.describe()).toMatchObject({ forkedFrom: { id: "o", runId: run.runId } });
      expect((await client.list({ forkedFrom: run.runId })).runs.map(({ id }) => id)).toEqual(["again"]);
    },

    "gives ops the outcomes that it has decided: a task, a child, a receive, a step": async (t) => {
      const it = shop();
      const client = await t.connect();
      const run = await shipped(client, it);
      it.executed.length = 0;
      const edit = {
        pack: { result: "by hand" },
        small: { result: "adopted" },
        "receive:go": { result: "later" },
        ship: { error: new Error("no parcel") },
      };
      const fork = await run.fork({ before: "pack", edit });
      await expect(fork.result()).rejects.toMatchObject({ code: "run_failed", cause: { message: "no parcel" } });
      expect(it.executed).toEqual([]);
      await fork.retry();
      expect(await fork.result()).toEqual(["charge lamp", "by hand", "adopted", "later", "ship lamp"]);
      const edited = (await fork.steps()).filter((step) => step.edited).map(({ op }) => op);
      expect(edited).toEqual(["pack", "small", "receive:go"]);
    },

    "makes one fork of five calls with the same id, and gives it to all of them": async (t) => {
      const it = shop();
      const client = await t.connect();
      const run = await shipped(client, it);
      const forks = await Promise.all(Array.from({ length: 5 }, () => run.fork({ before: "ship", id: "one of five" })));
      expect(forks.filter(({ created }) => created)).toHaveLength(1);
      expect(new Set(forks.map(({ runId }) => runId)).size).toBe(1);
      expect(await client.count({ forkedFrom: run.runId })).toBe(1);
      await expect(run.fork({ before: "charge", id: "one of five" })).rejects.toMatchObject({
        code: "run_already_exists",
      });
    },

    "forks an encrypted run without reading it, and edits it with the key of today": async (t) => {
      const it = shop();
      const old = await connectOld(t);
      const run = await shipped(old, it);
      await old.close();
      const both = await connectBoth(t);
      await it.serve(both);
      it.executed.length = 0;
      const edit = { "receive:go": { result: "edited" } };
      const fork = await both.get(it.order, run.id).fork({ before: "receive:go", edit, id: "rotated" });
      expect(await fork.result()).toEqual(["charge lamp", "lamp packed", "lamp by a child", "edited", "ship lamp"]);
      expect(it.executed).toEqual(["rotated ship"]);
    },

    "parks a fork whose edits its worker has no key for, and goes on once it has": async (t) => {
      const it = shop();
      const old = await connectOld(t);
      const run = await shipped(old, it);
      it.executed.length = 0;
      const both = await connectBoth(t);
      const edit = { "receive:go": { result: "edited" } };
      const fork = await both.get(it.order, run.id).fork({ before: "receive:go", edit, id: "locked" });
      await expect(fork.result()).rejects.toMatchObject(needsNew);
      expect(it.executed).toEqual([]);
      // Its worker would park the child too, for as long as it is the first to claim it.
      await old.close();
      await it.serve(await t.connect({ codec: encrypted({ current: "new", keys: BOTH }) }));
      await fork.resume();
      expect((await fork.result({ onParked: "wait" }))[3]).toBe("edited");
    },

    "forks a run whose history is packed: the fork has all of it, and repeats none": async (t) => {
      const STEPS = 1_000;
      const { executed, long, run } = await longRun(t, STEPS);
      const second = await t.connect();
      await second.worker({ workflows: [long] }).start();
      const same = second.get(long, "long");
      await same.signal(go, "a");
      expect(await same.result()).toMatch(/ a 1000$/);
      const fork = await same.fork({ before: "receive:go" });
      await fork.signal(go, "b");
      expect(await fork.result()).toBe(`${(STEPS * (STEPS + 1)) / 2} b 1000`);
      expect(executed).toHaveLength(STEPS);
      expect((await fork.history()).slice(1, STEPS + 1)).toEqual((await run.history()).slice(1, STEPS + 1));
    },
  },
};
