import { createHmac } from "node:crypto";
import { createClient } from "@connectrpc/connect";
import {
  BatchWorkflowsRequest_Action as Action,
  AdminService,
  RetryWorkflowRequest_Mode as Mode,
  NamespaceService,
  StepKind,
  StepStatus,
  WorkerStatus,
  WorkflowScheduleService,
  WorkflowService,
  WorkflowStatus,
} from "@holdfast/protocol";
import { signal, workflow } from "holdfast";
import { afterAll, beforeAll, expect, test } from "vitest";
import { jsonOf, jsonPayload, type ServerUnderTest, serverUnderTest } from "./server-under-test.ts";

let broken = true;
const fragile = workflow({ name: "fragile", retry: "none" }, async (ctx) => {
  await ctx.step("first", () => 1);
  return ctx.step(
    "second",
    () => {
      if (broken) throw new Error("not today");
      return "done";
    },
    { retry: "none" },
  );
});
const paid = signal<{ order: { id: string } }>("paid");
const waits = workflow("waits", async (ctx) => ctx.receive(paid));

let t: ServerUnderTest;
beforeAll(async () => {
  t = await serverUnderTest();
  const hf = await t.connect();
  await hf.worker({ workflows: [fragile, waits], name: "w" }).start();
});
afterAll(() => t.close());

test("a failed run shows why, goes on where it failed, and is started anew if that is wanted", async () => {
  const service = createClient(WorkflowService, t.transport());
  const admin = createClient(AdminService, t.transport());
  const { runId } = await service.startWorkflow({ workflowType: "fragile", externalId: "f" });
  const { workflow: failed } = await service.awaitWorkflow({ runId });
  expect(failed).toMatchObject({
    status: WorkflowStatus.FAILED,
    error: { message: "not today", metadata: { name: "Error" } },
  });
  const { steps } = await admin.listSteps({ runId });
  expect(steps).toMatchObject([
    { stepId: `${runId}:first`, name: "first", kind: StepKind.FUNCTION, status: StepStatus.COMPLETED },
    { stepId: `${runId}:second`, status: StepStatus.FAILED, error: { message: "not today" } },
  ]);
  expect(jsonOf((await admin.getStep({ stepId: `${runId}:first` })).step?.output)).toBe(1);
  broken = false;
  expect(await service.retryWorkflow({ runId })).toMatchObject({ newRunId: runId, alreadyRunning: false });
  expect((await service.awaitWorkflow({ runId })).workflow?.status).toBe(WorkflowStatus.COMPLETED);
  const { newRunId } = await service.retryWorkflow({ runId, mode: Mode.RESTART });
  expect(newRunId).not.toBe(runId);
  expect(jsonOf((await service.awaitWorkflow({ runId: newRunId })).workflow?.output)).toBe("done");
  // A start with the id of a closed run is a new run; with that of an open one it is that run.
  const again = await service.startWorkflow({ workflowType: "fragile", externalId: "f" });
  expect(again.alreadyExists).toBe(false);
});

test("runs are listed page by page, paused, explained, canceled and terminated", async () => {
  const service = createClient(WorkflowService, t.transport());
  const started = [];
  for (const colour of ["red", "blue", "blue"])
    started.push(
      (await service.startWorkflow({ workflowType: "waits", attributes: { colour: JSON.stringify(colour) } })).runId,
    );
  const [first = "", second = "", third = ""] = started;
  const filter = { workflowType: "waits", attributes: { colour: '"blue"' } };
  const page = await service.listWorkflows({ ...filter, page: { pageSize: 1, includeTotalCount: true } });
  expect(page).toMatchObject({ workflows: [{ runId: third }], page: { hasMore: true, totalCount: 2n } });
  const next = await service.listWorkflows({
    ...filter,
    page: { pageSize: 1, pageToken: page.page?.nextPageToken ?? "" },
  });
  expect(next).toMatchObject({ workflows: [{ runId: second }], page: { hasMore: false, nextPageToken: "" } });

  await service.pauseWorkflow({ runId: first, reason: "lunch" });
  await expect
    .poll(async () => (await service.getWorkflow({ runId: first })).workflow)
    .toMatchObject({ status: WorkflowStatus.PARKED, paused: true });
  await service.resumeWorkflow({ runId: first });
  await expect.poll(async () => (await service.explainWorkflow({ runId: first })).waitingFor).toEqual(["receive:paid"]);
  expect((await service.explainWorkflow({ runId: first })).reason).toContain("paid");
  expect(await service.cancelWorkflow({ runId: first })).toMatchObject({ cancelled: true });
  expect((await service.awaitWorkflow({ runId: first })).workflow?.status).toBe(WorkflowStatus.CANCELLED);
  expect(await service.cancelWorkflow({ runId: first })).toMatchObject({ cancelled: false });
  expect(await service.terminateWorkflow({ runId: second, reason: "no" })).toMatchObject({
    terminated: true,
    status: WorkflowStatus.TERMINATED,
  });
  expect(
    await service.batchWorkflows({ action: Action.TERMINATE, ...filter, statusFilter: WorkflowStatus.WAITING }),
  ).toMatchObject({ matched: 1n, done: 1n });
  expect((await service.getWorkflow({ runId: third })).workflow?.status).toBe(WorkflowStatus.TERMINATED);
});

