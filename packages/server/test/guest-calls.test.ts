// What guests do that they should not, or that goes wrong under them.
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { AdminService } from "@holdfast/protocol";
import type { Client } from "holdfast";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { execute, guestClient, type WorkerClient } from "./guest-client.ts";
import { jsonPayload, type ServerUnderTest, serverUnderTest } from "./server-under-test.ts";

let t: ServerUnderTest;
let hf: Client;
let client: WorkerClient;
let workerId: string;
let names = 0;

beforeAll(async () => {
  t = await serverUnderTest();
  hf = await t.connect();
  client = guestClient(t.transport());
});
afterAll(() => t.close());

async function guest(): Promise<string> {
  names += 1;
  const workflow = `called-${names}`;
  ({ workerId } = await client.register({ workflowTypes: [workflow] }));
  return workflow;
}

const poll = () => client.pollTask({ workerId });

const refusal = (promise: Promise<unknown>): Promise<ConnectError> =>
  promise.then(
    () => {
      throw new Error("it was not refused");
    },
    (error: unknown) => ConnectError.from(error),
  );

describe("a guest that is told to stop while another step of the run is open", () => {
  test("gets the run back when the retry is due", async () => {
    const run = await hf.start(await guest(), null);
    const { taskToken } = await poll();
    const retryPolicy = { initialIntervalMs: 20n };
    await client.beginStep({ taskToken, stepName: "flaky", retryPolicy });
    await client.beginStep({ taskToken, stepName: "open" });
    const failed = await client.failStep({ taskToken, stepId: "flaky", error: { message: "no" } });
    expect(failed.scheduledRetry).toBe(true);
    const again = await poll();
    expect(again.runId).toBe(run.runId);
    expect((await refusal(client.completeStep({ taskToken, stepId: "open" }))).code).toBe(Code.Aborted);
    const keys: string[] = [];
    const attempts: unknown[] = [];
    const end = await execute(client, again, async (ctx) => {
      attempts.push(await ctx.step("flaky", ({ attempt }) => attempt, { initialIntervalMs: 20n }));
      await ctx.step("open", ({ key }) => keys.push(key));
      return "both";
    });
    expect(end).toBe("completed");
    expect(attempts).toEqual([2]);
    expect(keys).toEqual([`${run.runId}:open`]);
    expect(await run.result()).toBe("both");
  });

  test("gets the run back when the sleep is over", async () => {
    const run = await hf.start(await guest(), null);
    const { taskToken } = await poll();
    await client.beginStep({ taskToken, stepName: "open" });
    expect(await client.sleep({ taskToken, stepId: "nap", duration: { nanos: 30_000_000 } })).toMatchObject({
      elapsed: false,
    });
    const again = await poll();
    expect(again.runId).toBe(run.runId);
    await client.completeWorkflow({ taskToken: again.taskToken });
    expect((await run.describe()).status).toBe("completed");
  });

  test("may still report on the open step, and the run waits for its time", async () => {
    const run = await hf.start(await guest(), null);
    const { taskToken } = await poll();
    const retryPolicy = { initialIntervalMs: 300n };
    await client.beginStep({ taskToken, stepName: "flaky", retryPolicy });
    await client.beginStep({ taskToken, stepName: "open" });
    await client.failStep({ taskToken, stepId: "flaky", error: { message: "no" } });
    await client.completeStep({ taskToken, stepId: "open", output: jsonPayload("kept") });
    const again = await poll();
    expect(again.steps.map(({ name }) => name)).toContain("open");
    await client.completeWorkflow({ taskToken: again.taskToken });
    expect((await run.describe()).status).toBe("completed");
  });

  test("keeps the run if it asks for the step again itself", async () => {
    await hf.start(await guest(), null);
    const { taskToken } = await poll();
    const retryPolicy = { initialIntervalMs: 500n };
    await client.beginStep({ taskToken, stepName: "flaky", retryPolicy });
    await client.beginStep({ taskToken, stepName: "open" });
    await client.failStep({ taskToken, stepId: "flaky", error: { message: "no" } });
    expect(await client.beginStep({ taskToken, stepName: "flaky", retryPolicy })).toMatchObject({ attempt: 2 });
    await client.completeStep({ taskToken, stepId: "flaky" });
    await client.completeStep({ taskToken, stepId: "open" });
    await client.completeWorkflow({ taskToken });
  });
});

