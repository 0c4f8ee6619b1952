// What a request does not say clearly is refused, and nothing happens.
import { createClient } from "@connectrpc/connect";
import { BatchWorkflowsRequest_Action as Action, WorkflowService, WorkflowStatus } from "@holdfast/protocol";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ServerUnderTest, serverUnderTest } from "./server-under-test.ts";

let t: ServerUnderTest;
beforeAll(async () => {
  t = await serverUnderTest();
});
afterAll(() => t.close());

async function post(call: string, body: object): Promise<{ status: number; code?: string; message?: string }> {
  const headers = { "content-type": "application/json" };
  const options = { method: "POST", headers, body: JSON.stringify(body) };
  const response = await fetch(`${t.server.url}/holdfast.v1.WorkflowService/${call}`, options);
  return { status: response.status, ...((await response.json()) as object) };
}

test.each([
  ["BatchWorkflows", { action: "ACTION_TERMINATE", workflowTyp: "w1" }, '"workflowTyp"'],
  ["BatchWorkflows", { action: "ACTION_TERMINATE", all: true, dryrun: true }, '"dryrun"'],
  ["BatchWorkflows", { action: "ACTION_TERMINATE", statusFilter: "FAILED" }, 'WorkflowStatus from JSON: "FAILED"'],
  ["BatchWorkflows", { action: "ACTION_TERMINATE", statusFilter: 99 }, "status_filter"],
  ["BatchWorkflows", { action: "ACTION_TERMINATE" }, "Set it if every run of the namespace is meant"],
  ["BatchWorkflows", { action: "ACTION_TERMINATE", all: true, workflowType: "w" }, "all is set beside a filter"],
  ["StartWorkflow", { workflowType: "w", externalID: "a" }, '"externalID"'],
])("%s with %j is refused by name, and no run is touched", async (call, body, named) => {
  const namespace = "strict";
  const service = createClient(WorkflowService, t.transport());
  const { runId } = await service.startWorkflow({ namespace, workflowType: "w" });
  const before = (await service.listWorkflows({ namespace })).workflows.length;
  expect(await post(call, { namespace, ...body })).toMatchObject({
    status: 400,
    code: "invalid_argument",
    message: expect.stringContaining(named),
  });
  expect((await service.getWorkflow({ namespace, runId })).workflow?.status).toBe(WorkflowStatus.PENDING);
  expect((await service.listWorkflows({ namespace })).workflows).toHaveLength(before);
});

test("a batch takes every run of a namespace if it says so, and counts them without", async () => {
  const namespace = "whole";
  const service = createClient(WorkflowService, t.transport());
  await service.startWorkflow({ namespace, workflowType: "a" });
  await service.startWorkflow({ namespace, workflowType: "b" });
  const action = Action.TERMINATE;
  expect(await service.batchWorkflows({ namespace, action, dryRun: true })).toMatchObject({ matched: 2n, done: 0n });
  expect(await service.batchWorkflows({ namespace, action, all: true })).toMatchObject({ matched: 2n, done: 2n });
});

test.each([
  ["CancelWorkflow", { runId: "x\u0000" }, "runId"],
  ["GetWorkflowByExternalId", { externalId: "x\u0000y" }, "externalId"],
  ["StartWorkflow", { workflowType: "w", attributes: { "a\u0000": "1" } }, "attributes"],
  ["ListWorkflows", { page: { pageToken: "a\u0000" } }, "page"],
  ["ListWorkflows", { namespace: "a\u0000" }, "namespace"],
])("%s with %j is refused before the store is asked", async (call, body, field) => {
  expect(await post(call, body)).toMatchObject({
    status: 400,
    message: `${field} contains a NUL or half of a surrogate pair.`,
  });
});
