// What each role may do through a session, where the engine makes calls of its own: batches, tasks and their tokens, purges.
import { type Client, connect, signal, silentLogger, task, workflow } from "holdfast";
import {
  HoldfastError,
  hookedStore,
  isHoldfastError,
  type OpenedStore,
  type Role,
  systemPorts,
} from "holdfast/adapter";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { createKey } from "../../src/index.ts";
import { memoryStore, type ServedStore, serve } from "./served-store.ts";

const go = signal("go");
const open = workflow({ name: "open", signals: [go] }, async (ctx) => {
  await ctx.receive(go);
  return "gone";
});
const approve = task<string, string>({ name: "approve", external: true });
const approval = workflow("approval", (ctx) => ctx.task(approve, "it"));
const bad = workflow({ name: "bad", retry: { attempts: 1 } }, async () => {
  throw new Error("bad");
});

let served: ServedStore;
let opened: OpenedStore;

beforeEach(async () => {
  opened = memoryStore();
  served = await serve(opened, { auth: "keys" });
  onTestFinished(() => served.close());
});

async function as(role: Role, namespace = "shop", of = namespace): Promise<Client> {
  const made = await createKey(opened.access!, systemPorts.random, { name: "", role, namespace: of, expiresAt: null });
  const hf = await connect(served.url, { logger: silentLogger, namespace, token: made.token });
  onTestFinished(() => hf.close());
  return hf;
}

async function refusal(call: Promise<unknown>): Promise<{ readonly code: string; readonly message: string }> {
  const error = await call.then(
    () => undefined,
    (one: unknown) => one,
  );
  if (!isHoldfastError(error)) throw new Error(`not refused, but ${String(error)}`);
  return error;
}

describe("a batch", () => {
  test("is carried out with the key of a writer", async () => {
    const worker = await as("worker");
    await worker.worker({ workflows: [open] }).start();
    const writer = await as("writer");
    const runs = await Promise.all(["a", "b"].map((id) => writer.start(open, undefined, { id })));
    const { done, skipped } = await writer.batch({ workflow: "open" }).signal(go);
    expect([done, skipped]).toEqual([2, []]);
    expect(await Promise.all(runs.map((run) => run.result()))).toEqual(["gone", "gone"]);
  });

  test("is carried out with the key of a writer where no worker is", async () => {
    const writer = await as("writer");
    const run = await writer.start("open", undefined, { id: "a" });
    expect((await writer.batch({ workflow: "open" }).terminate()).done).toBe(1);
    expect(await run.status()).toBe("terminated");
  });

  test("needs the role writer in the namespace whose runs it acts on", async () => {
    for (const hf of [await as("reader"), await as("writer", "shop", "other"), await as("worker", "shop", "other")]) {
      const { code, message } = await refusal(hf.batch({ workflow: "open" }).pause());
      expect([code, message]).toEqual(["permission_denied", 'This call needs the role writer in namespace "shop".']);
    }
  });

  test("makes no worker of a writer", async () => {
    const writer = await as("writer");
    const { code, message } = await refusal(writer.worker({ workflows: [open] }).start());
    expect([code, message]).toEqual(["permission_denied", 'This call needs the role worker in namespace "shop".']);
  });
});

describe("a purge", () => {
  test.each(["reader", "writer", "worker"] as const)("with the key of a %s is refused at once", async (role) => {
    const admin = await as("admin");
    await admin.worker({ workflows: [bad] }).start();
    await refusal(admin.run(bad, undefined, { id: "b" }));
    const hf = await as(role);
    const needs = ["permission_denied", 'This call needs the role admin in namespace "shop".'];
    for (const call of [
      () => hf.purge({ olderThan: "0s" }),
      () => hf.batch({ workflow: "bad", status: "failed" }).purge(),
    ]) {
      const { code, message } = await refusal(call());
      expect([code, message]).toEqual(needs);
    }
    expect(await admin.count({ workflow: "bad" })).toBe(1);
    // Nothing is left behind for others to go on with.
    expect(await admin.count({ workflow: "holdfast.batch" })).toBe(0);
  });

  test("with the key of an admin deletes what it finds", async () => {
    const admin = await as("admin");
    await admin.worker({ workflows: [bad] }).start();
    await refusal(admin.run(bad, undefined, { id: "b" }));
    expect((await admin.batch({ workflow: "bad", status: "failed" }).purge()).done).toBe(1);
  });

  test("that goes on where it is not allowed fails, and is not repeated", async () => {
    const store = hookedStore(opened.store, {
      "runs.purge": (purge, call) => {
        if (purge.runIds?.length === 0) return call();
        throw new HoldfastError("permission_denied", "This call needs more.");
      },
    });
    const adapter = { name: "given", schemes: ["given"], openStore: async () => ({ ...opened, store }) };
    const hf = await connect("given:", { adapters: [adapter], logger: silentLogger });
    onTestFinished(() => hf.close());
    await hf.worker({ workflows: [bad] }).start();
    await refusal(hf.run(bad, undefined));
    const { message } = await refusal(hf.batch({ workflow: "bad" }).purge());
    expect(message).toContain("This call needs more.");
  });
});

describe("the token of a task", () => {
  test("is shown to a writer, and not to a reader", async () => {
    const worker = await as("worker");
    await worker.worker({ workflows: [approval] }).start();
    const [writer, reader] = [await as("writer"), await as("reader")];
    const run = await writer.start(approval, undefined, { id: "a" });
    const external = { status: "external" } as const;
    for await (const event of writer.watch("a")) if (event.type === "task_scheduled") break;
    const token = (await writer.tasks.list(external)).tasks[0]?.token as string;
    const [seen] = (await reader.tasks.list(external)).tasks;
    expect(seen).toMatchObject({ name: "approve", status: "external" });
    expect(seen).not.toHaveProperty("token");
    const secret = token.split(".").at(-1)!;
    const needs = ["permission_denied", 'This call needs the role writer in namespace "shop".'];
    const wrong = `${token.slice(0, -32)}${"0".repeat(32)}`;
    for (const one of [token, wrong])
      for (const call of [
        () => reader.tasks.get(one),
        () => reader.tasks.complete(one, 1),
        () => reader.tasks.fail(one, new Error("no")),
        () => reader.tasks.heartbeat(one),
        () => reader.tasks.retry(one),
      ]) {
        const { code, message } = await refusal(call());
        expect([code, message]).toEqual(needs);
      }
    // Nothing else that a reader may read has it.
    const read = [await reader.get("a").history(), await reader.get("a").describe(), await reader.why("a")];
    expect(JSON.stringify(read)).not.toContain(secret);
    expect((await writer.tasks.get(token)).token).toBe(token);
    await writer.tasks.complete(token, "yes");
    expect(await run.result()).toBe("yes");
  });
});

describe("a refusal", () => {
  test("names the role and the namespace, and no call of the store", async () => {
    const reader = await as("reader");
    const writer = await as("writer");
    await writer.start("open", undefined, { id: "a" });
    const calls: [Role, () => Promise<unknown>][] = [
      ["writer", () => reader.start("open", undefined)],
      ["writer", () => reader.get("a").pause()],
      ["writer", () => reader.get("a").signal(go)],
      ["writer", () => reader.get("a").terminate()],
      ["admin", () => writer.queues.set("default", { concurrency: 1 })],
    ];
    for (const [role, call] of calls)
      expect((await refusal(call())).message).toBe(`This call needs the role ${role} in namespace "shop".`);
  });
});