test("a run that is not there is not found, whatever its id looks like", async () => {
  const service = createClient(WorkflowService, t.transport());
  await expect(service.getWorkflow({ runId: "nonsense" })).rejects.toThrow("[not_found]");
  await expect(service.getWorkflow({ runId: "01900000-0000-7000-8000-000000000000" })).rejects.toThrow("[not_found]");
  await expect(service.getWorkflow({})).rejects.toThrow("[invalid_argument] run_id is empty.");
  await expect(service.startWorkflow({})).rejects.toThrow("[invalid_argument] workflow_type is empty.");
});

test("a schedule is created, changed, paused, triggered and deleted", async () => {
  const schedules = createClient(WorkflowScheduleService, t.transport());
  const { schedule } = await schedules.createWorkflowSchedule({
    scheduleId: "nightly",
    workflowType: "waits",
    cronExpr: "0 3 * * *; 0 4 * * *",
    input: jsonPayload({ a: 1 }),
    maxCatchup: 5,
  });
  expect(schedule).toMatchObject({
    scheduleId: "nightly",
    cronExpr: "0 3 * * *; 0 4 * * *",
    enabled: true,
    status: WorkflowStatus.SCHEDULED,
    maxCatchup: 5,
    totalRuns: 0n,
  });
  expect(jsonOf(schedule?.input)).toEqual({ a: 1 });
  await expect(
    schedules.createWorkflowSchedule({ scheduleId: "nightly", workflowType: "waits", cronExpr: "0 3 * * *" }),
  ).rejects.toThrow("[already_exists]");
  await expect(schedules.createWorkflowSchedule({ workflowType: "waits", cronExpr: "61 * * * *" })).rejects.toThrow(
    "[invalid_argument]",
  );
  const updated = await schedules.updateWorkflowSchedule({
    scheduleId: "nightly",
    cronExpr: "0 5 * * *",
    enabled: false,
  });
  expect(updated.schedule).toMatchObject({
    cronExpr: "0 5 * * *",
    enabled: false,
    status: WorkflowStatus.PAUSED,
    maxCatchup: 5,
  });
  const millis = ({ seconds = 0n, nanos = 0 } = {}): number => Number(seconds) * 1_000 + nanos / 1e6;
  const { createdAt, updatedAt } = updated.schedule ?? {};
  expect(millis(schedule?.updatedAt)).toBe(millis(schedule?.createdAt));
  expect(millis(updatedAt)).toBeGreaterThan(millis(createdAt));
  expect((await schedules.resumeWorkflowSchedule({ scheduleId: "nightly" })).schedule?.enabled).toBe(true);
  expect((await schedules.pauseWorkflowSchedule({ scheduleId: "nightly" })).schedule?.enabled).toBe(false);
  const { runId } = await schedules.triggerWorkflowSchedule({ scheduleId: "nightly" });
  const { runs } = await schedules.listScheduleRuns({ scheduleId: "nightly" });
  expect(runs).toMatchObject([{ runId, scheduleId: "nightly" }]);
  expect((await schedules.listWorkflowSchedules({})).schedules).toMatchObject([
    { scheduleId: "nightly", maxCatchup: 5, cronExpr: "0 5 * * *" },
  ]);
  const hf = await t.connect();
  await hf.schedules.create({ id: "once", workflow: "waits", cron: "0 3 * * *", until: new Date(0) });
  const { schedule: once } = await schedules.getWorkflowSchedule({ scheduleId: "once" });
  expect(once).toMatchObject({ enabled: true, status: WorkflowStatus.COMPLETED });
  expect((await schedules.deleteWorkflowSchedule({ scheduleId: "nightly" })).deleted).toBe(true);
  await expect(schedules.getWorkflowSchedule({ scheduleId: "nightly" })).rejects.toThrow("[not_found]");
});

