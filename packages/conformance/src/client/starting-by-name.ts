import { type Client, type Context, signal, workflow } from "holdfast";
import { expect } from "vitest";
import { type ClientFixture, refusalOf } from "./client-fixture.ts";
import type { ClientSuite } from "./client-suite.ts";

const wait = (ctx: Context): Promise<void> => ctx.sleep("a while", "1h");
const narrow = workflow({ name: "narrow", queue: "narrow", priority: 3, timeout: "2h" }, wait);
const wide = workflow({ name: "narrow", version: "2", queue: "wide" }, wait);
const keyed = workflow({ name: "keyed", queue: "narrow", key: (input: { shop: string }) => input.shop }, wait);

/** A client, and a worker of another one that has the code. */
async function withWorkerElsewhere(t: ClientFixture): Promise<{ readonly client: Client; readonly worker: Client }> {
  const [client, worker] = [await t.connect(), await t.connect()];
  await worker.worker({ workflows: [narrow, wide, keyed] }).start();
  return { client, worker };
}

export const startingByName: ClientSuite = {
  noun: "that starts runs by name, of code in another process",
  cases: {
    "gives them what the registered version says, unless the start says otherwise": async (t) => {
      const { client } = await withWorkerElsewhere(t);
      const run = await (await client.start("narrow")).describe();
      expect(run).toMatchObject({ queue: "narrow", priority: 3, version: "1" });
      expect(run.deadlineAt?.getTime()).toBe(run.createdAt.getTime() + 7_200_000);
      const other = await client.start("narrow", undefined, { queue: "else", priority: -1, timeout: "1h" });
      const { deadlineAt, createdAt, ...rest } = await other.describe();
      expect(rest).toMatchObject({ queue: "else", priority: -1 });
      expect(deadlineAt?.getTime()).toBe(createdAt.getTime() + 3_600_000);
      expect(await (await client.start("narrow", undefined, { version: "2" })).describe()).toMatchObject({
        queue: "wide",
        priority: 0,
        deadlineAt: null,
      });
    },

    "gives them the queue of the version that they get": async (t) => {
      const { client } = await withWorkerElsewhere(t);
      await client.versions.canary("narrow", "2", 1);
      expect(await (await client.start("narrow")).describe()).toMatchObject({ queue: "wide", version: "2" });
      const later = await t.connect();
      await later.versions.canary("narrow", "2", 0);
      await later.versions.setDefault("narrow", "1");
      expect(await (await later.start("narrow")).describe()).toMatchObject({ queue: "narrow", version: "1" });
    },

    "does not let them past the limit of the queue": async (t) => {
      const { client } = await withWorkerElsewhere(t);
      await client.queues.set("narrow", { concurrency: 0 });
      const run = await client.start("narrow");
      expect((await client.why(run.id)).causes).toMatchObject([
        { kind: "limit", limit: { of: "queue", concurrency: 0 } },
      ]);
    },

    "refuses them without a key if the code makes one from the input": async (t) => {
      const { client, worker } = await withWorkerElsewhere(t);
      const missing = { code: "invalid_option", data: { option: "key", workflow: "keyed", version: "1" } };
      const input = { shop: "s" };
      expect(await refusalOf(() => client.start("keyed", input))).toMatchObject({
        ...missing,
        message: expect.stringContaining(
          "of this process has that code. Pass key, or start the workflow by its definition from a process that has it.",
        ),
      });
      const go = signal("go");
      expect(await refusalOf(() => client.signalWithStart("keyed", input, go, undefined, { id: "k" }))).toMatchObject(
        missing,
      );
      const requests = [{ workflow: "narrow" }, { workflow: "keyed", input }];
      expect(await refusalOf(() => client.startMany(requests))).toMatchObject({
        ...missing,
        data: { ...missing.data, index: 1 },
        message: expect.stringContaining("Nothing was started."),
      });
      expect(await client.count()).toBe(0);
      const run = await client.start("keyed", input, { key: "s" });
      expect(await run.describe()).toMatchObject({ queue: "narrow", key: "s" });
      // Here the code is known.
      expect(await (await worker.start("keyed", { shop: "t" })).describe()).toMatchObject({ key: "t" });
      expect(await (await client.start(keyed, { shop: "u" })).describe()).toMatchObject({ key: "u" });
    },

    "gives them the queue default while nobody has registered the workflow": async (t) => {
      const client = await t.connect();
      expect(await (await client.start("nobody's", undefined, { key: "k" })).describe()).toMatchObject({
        queue: "default",
        key: "k",
      });
    },
  },
};
