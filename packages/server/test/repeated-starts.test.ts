import { Code, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import {
  StartWorkflowRequest_IfClosed as IfClosed,
  StartWorkflowRequest_IfRunning as IfRunning,
  WorkflowService,
  WorkflowStatus,
} from "@holdfast/protocol";
import { signal, workflow } from "holdfast";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ServerUnderTest, serverUnderTest } from "./server-under-test.ts";

let charged = 0;
const charge = workflow("charge", async (ctx) => ctx.step("charge", () => ++charged));
const waits = workflow("waits", async (ctx) => ctx.receive(signal("go")));

let t: ServerUnderTest;
beforeAll(async () => {
  t = await serverUnderTest();
  const hf = await t.connect();
  await hf.worker({ workflows: [charge, waits] }).start();
});
afterAll(() => t.close());

/** Calls are made, and their answers never arrive. */
function losingAnswers() {
  const losing: Interceptor = (next) => async (request) => {
    await next(request);
    throw new ConnectError("the connection was lost", Code.Unavailable);
  };
  const interceptors = [losing];
  return createClient(
    WorkflowService,
    createConnectTransport({ baseUrl: t.server.url, httpVersion: "1.1", useBinaryFormat: false, interceptors }),
  );
}

test("a start whose answer was lost is sent again after its run has ended, and nothing is done twice", async () => {
  const service = createClient(WorkflowService, t.transport());
  const start = { workflowType: "charge", externalId: "order-1", ifClosed: IfClosed.RETURN };
  await expect(losingAnswers().startWorkflow(start)).rejects.toThrow("the connection was lost");
  const { workflow: ended } = await service.awaitWorkflow({ externalId: "order-1" });
  expect(ended?.status).toBe(WorkflowStatus.COMPLETED);
  expect(await service.startWorkflow(start)).toMatchObject({ runId: ended?.runId, alreadyExists: true });
  expect(charged).toBe(1);
});

test("what a start does about a closed run with its id is its own choice, and another run unless it says so", async () => {
  const service = createClient(WorkflowService, t.transport());
  const start = { workflowType: "charge", externalId: "order-2" };
  const { runId } = await service.startWorkflow(start);
  await service.awaitWorkflow({ runId });
  await expect(service.startWorkflow({ ...start, ifClosed: IfClosed.FAIL })).rejects.toThrow("[already_exists]");
  const second = await service.startWorkflow(start);
  expect(second).toMatchObject({ alreadyExists: false });
  await service.awaitWorkflow({ runId: second.runId });
  const third = await service.startWorkflow({ ...start, ifClosed: IfClosed.START });
  expect(third.alreadyExists).toBe(false);
  expect(new Set([runId, second.runId, third.runId]).size).toBe(3);
});

test("what a start does about an open run with its id is its own choice, and that run unless it says so", async () => {
  const service = createClient(WorkflowService, t.transport());
  const start = { workflowType: "waits", externalId: "order-3", ifClosed: IfClosed.FAIL };
  const { runId } = await service.startWorkflow(start);
  for (const ifRunning of [IfRunning.UNSPECIFIED, IfRunning.RETURN])
    expect(await service.startWorkflow({ ...start, ifRunning })).toMatchObject({ runId, alreadyExists: true });
  await expect(service.startWorkflow({ ...start, ifRunning: IfRunning.FAIL })).rejects.toThrow("[already_exists]");
  const other = await service.startWorkflow({ ...start, ifRunning: IfRunning.REPLACE });
  expect(other.alreadyExists).toBe(false);
  expect((await service.getWorkflow({ runId })).workflow?.status).toBe(WorkflowStatus.TERMINATED);
});

test("without an id there is nothing to choose, and a value that is none is refused", async () => {
  const service = createClient(WorkflowService, t.transport());
  const start = { workflowType: "waits" };
  await expect(service.startWorkflow({ ...start, ifClosed: IfClosed.RETURN })).rejects.toThrow(
    "if_closed needs an external_id",
  );
  await expect(service.startWorkflow({ ...start, ifRunning: IfRunning.FAIL })).rejects.toThrow(
    "if_running needs an external_id",
  );
  const unknown = { ...start, externalId: "order-4", ifClosed: 9 as IfClosed };
  await expect(service.startWorkflow(unknown)).rejects.toThrow("[invalid_argument]");
});
