// What a request does not say clearly is refused, and nothing happens.
import { brotliCompressSync, gzipSync } from "node:zlib";
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

test.each([
  ["GET", "WorkflowService/ListWorkflows", undefined, 405, "Calls are made with POST, not with GET."],
  ["PUT", "WorkflowService/ListWorkflows", "application/json", 405, "Calls are made with POST, not with PUT."],
  [
    "POST",
    "WorkflowService/ListWorkflows",
    undefined,
    415,
    "The request has no content-type. This call takes application/json",
  ],
  ["POST", "WorkflowService/ListWorkflows", "text/plain", 415, 'the content-type "text/plain"'],
  ["POST", "WorkflowService/WatchWorkflow", "application/json", 415, "application/connect+json"],
  ["POST", "WorkerService/Attach", "application/connect+json", 505, "which needs HTTP/2"],
])(
  "%s of %s with the content-type %s is answered with %i, and with words",
  async (method, call, type, status, words) => {
    const headers = type === undefined ? {} : { "content-type": type };
    const body = method === "GET" ? {} : { body: Buffer.from("{}") };
    const response = await fetch(`${t.server.url}/holdfast.v1.${call}`, { method, headers, ...body });
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ message: expect.stringContaining(words) });
    if (status === 405) expect(response.headers.get("allow")).toBe("POST");
  },
);

test("an input that is nested too deeply is refused: the run that gets it could not pass it on", async () => {
  const start = (levels: number) => {
    const data = Buffer.from("[".repeat(levels) + "]".repeat(levels)).toString("base64");
    return post("StartWorkflow", { workflowType: "w", input: { data } });
  };
  expect(await start(500)).toMatchObject({ status: 200 });
  expect(await start(501)).toMatchObject({ status: 400, message: "The input is nested more than 500 levels deep." });
  expect(await start(700_000)).toMatchObject({
    status: 400,
    message: "The input is nested more than 500 levels deep.",
  });
  const flat = Buffer.from(JSON.stringify(`${"[{".repeat(900)}"\\`)).toString("base64");
  expect(await post("StartWorkflow", { workflowType: "w", input: { data: flat } })).toMatchObject({ status: 200 });
});

test("messages name calls and fields, not what the library calls them", async () => {
  const namespace = "words";
  const ask = (call: string, body: object) => post(call, { namespace, ...body });
  const { runId } = (await ask("StartWorkflow", { workflowType: "w" })) as unknown as { runId: string };
  expect(await ask("StartWorkflow", { workflowType: "w", priority: 99_999 })).toMatchObject({ status: 400 });
  const said = [
    await ask("ListWorkflows", { page: { pageToken: "nonsense" } }),
    await ask("ForkWorkflow", { runId, before: "9" }),
    await ask("RetryWorkflow", { runId: "nonsense" }),
    await ask("ExplainWorkflow", { runId }),
    await ask("PauseWorkflow", { runId }),
    await ask("ExplainWorkflow", { runId }),
  ];
  expect(said[0]?.message).toContain("page_token was not returned with an earlier page");
  expect((said.at(-1) as unknown as { reason: string }).reason).toContain("ResumeWorkflow lets it continue");
  for (const one of said) expect(JSON.stringify(one)).not.toMatch(/\b(hf|handle)\.\w|\bthe cursor\b/);
});

test.each([
  ["br", brotliCompressSync],
  ["gzip", gzipSync],
])("a body that is said to be %s, and cannot be decompressed, is refused", async (encoding, compress) => {
  const whole = compress(JSON.stringify({ namespace: "default" }));
  const ask = async (body: Uint8Array) => {
    const headers = { "content-type": "application/json", "content-encoding": encoding };
    const path = "/holdfast.v1.WorkflowService/ListWorkflows";
    return (await fetch(t.server.url + path, { method: "POST", headers, body })).status;
  };
  expect(await ask(whole)).toBe(200);
  expect(await ask(whole.subarray(0, -3))).toBe(400);
  expect(await ask(Buffer.from("nonsense"))).toBe(400);
});
