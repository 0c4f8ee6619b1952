// A worker that shares no code with us: grpc-js and the .proto files.
import { createRequire } from "node:module";
import path from "node:path";
import * as grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { task, workflow } from "holdfast";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ServerUnderTest, serverUnderTest } from "./server-under-test.ts";

const protocol = path.dirname(createRequire(import.meta.url).resolve("@holdfast/protocol/package.json"));
const definition = loadSync("holdfast/v1/worker.proto", {
  includeDirs: [path.join(protocol, "proto")],
  longs: Number,
  enums: String,
  defaults: true,
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
