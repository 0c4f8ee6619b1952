import { createClient } from "@connectrpc/connect";
import {
  AdminService,
  Health,
  HealthCheckResponse_ServingStatus as Serving,
  WorkflowService,
  WorkflowStatus,
} from "@holdfast/protocol";
import { query, signal, update, workflow } from "holdfast";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { jsonOf, jsonPayload, type ServerUnderTest, serverUnderTest } from "./server-under-test.ts";

const go = signal<{ by: string }>("go");
const count = query<number>("count");
const add = update<number, number>("add");

const order = workflow("order", async (ctx, input: { cents: number }) => {
  const charged = await ctx.step("charge", () => ({ paid: input.cents }));
  return { ...charged, at: "desk" };
});
const patient = workflow("patient", async (ctx) => {
  let sum = 0;
  ctx.on(count, () => sum);
  ctx.on(add, (by) => {
    sum += by;
    return sum;
  });
  return ctx.receive(go);
});

let t: ServerUnderTest;

beforeAll(async () => {
  t = await serverUnderTest();
  const hf = await t.connect();
  await hf.worker({ workflows: [order, patient] }).start();
});
afterAll(() => t.close());

describe.each(["grpc", "web", "connect"] as const)("through %s", (kind) => {
  test("a run is started, awaited and read", async () => {
    const service = createClient(WorkflowService, t.transport({ kind }));
    const started = await service.startWorkflow({
      workflowType: "order",
      externalId: `o-${kind}`,
      input: jsonPayload({ cents: 5 }),
    });
    expect(started).toMatchObject({ alreadyExists: false, externalId: `o-${kind}` });
    const { finished, workflow: ended } = await service.awaitWorkflow({ runId: started.runId });
    expect(finished).toBe(true);
    expect(ended).toMatchObject({
      namespace: "default",
      status: WorkflowStatus.COMPLETED,
      workflowType: "order",
      externalId: `o-${kind}`,
    });
    expect(jsonOf(ended?.output)).toEqual({ paid: 5, at: "desk" });
    expect(ended?.output?.metadata).toEqual({ encoding: "json" });
    const { workflow: same } = await service.getWorkflow({ runId: started.runId });
    expect(jsonOf(same?.input)).toEqual({ cents: 5 });
    const { workflow: byId } = await service.getWorkflowByExternalId({ externalId: `o-${kind}` });
    expect(byId?.runId).toBe(started.runId);
  });

  test("a run is sent signals, updates and queries", async () => {
    const service = createClient(WorkflowService, t.transport({ kind }));
    const { runId } = await service.startWorkflow({ workflowType: "patient" });
    const { answer } = await service.updateWorkflow({ runId, name: "add", argument: jsonPayload(4) });
    expect(jsonOf(answer)).toBe(4);
    expect(jsonOf((await service.queryWorkflow({ runId, name: "count" })).answer)).toBe(4);
    await service.signalWorkflow({ runId, name: "go", payload: jsonPayload({ by: "ann" }) });
    const { workflow: ended } = await service.awaitWorkflow({ runId });
    expect(jsonOf(ended?.output)).toEqual({ by: "ann" });
  });

  test("whoever asks for health is told", async () => {
    const health = createClient(Health, t.transport({ kind }));
    expect((await health.check({})).status).toBe(Serving.SERVING);
    const admin = createClient(AdminService, t.transport({ kind }));
    expect((await admin.getServerInfo({})).apiVersion).toBe("holdfast.v1");
  });
});

test("a call is a POST of JSON", async () => {
  const response = await fetch(`${t.server.url}/holdfast.v1.WorkflowService/StartWorkflow`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ workflowType: "order", input: { data: Buffer.from('{"cents":7}').toString("base64") } }),
  });
  expect(response.status).toBe(200);
  const started = (await response.json()) as { runId: string };
  expect(started).toEqual({ runId: expect.any(String), externalId: started.runId });
});

test("the events of a run are streamed until it has ended", async () => {
  const service = createClient(WorkflowService, t.transport());
  const { runId } = await service.startWorkflow({ workflowType: "order", input: jsonPayload({ cents: 1 }) });
  const types: string[] = [];
  for await (const { event } of service.watchWorkflow({ runId })) if (event) types.push(event.type);
  expect(types).toEqual(["run_started", "step_completed", "run_completed"]);
  const { events } = await service.getWorkflowHistory({ runId });
  expect(events.map(({ type }) => type)).toEqual(types);
});

test("pages of the server itself", async () => {
  const get = async (path: string) => {
    const response = await fetch(`${t.server.url}${path}`);
    return [response.status, await response.text()] as const;
  };
  expect(await get("/livez")).toEqual([200, "ok\n"]);
  expect(await get("/readyz")).toEqual([200, "ok\n"]);
  const [, metrics] = await get("/metrics");
  expect(metrics).toContain("holdfast_server_calls_total{");
  expect(metrics).toMatch(/^holdfast_server_connections [1-9]/m);
  expect((await get("/nothing"))[0]).toBe(404);
});