test("operators see workers, types, queues and numbers", async () => {
  const admin = createClient(AdminService, t.transport());
  const { workers } = await admin.listWorkers({ statusFilter: WorkerStatus.ONLINE });
  expect(workers).toMatchObject([{ name: "w", workflowTypes: ["fragile", "waits"], taskQueue: "default" }]);
  expect((await admin.getWorker({ workerId: workers[0]?.workerId ?? "" })).worker?.name).toBe("w");
  expect(await admin.getServerInfo({})).toMatchObject({
    version: "0.1.0",
    minSdkVersion: "0.0.0",
    apiVersion: "holdfast.v1",
  });
  const stats = await admin.getStats({});
  expect(stats.totalWorkflows).toBeGreaterThan(0n);
  expect(stats.workflowsByStatus["COMPLETED"]).toBe(stats.completedWorkflows);
  expect((await admin.listWorkflowTypes({})).workflowTypes.map((one) => one.workflowType)).toEqual([
    "fragile",
    "waits",
  ]);
  expect(await admin.getQueueDepth({})).toMatchObject({ pendingCount: 0n });
  await expect(admin.getWorker({ workerId: "nobody" })).rejects.toThrow("[not_found]");
});

test("the trace context of a call reaches the run that it starts", async () => {
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const service = createClient(WorkflowService, t.transport({ headers: { traceparent } }));
  const { runId } = await service.startWorkflow({ workflowType: "waits" });
  const hf = await t.connect();
  const [started] = await hf.get({ runId }).history();
  expect(JSON.stringify(started)).toContain("0af7651916cd43dd8448eb211c80319c");
});

test("a webhook that is signed starts a run once, or sends it a signal", async () => {
  const secret = "s".repeat(32);
  const namespaces = createClient(NamespaceService, t.transport());
  await namespaces.createNamespace({ namespace: "default" }).catch(() => {});
  const { namespace } = await namespaces.updateNamespace({
    namespace: "default",
    webhooks: {
      order: { workflowType: "waits", secret },
      payment: { signal: "paid", externalIdPath: "order.id", secret },
    },
  });
  expect(JSON.stringify(namespace?.webhooks)).not.toContain(secret);
  const deliver = async (
    name: string,
    body: string,
    { delivery = "d-1", signature = `sha256=${createHmac("sha256", secret).update(body).digest("hex")}` } = {},
  ) => {
    const headers = { "x-holdfast-signature": signature, "x-holdfast-delivery": delivery };
    const response = await fetch(`${t.server.url}/hooks/default/${name}`, { method: "POST", body, headers });
    return { status: response.status, ...((await response.json()) as { runId?: string }) };
  };
  const first = await deliver("order", '{"n":1}');
  expect(first).toEqual({ status: 200, runId: expect.any(String) });
  expect(await deliver("order", '{"n":1}')).toEqual(first);
  expect((await deliver("order", '{"n":1}', { delivery: "d-2" })).runId).not.toBe(first.runId);
  expect(await deliver("order", '{"n":1}', { signature: "sha256=00" })).toMatchObject({ status: 401 });
  expect(await deliver("nothing", "{}")).toMatchObject({ status: 401 });
  expect(await deliver("order", "nonsense")).toMatchObject({ status: 400 });

  const service = createClient(WorkflowService, t.transport());
  const { runId } = await service.startWorkflow({ workflowType: "waits", externalId: "o-7" });
  const body = '{"order":{"id":"o-7"}}';
  expect(await deliver("payment", body)).toEqual({ status: 200, runId });
  expect(jsonOf((await service.awaitWorkflow({ runId })).workflow?.output)).toEqual({ order: { id: "o-7" } });
  expect(await deliver("payment", '{"order":{}}')).toMatchObject({ status: 400 });
});

test("a poll that comes while the server drains is answered after a pause", async () => {
  const other = await serverUnderTest({ balancerMs: 600 });
  const service = createClient(WorkflowService, other.transport());
  const { runId } = await service.startWorkflow({ workflowType: "unknown" });
  const closed = other.close();
  let polls = 0;
  // Until it takes no calls any more.
  for (let open = true; open; polls += 1)
    open = await service.awaitWorkflow({ runId }).then(
      () => true,
      () => false,
    );
  await closed;
  expect(polls).toBeLessThan(6);
});

test("a server that closes answers its polls first, and is not ready", async () => {
  const other = await serverUnderTest();
  const service = createClient(WorkflowService, other.transport());
  const { runId } = await service.startWorkflow({ workflowType: "unknown" });
  const waiting = service.awaitWorkflow({ runId });
  await service.getWorkflow({ runId });
  const closed = other.close();
  expect((await waiting).finished).toBe(false);
  await closed;
  await expect(fetch(`${other.server.url}/livez`)).rejects.toThrow();
});
