// A worker that shares no code with us: grpc-js and the .proto files.
import { createRequire } from "node:module";
import path from "node:path";
import * as grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { task, workflow } from "holdfast";
import { systemPorts } from "holdfast/adapter";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ServerUnderTest, serverUnderTest } from "./server-under-test.ts";

const protocol = path.dirname(createRequire(import.meta.url).resolve("@holdfast/protocol/package.json"));
const definition = loadSync("holdfast/v1/worker.proto", {
  includeDirs: [path.join(protocol, "proto")],
  longs: Number,
  enums: String,
  defaults: true,
  oneofs: true,
});
const loaded = grpc.loadPackageDefinition(definition) as unknown as {
  holdfast: { v1: Record<string, grpc.ServiceClientConstructor> };
};

const shout = task(
  { name: "shout", queue: "voices", retry: { attempts: 3, fixed: "1ms" } },
  async (_: { text: string }): Promise<{ loud: string }> => {
    throw new Error("no worker with this code serves the queue");
  },
);
const speech = workflow("speech", (ctx, text: string) => ctx.task(shout, { text }));

let t: ServerUnderTest;
let worker: grpc.Client;
const call = (name: string, request: object): Promise<any> =>
  new Promise((resolve, reject) =>
    (worker as any)[name](request, (error: Error | null, answer: unknown) => (error ? reject(error) : resolve(answer))),
  );

beforeAll(async () => {
  t = await serverUnderTest();
  const hf = await t.connect();
  await hf.worker({ workflows: [speech] }).start();
  const Worker = loaded.holdfast.v1["WorkerService"] as grpc.ServiceClientConstructor;
  worker = new Worker(`127.0.0.1:${t.server.port}`, grpc.credentials.createInsecure());
});
afterAll(async () => {
  worker.close();
  await t.close();
});

test("a worker without our code does a task, fails one attempt, and reports on it", async () => {
  const hf = await t.connect();
  const { workerId, heartbeatIntervalSecs } = await call("Register", {
    taskQueue: "voices",
    taskTypes: ["shout"],
    hostname: "elsewhere",
    pid: 7,
    name: "py",
  });
  expect(heartbeatIntervalSecs).toBe(10);
  expect((await hf.workers.list()).find((one) => one.workerId === workerId)).toMatchObject({
    name: "py",
    host: "elsewhere",
    tasks: ["shout"],
  });
  // It waits for work that comes later.
  const polled = call("PollTask", { workerId });
  const run = await hf.start(speech, "hello");
  const first = await polled;
  expect(first).toMatchObject({ kind: "TASK_KIND_TASK", workflowType: "shout", attempt: 1, runId: run.runId });
  expect(JSON.parse(first.input.data.toString())).toEqual({ text: "hello" });

  expect(
    await call("HeartbeatTask", { taskToken: first.taskToken, details: { data: Buffer.from("0.5") } }),
  ).toMatchObject({ cancelled: false });
  expect(
    await call("FailTask", {
      taskToken: first.taskToken,
      error: { message: "hoarse", metadata: { name: "VoiceError" } },
    }),
  ).toEqual({ scheduledRetry: true });
  const second = await call("PollTask", { workerId });
  expect(second).toMatchObject({ attempt: 2, idempotencyKey: first.idempotencyKey });
  expect(second.lastDetails.data.toString()).toBe("0.5");
  expect(await call("Heartbeat", { workerId })).toMatchObject({ accepted: true, shouldDrain: false });

  await call("CompleteTask", { taskToken: second.taskToken, output: { data: Buffer.from('{"loud":"HELLO"}') } });
  expect(await run.result()).toEqual({ loud: "HELLO" });
  await expect(call("CompleteTask", { taskToken: second.taskToken })).rejects.toMatchObject({
    code: grpc.status.FAILED_PRECONDITION,
  });
  await expect(call("CompleteTask", { taskToken: first.taskToken })).rejects.toMatchObject({
    code: grpc.status.FAILED_PRECONDITION,
  });

  expect(await call("PollTask", { workerId, waitMs: -1 })).toMatchObject({ runId: "" });
  expect(await call("Deregister", { workerId })).toEqual({ drained: true });
  expect(await call("Heartbeat", { workerId })).toMatchObject({ accepted: false });
  await expect(call("PollTask", { workerId, waitMs: -1 })).rejects.toMatchObject({ code: grpc.status.NOT_FOUND });
});