describe("a guest that completes a run over a step that it has begun", () => {
  const output = jsonPayload("done");

  test("is refused, and may go on with both", async () => {
    const run = await hf.start(await guest(), null);
    const { taskToken } = await poll();
    await client.beginStep({ taskToken, stepName: "mail" });
    const refused = await refusal(client.completeWorkflow({ taskToken, output }));
    expect(refused.code).toBe(Code.FailedPrecondition);
    expect(refused.rawMessage).toContain('step "mail" has begun and not ended');
    await client.completeStep({ taskToken, stepId: "mail", output: jsonPayload("sent") });
    await client.completeWorkflow({ taskToken, output });
    expect(await run.result()).toBe("done");
    expect((await run.steps()).map(({ op, status }) => `${op} ${status}`)).toEqual(["mail completed"]);
  });

  test("may say that the step does not matter, and its result is refused from then on", async () => {
    const run = await hf.start(await guest(), null);
    const { taskToken } = await poll();
    await client.beginStep({ taskToken, stepName: "slow mirror" });
    await client.completeWorkflow({ taskToken, output, dropOpenSteps: true });
    expect(await run.result()).toBe("done");
    expect((await refusal(client.completeStep({ taskToken, stepId: "slow mirror" }))).code).toBe(Code.Aborted);
  });

  test("is refused while the step waits for its retry, and not because of what another guest has begun", async () => {
    const run = await hf.start(await guest(), null);
    const { taskToken } = await poll();
    await client.beginStep({ taskToken, stepName: "flaky", retryPolicy: { initialIntervalMs: 1_000n } });
    await client.beginStep({ taskToken, stepName: "other" });
    await client.failStep({ taskToken, stepId: "flaky", error: { message: "no" } });
    expect((await refusal(client.completeWorkflow({ taskToken, output }))).code).toBe(Code.FailedPrecondition);
    // The next guest has other code.
    const again = await poll();
    await client.completeWorkflow({ taskToken: again.taskToken, output });
    expect(await run.result()).toBe("done");
  });

  test("drops the step if the run fails", async () => {
    const run = await hf.start(await guest(), null);
    const { taskToken } = await poll();
    await client.beginStep({ taskToken, stepName: "mail" });
    await client.failWorkflow({ taskToken, error: { message: "no stock" } });
    await expect(run.result()).rejects.toThrow("no stock");
  });
});

test("a value that nobody can decode hides nothing else of its run", async () => {
  const run = await hf.start(await guest(), { n: 1 });
  const { taskToken } = await poll();
  const broken = { data: new Uint8Array([0xc1, 0xff]), metadata: { encoding: "msgpack" } };
  await client.beginStep({ taskToken, stepName: "good" });
  await client.completeStep({ taskToken, stepId: "good", output: jsonPayload("fine") });
  await client.beginStep({ taskToken, stepName: "bad" });
  await client.completeStep({ taskToken, stepId: "bad", output: broken });
  await client.completeWorkflow({ taskToken, output: broken });
  const steps = await run.steps();
  expect(steps.map(({ op, output }) => [op, output])).toEqual([
    ["good", "fine"],
    ["bad", undefined],
  ]);
  expect(steps[1]?.unreadable).toMatch(/MessagePack/);
  const events = (await run.history()).filter(({ type }) => type === "step_completed");
  expect(events.map(({ value }) => value)).toEqual(["fine", undefined]);
  expect(events[1]?.unreadable).toMatch(/MessagePack/);
  await expect(run.result()).rejects.toMatchObject({ code: "codec_failed" });
});

test("a heartbeat at another server names no run that is still held as lost", async () => {
  const other = await serverUnderTest({ url: t.store });
  try {
    const run = await hf.start(await guest(), null);
    const { taskToken } = await poll();
    await client.beginStep({ taskToken, stepName: "a" });
    const beat = { workerId, listsTasks: true, taskTokens: [taskToken] };
    const elsewhere = guestClient(other.transport());
    expect(await elsewhere.heartbeat(beat)).toMatchObject({ accepted: true, cancelledTaskTokens: [] });
    await client.completeStep({ taskToken, stepId: "a" });
    await run.cancel();
    await expect(run.result()).rejects.toMatchObject({ code: "run_canceled" });
    expect((await elsewhere.heartbeat(beat)).cancelledTaskTokens).toEqual([taskToken]);
  } finally {
    await other.close();
  }
});

