// Runs whose code is elsewhere: what a guest asks for is recorded, and nothing that was recorded is done again.
import { Code, ConnectError } from "@connectrpc/connect";
import { TaskKind, WorkflowStatus } from "@holdfast/protocol";
import { type Client, signal } from "holdfast";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { execute, type GuestCode, guestClient, type WorkerClient } from "./guest-client.ts";
import { jsonOf, jsonPayload, type ServerUnderTest, serverUnderTest } from "./server-under-test.ts";

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

/** A worker for a workflow of its own. */
async function guest(options: object = {}): Promise<string> {
  names += 1;
  const workflow = `guest-${names}`;
  ({ workerId } = await client.register({ taskQueue: "default", workflowTypes: [workflow], ...options }));
  return workflow;
}

const poll = () => client.pollTask({ workerId });

async function runAll(code: GuestCode): Promise<string[]> {
  const ends: string[] = [];
  for (;;) {
    const task = await poll();
    if (task.runId === "") throw new Error("nothing came");
    ends.push(await execute(client, task, code));
    if (!["sleep", "retry"].includes(ends.at(-1) as string)) return ends;
  }
}

const refusal = (promise: Promise<unknown>): Promise<ConnectError> =>
  promise.then(
    () => {
      throw new Error("it was not refused");
    },
    (error: unknown) => ConnectError.from(error),
  );

