// What operators do through a session is kept as what they do by calls; what workers do while they work is not.
import { type Client, type ConnectOptions, connect, signal, silentLogger, workflow } from "holdfast";
import { type Role, systemPorts } from "holdfast/adapter";
import { expect, onTestFinished, test } from "vitest";
import { createKey } from "../../src/index.ts";
import { memoryStore, type ServedStore, serve } from "./served-store.ts";

const go = signal("go");
const waits = workflow("waits", async (ctx) => ctx.receive(go));
const fails = workflow("fails", async (ctx) => {
  await ctx.step(
    "no",
    () => {
      throw new Error("no");
    },
    { retry: "none" },
  );
});

async function served(): Promise<ServedStore> {
  const one = await serve(memoryStore(), { auth: "keys" });
  onTestFinished(() => one.close());
  return one;
}

async function client(served: ServedStore, role: Role, options: ConnectOptions = {}) {
  const asked = { name: "", role, namespace: "shop", expiresAt: null } as const;
  const { id, token } = await createKey(served.opened.access!, systemPorts.random, asked);
  const hf = await connect(served.url, { logger: silentLogger, namespace: "shop", token, ...options });
  onTestFinished(() => hf.close());
  return { id, hf };
}

/** The oldest first, once the last one is there. */
async function kept({ opened }: ServedStore, last: string): Promise<string[]> {
  for (;;) {
    const events = await opened.access!.listAudit({ namespace: "shop", before: null, limit: 500 });
    const shown = events.map(({ action, subject, outcome, actor }) => `${action} ${subject} ${outcome} ${actor}`);
    if (shown[0]?.startsWith(last)) return shown.reverse();
    await new Promise<void>((resolve) => void systemPorts.clock.immediate(resolve));
  }
}

const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => "ok",
    (error: { code?: string }) => error.code ?? "",
  );

async function begin(hf: Client, ...ids: string[]): Promise<string[]> {
  return Promise.all(ids.map(async (id) => (await hf.start(waits, undefined, { id })).runId));
}

test("everything that an operator does through a session is in the audit log, with who did it", async () => {
  const there = await served();
  const { hf, id } = await client(there, "admin");
  await hf.worker({ workflows: [waits, fails] }).start();
  const [, , paused] = await begin(hf, "a", "b", "c");
  const failed = await hf.start(fails, undefined, { id: "f" });
  await failed.result().catch(() => {});
  await hf.get("a").cancel({ by: "ann", reason: "no" });
  await hf.get("b").terminate("stuck");
  await hf.get("c").pause();
  await hf.get("c").resume();
  await hf.get("f").retry();
  await hf.queues.set("q", { concurrency: 1 });
  // It finds another revision than it expects, and looks again: that is one act.
  await hf.queues.set("q", { concurrency: 2 });
  await hf.purge({ olderThan: "1 day" });
  await hf.retention.set({ completed: "1 day" });
  await hf.namespaces.allow("other");
  await hf.versions.setDefault("waits", "1");
  await hf.schedules.create({ id: "s", workflow: "waits", every: "1h" });
  await hf.schedules.pause("s");
  await hf.schedules.trigger("s");
  await hf.schedules.delete("s");
  const [{ workerId } = { workerId: "" }] = await hf.workers.list();
  await hf.workers.drain(workerId);
  const shown = await kept(there, "DrainWorker");
  expect(shown).toEqual(
    [
      "CancelWorkflow a ok",
      "TerminateWorkflow b ok",
      `PauseWorkflow ${paused} ok`,
      `ResumeWorkflow ${paused} ok`,
      `RetryWorkflow ${failed.runId} ok`,
      "SetQueue q ok",
      "SetQueue q ok",
      "PurgeWorkflows  ok",
      "SetRetention  ok",
      "AllowNamespace other ok",
      "UpdateVersion waits@1 ok",
      "CreateWorkflowSchedule s ok",
      "UpdateWorkflowSchedule s ok",
      "TriggerWorkflowSchedule s ok",
      "DeleteWorkflowSchedule s ok",
      `DrainWorker ${workerId} ok`,
    ].map((line) => `${line} ${id}`),
  );
});

test("who did it is in the history where the caller did not say", async () => {
  const there = await served();
  const { hf, id } = await client(there, "writer");
  await begin(hf, "a", "b", "c", "d");
  await hf.get("a").terminate("stuck");
  await hf.get("b").terminate({ by: "ann" });
  await hf.get("c").pause();
  await hf.get("c").resume();
  const said = async (name: string, type: string) =>
    (await hf.get(name).history()).filter((event) => event.type === type).map(({ data, error }) => error?.data ?? data);
  expect(await said("a", "run_terminated")).toEqual([{ by: id, reason: "stuck" }]);
  expect(await said("b", "run_terminated")).toEqual([{ by: "ann" }]);
  expect(await said("c", "run_parked")).toMatchObject([{ by: id }]);
  expect(await said("c", "run_resumed")).toEqual([{ by: id }]);
});

test("what was refused is kept, and a batch as well", async () => {
  const there = await served();
  const [reader, writer] = [await client(there, "reader"), await client(there, "writer")];
  const [runId] = await begin(writer.hf, "a");
  expect(await codeOf(reader.hf.get("a").terminate())).toBe("permission_denied");
  expect(await codeOf(writer.hf.queues.set("q", { concurrency: 1 }))).toBe("permission_denied");
  expect(await codeOf(writer.hf.batch({ workflow: "waits" }).purge())).toBe("permission_denied");
  await writer.hf.batch({ workflow: "waits" }).terminate();
  const shown = await kept(there, "TerminateWorkflow");
  expect(shown.slice(0, 4)).toEqual([
    `TerminateWorkflow a permission_denied ${reader.id}`,
    `SetQueue q permission_denied ${writer.id}`,
    `PurgeWorkflows  permission_denied ${writer.id}`,
    expect.stringMatching(new RegExp(`^BatchWorkflows .* ok ${writer.id}$`)),
  ]);
  expect(shown.at(-1)).toBe(`TerminateWorkflow ${runId} ok ${writer.id}`);
});

test("what a worker does to children while it works is no act of an operator", async () => {
  const there = await served();
  const { hf } = await client(there, "worker");
  const parent = (close: "cancel" | "terminate") =>
    workflow(`parent-${close}`, async (ctx) => {
      await ctx.startChild(waits, undefined, { id: `child-${close}`, onParentClose: close });
    });
  await hf.worker({ workflows: [waits, parent("cancel"), parent("terminate")] }).start();
  for (const close of ["cancel", "terminate"] as const) {
    await hf.run(parent(close), undefined);
    await hf
      .get(`child-${close}`)
      .result()
      .catch(() => {});
  }
  const { hf: admin, id } = await client(there, "admin");
  await admin.queues.set("q", { concurrency: 1 });
  expect(await kept(there, "SetQueue")).toEqual([`SetQueue q ok ${id}`]);
});