test("an error that cannot pass is not retried", async () => {
  const hf = await t.connect();
  const { workerId } = await call("Register", { taskQueue: "voices", taskTypes: ["shout"] });
  const run = await hf.start(speech, "no");
  const { taskToken } = await call("PollTask", { workerId });
  const error = { message: "mute", nonRetryable: true, metadata: { name: "VoiceError" } };
  expect(await call("FailTask", { taskToken, error })).toEqual({ scheduledRetry: false });
  await expect(run.result()).rejects.toMatchObject({ cause: { message: "mute", name: "VoiceError", task: "shout" } });
});

test("a worker that goes while it polls takes no task with it", async () => {
  const hf = await t.connect();
  const { workerId } = await call("Register", { taskQueue: "voices", taskTypes: ["shout"] });
  const poll = (worker as any).PollTask({ workerId }, () => {});
  await new Promise<void>((resolve) => (worker as any).Heartbeat({ workerId }, () => resolve()));
  poll.cancel();
  const run = await hf.start(speech, "again");
  const { taskToken, attempt } = await call("PollTask", { workerId });
  expect(attempt).toBe(1);
  await call("CompleteTask", { taskToken, output: { data: Buffer.from('{"loud":"!"}') } });
  expect(await run.result()).toEqual({ loud: "!" });
});

test("a worker that is asked to drain is told with its heartbeat, and gets nothing more", async () => {
  const hf = await t.connect();
  const { workerId } = await call("Register", { taskQueue: "voices", taskTypes: ["shout"] });
  await hf.workers.drain(workerId);
  expect(await call("Heartbeat", { workerId })).toMatchObject({ accepted: true, shouldDrain: true });
  expect(await call("PollTask", { workerId })).toMatchObject({ runId: "" });
});

test("a worker without our code runs a workflow: steps, a retry, a sleep, its end", async () => {
  const hf = await t.connect();
  const { workerId } = await call("Register", { taskQueue: "voices", workflowTypes: ["song"] });
  const run = await hf.start("song", { verses: 2 }, { queue: "voices" });
  const executed: string[] = [];
  for (let ended = false; !ended; ) {
    const { kind, taskToken, input } = await call("PollTask", { workerId });
    expect(kind).toBe("TASK_KIND_WORKFLOW");
    expect(JSON.parse(input.data.toString())).toEqual({ verses: 2 });
    const retryPolicy = { maximumAttempts: 2, initialIntervalMs: 1 };
    const { shouldExecute, stepId, attempt } = await call("BeginStep", { taskToken, stepName: "sing", retryPolicy });
    if (shouldExecute) {
      executed.push(`sing ${attempt}`);
      if (attempt === 1) {
        const failed = await call("FailStep", { taskToken, stepId, attempt, error: { message: "off key" } });
        expect(failed.scheduledRetry).toBe(true);
        continue;
      }
      await call("CompleteStep", { taskToken, stepId, attempt, output: { data: Buffer.from('"la"') } });
    }
    const { elapsed } = await call("Sleep", { taskToken, stepId: "breath", duration: { nanos: 20_000_000 } });
    if (!elapsed) continue;
    const cached = await call("BeginStep", { taskToken, stepName: "sing" });
    expect(cached.cachedOutput.data.toString()).toBe('"la"');
    await call("CompleteWorkflow", { taskToken, output: { data: Buffer.from('"sung"') } });
    ended = true;
  }
  expect(executed).toEqual(["sing 1", "sing 2"]);
  expect(await run.result()).toBe("sung");
});