describe("a run of a guest", () => {
  test("goes step by step, and its result is that of the run", async () => {
    const workflow = await guest();
    const polled = poll();
    const run = await hf.start(workflow, { n: 2 });
    const task = await polled;
    expect(task).toMatchObject({ kind: TaskKind.WORKFLOW, workflowType: workflow, runId: run.runId, version: "1" });
    expect(jsonOf(task.input)).toEqual({ n: 2 });
    const keys: string[] = [];
    const end = await execute(client, task, async (ctx, input) => {
      const { n } = input as { n: number };
      const double = await ctx.step("double", ({ key }) => {
        keys.push(key);
        return n * 2;
      });
      return ctx.step("add", () => (double as number) + 1);
    });
    expect(end).toBe("completed");
    expect(keys).toEqual([`${run.runId}:double`]);
    expect(await run.result()).toBe(5);
    const steps = (await run.history()).filter(({ type }) => type === "step_completed");
    expect(steps.map(({ op }) => op)).toEqual(["double", "add"]);
  });

  test("what was recorded is not executed again, in whatever order it is asked for", async () => {
    const workflow = await guest();
    const run = await hf.start(workflow, null);
    const first = await poll();
    await execute(client, first, async (ctx) => {
      await ctx.step("a", () => "A");
      await ctx.step("b", () => "B");
      await ctx.sleep("nap", 2_000);
    });
    const second = await poll();
    expect(second.steps.map(({ name }) => name)).toEqual(expect.arrayContaining(["a", "b"]));
    expect(second.taskToken).not.toBe(first.taskToken);
    const { taskToken } = second;
    for (const [stepName, output] of [
      ["b", "B"],
      ["a", "A"],
    ]) {
      const begun = await client.beginStep({ taskToken, stepName: stepName as string });
      expect(begun.shouldExecute).toBe(false);
      expect(jsonOf(begun.cachedOutput)).toBe(output);
    }
    expect(await client.sleep({ taskToken, stepId: "nap" })).toMatchObject({ elapsed: true });
    const old = await refusal(client.beginStep({ taskToken: first.taskToken, stepName: "c" }));
    expect(old.code).toBe(Code.Aborted);
    await client.completeWorkflow({ taskToken });
    expect((await run.describe()).status).toBe("completed");
  });

  test("a step is retried as its policy says, and its number of attempts survives", async () => {
    const workflow = await guest();
    const run = await hf.start(workflow, null);
    const attempts: number[] = [];
    const ends = await runAll((ctx) =>
      ctx.step(
        "flaky",
        ({ attempt }) => {
          attempts.push(attempt);
          if (attempt < 3) throw new Error(`no ${attempt}`);
          return "yes";
        },
        { maximumAttempts: 3, initialIntervalMs: 5n },
      ),
    );
    expect(ends).toEqual(["retry", "retry", "completed"]);
    expect(attempts).toEqual([1, 2, 3]);
    expect(await run.result()).toBe("yes");
  });

  test("a step that fails for good is told again, and the run can be retried there", async () => {
    const workflow = await guest();
    const run = await hf.start(workflow, null);
    let broken = true;
    const code: GuestCode = async (ctx) => {
      await ctx.step("before", () => 1);
      return ctx.step(
        "pay",
        () => {
          if (broken) throw new Error("declined");
          return "paid";
        },
        { maximumAttempts: 1 },
      );
    };
    expect(await runAll(code)).toEqual(["failed"]);
    await expect(run.result()).rejects.toMatchObject({ code: "run_failed", cause: { message: "declined" } });
    broken = false;
    await run.retry();
    expect(await runAll(code)).toEqual(["completed"]);
    expect(await run.result()).toBe("paid");
    const done = (await run.history()).filter(({ type }) => type === "step_completed").map(({ op }) => op);
    expect(done).toEqual(["before", "pay"]);
  });

  test("errors that the policy names are not retried", async () => {
    const workflow = await guest();
    await hf.start(workflow, null);
    const { taskToken } = await poll();
    const retryPolicy = { maximumAttempts: 5, nonRetryableErrors: ["Card"] };
    const { stepId } = await client.beginStep({ taskToken, stepName: "pay", retryPolicy });
    const error = { message: "declined", metadata: { name: "CardError" } };
    expect(await client.failStep({ taskToken, stepId, error })).toMatchObject({ scheduledRetry: false });
    const again = await client.beginStep({ taskToken, stepName: "pay" });
    expect(again).toMatchObject({ shouldExecute: false, cachedError: { message: "declined" } });
    const { status } = await client.failWorkflow({ taskToken, error });
    expect(status).toBe(WorkflowStatus.FAILED);
  });

  test("calls that are repeated get the first answer", async () => {
    const workflow = await guest();
    const run = await hf.start(workflow, null);
    const { taskToken } = await poll();
    const asked = { taskToken, stepName: "once" };
    const [first, second] = await Promise.all([client.beginStep(asked), client.beginStep(asked)]);
    expect(second).toEqual(first);
    const done = { taskToken, stepId: first.stepId, attempt: 1 };
    const completed = await client.completeStep({ ...done, output: jsonPayload("first") });
    const repeated = await client.completeStep({ ...done, output: jsonPayload("second") });
    expect(jsonOf(completed.step?.output)).toBe("first");
    expect(repeated).toEqual(completed);
    const end = { taskToken, output: jsonPayload("end") };
    expect(await client.completeWorkflow(end)).toMatchObject({ status: WorkflowStatus.COMPLETED });
    expect(await client.completeWorkflow(end)).toMatchObject({ status: WorkflowStatus.COMPLETED });
    expect(await run.result()).toBe("end");
    expect((await run.history()).filter(({ type }) => type === "step_completed")).toHaveLength(1);
  });

  test("a step and the next one share a round trip", async () => {
    const workflow = await guest();
    const run = await hf.start(workflow, null);
    const { taskToken } = await poll();
    const { stepId } = await client.beginStep({ taskToken, stepName: "a" });
    const { begun } = await client.completeStep({
      taskToken,
      stepId,
      output: jsonPayload(1),
      begin: { stepName: "b" },
    });
    expect(begun).toMatchObject({ shouldExecute: true, attempt: 1, stepId: `${run.runId}:b` });
    await client.completeStep({ taskToken, stepId: "b", output: jsonPayload(2) });
    await client.completeWorkflow({ taskToken });
    expect((await run.describe()).status).toBe("completed");
  });

  test("steps run side by side", async () => {
    const workflow = await guest();
    const run = await hf.start(workflow, null);
    const { taskToken } = await poll();
    const begun = await Promise.all(["x", "y", "z"].map((stepName) => client.beginStep({ taskToken, stepName })));
    expect(begun.every(({ shouldExecute }) => shouldExecute)).toBe(true);
    await Promise.all(begun.map(({ stepId }, n) => client.completeStep({ taskToken, stepId, output: jsonPayload(n) })));
    await client.completeWorkflow({ taskToken, output: jsonPayload("all") });
    expect(await run.result()).toBe("all");
  });

  test("is canceled at once, and its guest is told to drop it", async () => {
    const workflow = await guest();
    const run = await hf.start(workflow, null);
    const { taskToken } = await poll();
    const { stepId } = await client.beginStep({ taskToken, stepName: "long" });
    await run.cancel();
    await expect(run.result()).rejects.toMatchObject({ code: "run_canceled" });
    const late = await refusal(client.completeStep({ taskToken, stepId, output: jsonPayload(1) }));
    expect(late.code).toBe(Code.Aborted);
    const beat = await client.heartbeat({ workerId, listsTasks: true, taskTokens: [taskToken] });
    expect(beat.cancelledTaskTokens).toEqual([taskToken]);
  });

  test("times out as a whole", async () => {
    const workflow = await guest();
    const run = await hf.start(workflow, null, { timeout: "1s" });
    const { taskToken } = await poll();
    await client.beginStep({ taskToken, stepName: "long" });
    await expect(run.result()).rejects.toMatchObject({ code: "run_timed_out" });
    expect((await refusal(client.beginStep({ taskToken, stepName: "more" }))).code).toBe(Code.Aborted);
    expect(await client.completeWorkflow({ taskToken })).toMatchObject({ status: WorkflowStatus.TIMED_OUT });
  });

  test("an attempt that takes too long has failed, and the run comes back", async () => {
    const workflow = await guest();
    const run = await hf.start(workflow, null);
    const { taskToken } = await poll();
    const asked = { stepName: "slow", timeout: { nanos: 20_000_000 }, retryPolicy: { initialIntervalMs: 1n } };
    await client.beginStep({ taskToken, ...asked });
    const second = await poll();
    expect(second.runId).toBe(run.runId);
    expect((await refusal(client.completeStep({ taskToken, stepId: "slow" }))).code).toBe(Code.Aborted);
    const begun = await client.beginStep({ taskToken: second.taskToken, stepName: "slow" });
    expect(begun).toMatchObject({ shouldExecute: true, attempt: 2 });
    await client.completeStep({ taskToken: second.taskToken, stepId: "slow" });
    await client.completeWorkflow({ taskToken: second.taskToken });
    expect((await run.describe()).status).toBe("completed");
  });

  test("is paused between its steps, and comes back when it is resumed", async () => {
    const workflow = await guest();
    const run = await hf.start(workflow, null);
    const { taskToken } = await poll();
    const { stepId } = await client.beginStep({ taskToken, stepName: "a" });
    await run.pause();
    await client.completeStep({ taskToken, stepId, output: jsonPayload("A") });
    const late = await refusal(client.beginStep({ taskToken, stepName: "b" }));
    expect(late.code).toBe(Code.Aborted);
    expect((await run.describe()).status).toBe("parked");
    const polled = poll();
    await run.resume();
    const again = await polled;
    expect(await execute(client, again, (ctx) => ctx.step("a", () => "again"))).toBe("completed");
    expect(await run.result()).toBe("A");
  });

  test("a signal that nobody receives keeps nothing from ending", async () => {
    const workflow = await guest();
    const run = await hf.start(workflow, null);
    const { taskToken } = await poll();
    await run.signal(signal<number>("hello"), 1);
    await client.beginStep({ taskToken, stepName: "a" });
    await client.completeStep({ taskToken, stepId: "a" });
    expect(await client.completeWorkflow({ taskToken })).toMatchObject({ status: WorkflowStatus.COMPLETED });
    expect((await run.describe()).status).toBe("completed");
  });
});