test.each([
  ["no name", { stepName: "" }],
  ["a name that is reserved", { stepName: "b#2" }],
  ["a kind that guests have not", { stepName: "b", kind: 3 }],
  ["a negative timeout", { stepName: "b", timeout: { seconds: -1n } }],
  ["a negative number of attempts", { stepName: "b", retryPolicy: { maximumAttempts: -1 } }],
  ["the name of a sleep", { stepName: "nap" }],
  ["the run of somebody else", { stepName: "b", runId: "01900000-0000-7000-8000-000000000000" }],
])("a next step with %s is refused before the result is recorded", async (_, begin) => {
  const run = await hf.start(await guest(), null);
  const { taskToken } = await poll();
  expect(await client.sleep({ taskToken, stepId: "nap" })).toMatchObject({ elapsed: true });
  await client.beginStep({ taskToken, stepName: "a" });
  const done = { taskToken, stepId: "a", output: jsonPayload(1) };
  expect((await refusal(client.completeStep({ ...done, begin }))).code).toBe(Code.InvalidArgument);
  expect((await run.history()).some(({ type }) => type === "step_completed")).toBe(false);
  const { begun } = await client.completeStep({ ...done, begin: { stepName: "b" } });
  expect(begun?.shouldExecute).toBe(true);
  await client.completeWorkflow({ taskToken, dropOpenSteps: true });
});

test("a limit of its own that the server would not keep is refused", async () => {
  const limited = await refusal(client.register({ workflowTypes: ["w"], queueConcurrencyLimit: 3 }));
  expect(limited.code).toBe(Code.InvalidArgument);
  expect(limited.rawMessage).toContain("queue_concurrency_limit");
  const types = [{ workflowType: "w", maxConcurrent: 1 }];
  const each = await refusal(client.register({ workflowTypes: ["w"], workflowTypeConcurrency: types }));
  expect(each.rawMessage).toContain("workflow_type_concurrency");
});

test("a result that is too large is refused in one way, and its step stays open", async () => {
  const run = await hf.start(await guest(), null);
  const { taskToken } = await poll();
  await client.beginStep({ taskToken, stepName: "a" });
  for (const bytes of [2 * 1024 * 1024, 7 * 1024 * 1024]) {
    const output = jsonPayload("x".repeat(bytes));
    for (const call of [
      client.completeStep({ taskToken, stepId: "a", output }),
      client.completeWorkflow({ taskToken, output }),
      client.completeTask({ taskToken: "none", output }),
      client.heartbeatTask({ taskToken: "none", details: output }),
    ])
      expect((await refusal(call)).code).toBe(Code.ResourceExhausted);
  }
  const refused = await refusal(
    client.completeStep({ taskToken, stepId: "a", output: jsonPayload("x".repeat(2e7 / 8)) }),
  );
  expect(refused.rawMessage).toMatch(/2500002 bytes.*2097152/);
  await client.completeStep({ taskToken, stepId: "a", output: jsonPayload("small") });
  await client.completeWorkflow({ taskToken, output: jsonPayload("small") });
  expect(await run.result()).toBe("small");
});

test("a name of ten thousand characters is not echoed", async () => {
  await hf.start(await guest(), null);
  const { taskToken } = await poll();
  const long = "n".repeat(10_000);
  const admin = createClient(AdminService, t.transport());
  for (const call of [
    client.beginStep({ taskToken, stepName: long }),
    client.completeStep({ taskToken, stepId: long }),
    client.pollTask({ workerId: long }),
    admin.getStep({ stepId: long }),
  ]) {
    const { rawMessage, details } = await refusal(call);
    expect(rawMessage.length).toBeLessThan(1_100);
    const bytes = details.map((detail) => ("value" in detail ? (detail.value as Uint8Array).length : 0));
    expect(Math.max(0, ...bytes)).toBeLessThan(4_000);
  }
  await client.completeWorkflow({ taskToken });
});