test("a worker without our code does all of it on one stream, for as many credits as it has given", async () => {
  const hf = await t.connect();
  const { workerId } = await call("Register", { taskQueue: "voices", workflowTypes: ["duet"], taskTypes: ["shout"] });
  const stream = (worker as any).Attach();
  const answers = new Map<number, (answer: any) => void>();
  const work: any[] = [];
  let onWork = (): void => {};
  stream.on("data", (answer: any) => {
    if (answer.message !== "task") return answers.get(answer.call)?.(answer);
    work.push(answer.task);
    onWork();
  });
  stream.on("error", () => {});
  let calls = 0;
  const ask = (message: object): Promise<any> =>
    new Promise((resolve) => {
      calls += 1;
      answers.set(calls, resolve);
      stream.write({ call: calls, ...message });
    });
  const next = async (): Promise<any> => {
    while (work.length === 0)
      await new Promise<void>((resolve) => {
        onWork = resolve;
      });
    return work.shift();
  };
  expect(await ask({ hello: { workerId } })).toMatchObject({ message: "ready", ready: { callsMax: 64 } });
  const runs = await Promise.all([hf.start("duet", 1, { queue: "voices" }), hf.start("duet", 2, { queue: "voices" })]);
  stream.write({ credits: { more: 1 } });
  const { taskToken } = await next();
  expect(await ask({ heartbeat: { workerId } })).toMatchObject({ heartbeat: { accepted: true } });
  expect(work).toEqual([]);
  const { beginStep } = await ask({ beginStep: { taskToken, stepName: "a" } });
  expect(beginStep).toMatchObject({ shouldExecute: true, attempt: 1 });
  const begin = { stepName: "b" };
  const { completeStep } = await ask({ completeStep: { taskToken, stepId: "a", begin } });
  expect(completeStep.begun.shouldExecute).toBe(true);
  expect(await ask({ completeStep: { taskToken: "hfg_no", stepId: "a" } })).toMatchObject({
    message: "refusal",
    refusal: { status: grpc.status.ABORTED },
  });
  expect(await ask({ completeStep: { namespace: "other", taskToken, stepId: "a" } })).toMatchObject({
    refusal: { status: grpc.status.PERMISSION_DENIED },
  });
  await ask({ completeStep: { taskToken, stepId: "b" } });
  await ask({ completeWorkflow: { taskToken, output: { data: Buffer.from('"one"') } } });
  stream.write({ credits: { more: 2 } });
  const second = await next();
  await ask({ failWorkflow: { taskToken: second.taskToken, error: { message: "two" } } });
  const ends = await Promise.allSettled(runs.map((run) => run.result()));
  expect(ends.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  const speaking = await hf.start(speech, "hi");
  const job = await next();
  await ask({ completeTask: { taskToken: job.taskToken, output: { data: Buffer.from('{"loud":"HI"}') } } });
  expect(await speaking.result()).toEqual({ loud: "HI" });
  stream.end();
  await new Promise((resolve) => stream.on("end", resolve));
});

test("tools find the services by reflection", async () => {
  const reflection = loadSync("grpc/reflection/v1/reflection.proto", { includeDirs: [path.join(protocol, "proto")] });
  const { grpc: found } = grpc.loadPackageDefinition(reflection) as any;
  const client = new found.reflection.v1.ServerReflection(
    `127.0.0.1:${t.server.port}`,
    grpc.credentials.createInsecure(),
  );
  const stream = client.ServerReflectionInfo();
  const answers: any[] = [];
  stream.on("data", (answer: any) => answers.push(answer));
  stream.write({ listServices: "" });
  stream.write({ fileContainingSymbol: "holdfast.v1.WorkflowService" });
  stream.write({ fileByFilename: "nothing.proto" });
  stream.end();
  await new Promise((resolve) => stream.on("end", resolve));
  client.close();
  expect(answers[0].listServicesResponse.service.map((one: any) => one.name)).toContain("holdfast.v1.WorkflowService");
  expect(answers[1].fileDescriptorResponse.fileDescriptorProto.length).toBeGreaterThan(1);
  expect(answers[2].errorResponse.errorCode).toBe(5);
});

test("an open stream of reflection does not keep the server from closing", async () => {
  const own = await serverUnderTest();
  const reflection = loadSync("grpc/reflection/v1/reflection.proto", { includeDirs: [path.join(protocol, "proto")] });
  const { grpc: found } = grpc.loadPackageDefinition(reflection) as any;
  const address = `127.0.0.1:${own.server.port}`;
  const client = new found.reflection.v1.ServerReflection(address, grpc.credentials.createInsecure());
  const stream = client.ServerReflectionInfo();
  stream.on("error", () => {});
  stream.write({ listServices: "" });
  await new Promise((resolve) => stream.once("data", resolve));
  const since = systemPorts.clock.monotonic();
  await own.close();
  expect(systemPorts.clock.monotonic() - since).toBeLessThan(8_000);
  client.close();
});