describe("a guest", () => {
  test("without a token must be the worker that holds the run", async () => {
    const workflow = await guest();
    const run = await hf.start(workflow, null);
    await poll();
    const named = { runId: run.runId, stepName: "a" };
    expect((await refusal(client.beginStep(named))).code).toBe(Code.Aborted);
    const other = guestClient(t.transport({ headers: { "x-holdfast-worker": "somebody" } }));
    expect((await refusal(other.beginStep(named))).code).toBe(Code.Aborted);
    const own = guestClient(t.transport({ headers: { "x-holdfast-worker": workerId } }));
    expect(await own.beginStep(named)).toMatchObject({ shouldExecute: true });
    await own.completeWorkflow({ runId: run.runId, dropOpenSteps: true });
    expect((await run.describe()).status).toBe("completed");
  });

  test("that leaves gives its runs to others", async () => {
    const workflow = await guest();
    const run = await hf.start(workflow, null);
    const { taskToken } = await poll();
    await client.beginStep({ taskToken, stepName: "a" });
    expect(await client.deregister({ workerId, drain: true })).toMatchObject({ drained: false });
    await client.deregister({ workerId });
    expect((await refusal(client.completeStep({ taskToken, stepId: "a" }))).code).toBe(Code.Aborted);
    ({ workerId } = await client.register({ workflowTypes: [workflow] }));
    expect(await runAll((ctx) => ctx.step("a", () => "done"))).toEqual(["completed"]);
    expect(await run.result()).toBe("done");
  });

  test("that goes while it polls takes no run with it", async () => {
    const workflow = await guest();
    const gone = new AbortController();
    const polled = client.pollTask({ workerId }, { signal: gone.signal }).catch(() => {});
    await client.heartbeat({ workerId });
    gone.abort();
    await polled;
    const run = await hf.start(workflow, null);
    expect(await runAll(() => Promise.resolve("ok"))).toEqual(["completed"]);
    expect(await run.result()).toBe("ok");
  });

  test("may do tasks and runs", async () => {
    const workflow = await guest({ taskTypes: ["odd-job"] });
    const run = await hf.start(workflow, null);
    const task = await poll();
    expect(task.kind).toBe(TaskKind.WORKFLOW);
    await client.completeWorkflow({ taskToken: task.taskToken });
    expect((await run.describe()).status).toBe("completed");
    expect((await client.pollTask({ workerId, waitMs: -1n })).runId).toBe("");
  });

  test("is told what it asks for wrongly", async () => {
    const workflow = await guest();
    await hf.start(workflow, null);
    const { taskToken } = await poll();
    const codes = async (request: object): Promise<Code> =>
      (await refusal(client.beginStep({ taskToken, ...request }))).code;
    expect(await codes({ stepName: "" })).toBe(Code.InvalidArgument);
    expect(await codes({ stepName: "a#2" })).toBe(Code.InvalidArgument);
    expect(await codes({ stepName: "a", kind: 3 })).toBe(Code.InvalidArgument);
    expect(await codes({ stepName: "a", retryPolicy: { maximumAttempts: -1 } })).toBe(Code.InvalidArgument);
    expect(await codes({ stepName: "a", timeout: { seconds: -1n } })).toBe(Code.InvalidArgument);
    expect((await refusal(client.completeStep({ taskToken, stepId: "never" }))).code).toBe(Code.FailedPrecondition);
    expect((await refusal(client.failStep({ taskToken, stepId: "never" }))).code).toBe(Code.FailedPrecondition);
    expect((await refusal(client.sleep({ taskToken, stepId: "s", duration: { seconds: -1n } }))).code).toBe(
      Code.InvalidArgument,
    );
    await client.beginStep({ taskToken, stepName: "a" });
    expect((await refusal(client.sleep({ taskToken, stepId: "a" }))).code).toBe(Code.InvalidArgument);
    await client.completeWorkflow({ taskToken, dropOpenSteps: true });
  });
});
