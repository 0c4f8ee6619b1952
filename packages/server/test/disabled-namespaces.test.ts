// A namespace that is disabled takes no starts, whichever way they come.
import { createClient } from "@connectrpc/connect";
import { RetryWorkflowRequest_Mode as Mode, NamespaceService, WorkflowService } from "@holdfast/protocol";
import { connect } from "holdfast";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ServerUnderTest, serverUnderTest, silent } from "./server-under-test.ts";

const namespace = "shop";
let t: ServerUnderTest;
let hf: Awaited<ReturnType<typeof connect>>;
beforeAll(async () => {
  t = await serverUnderTest();
  hf = await connect(t.server.url, { namespace, logger: silent });
});
afterAll(async () => {
  await hf.close();
  await t.close();
});

test("a run is not started again from its beginning, and no schedule is made or triggered", async () => {
  const service = createClient(WorkflowService, t.transport());
  const namespaces = createClient(NamespaceService, t.transport());
  const run = await hf.start("waits", undefined, { id: "a" });
  await run.terminate();
  await hf.schedules.create({ id: "s", workflow: "waits", every: "1h" });
  const calls = {
    restart: () => service.retryWorkflow({ namespace, runId: run.runId, mode: Mode.RESTART }),
    trigger: () => hf.schedules.trigger("s"),
    create: () => hf.schedules.create({ id: "t", workflow: "waits", every: "1h" }),
  };
  await namespaces.disableNamespace({ namespace });
  for (const [name, call] of Object.entries(calls))
    expect([
      name,
      await call().then(
        () => "ok",
        (error: Error) => error.message,
      ),
    ]).toEqual([name, expect.stringContaining(`Namespace "${namespace}" is disabled`)]);
  // What starts nothing is still possible.
  await hf.schedules.pause("s");
  expect((await hf.list()).runs).toHaveLength(1);
  await namespaces.enableNamespace({ namespace });
  for (const [name, call] of Object.entries(calls))
    expect([name, (await call()) ?? null]).toEqual([name, expect.anything()]);
});

test("a schedule makes no namespace whose name could be none", async () => {
  const odd = await connect(t.server.url, { namespace: "a.b", logger: silent });
  const made = odd.schedules.create({ id: "s", workflow: "waits", every: "1h" });
  await expect(made).rejects.toMatchObject({ code: "invalid_name" });
  await odd.close();
  const namespaces = createClient(NamespaceService, t.transport());
  expect((await namespaces.listNamespaces({})).namespaces.map(({ namespace: name }) => name)).not.toContain("a.b");
});
