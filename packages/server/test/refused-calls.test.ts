// Refusals that are made before a service is reached, as other people's gRPC clients read them.
import { createRequire } from "node:module";
import path from "node:path";
import * as grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { openClients, systemPorts } from "holdfast/adapter";
import { afterEach, expect, test } from "vitest";
import { createKey } from "../src/index.ts";
import { type ServerUnderTest, serverUnderTest } from "./server-under-test.ts";

const protocol = path.dirname(createRequire(import.meta.url).resolve("@holdfast/protocol/package.json"));
const options = { includeDirs: [path.join(protocol, "proto")], longs: Number, enums: String, defaults: true };
const { holdfast } = grpc.loadPackageDefinition(
  loadSync(["holdfast/v1/worker.proto", "holdfast/v1/workflow.proto"], options),
) as unknown as { holdfast: { v1: Record<string, grpc.ServiceClientConstructor> } };

const WRONG = `hf_${"0".repeat(16)}_${"0".repeat(64)}`;

let t: ServerUnderTest;
const opened: grpc.Client[] = [];
afterEach(async () => {
  for (const client of opened.splice(0)) client.close();
  await t.close();
});

function stub(service: string): any {
  const Service = holdfast.v1[service] as grpc.ServiceClientConstructor;
  const client = new Service(`127.0.0.1:${t.server.port}`, grpc.credentials.createInsecure());
  opened.push(client);
  return client;
}

function metadata(token: string | undefined): grpc.Metadata {
  const made = new grpc.Metadata();
  if (token !== undefined) made.set("authorization", `Bearer ${token}`);
  return made;
}

type Refusal = Pick<grpc.ServiceError, "code" | "details">;

const register = (token: string | undefined): Promise<Refusal> =>
  new Promise((resolve) => {
    const request = { taskQueue: "q", taskTypes: ["t"] };
    stub("WorkerService").register(request, metadata(token), (error: Refusal | null) => {
      const { code, details } = error ?? { code: grpc.status.OK, details: "" };
      resolve({ code, details });
    });
  });

/** How a stream ends; its own half stays open, as that of a worker does. */
const endOf = (stream: grpc.ClientReadableStream<unknown>): Promise<Refusal> =>
  new Promise((resolve) => {
    stream.on("data", () => {}).on("error", () => {});
    stream.on("status", ({ code, details }) => resolve({ code, details }));
  });

const attach = (token: string | undefined): Promise<Refusal> => {
  const stream = stub("WorkerService").attach(metadata(token));
  stream.write({ hello: { workerId: "x" } });
  return endOf(stream);
};

const watch = (token: string | undefined): Promise<Refusal> =>
  endOf(stub("WorkflowService").watchWorkflow({ runId: "x" }, metadata(token)));

test.each([
  ["register", register],
  ["watch", watch],
  ["attach", attach],
])("%s without a right token is UNAUTHENTICATED for a client of gRPC", async (_, ask) => {
  t = await serverUnderTest({ auth: "keys" });
  const { UNAUTHENTICATED: code } = grpc.status;
  expect(await ask(undefined)).toEqual({ code, details: expect.stringContaining("There is no token.") });
  expect(await ask(WRONG)).toEqual({ code, details: "The token is wrong, has expired or was revoked." });
});

test("the text of a refusal is encoded as gRPC has it", async () => {
  t = await serverUnderTest();
  const text = await new Promise<string>((resolve) => {
    const request = { taskQueue: "q", taskTypes: ["t"], namespace: "50%/ü?" };
    stub("WorkerService").register(request, metadata(undefined), (error: Refusal) => resolve(error.details));
  });
  expect(text).toContain('The namespace "50%/ü?" has a character that is not allowed: no dot, slash,');
});

test("names that are Holdfast's own are not registered", async () => {
  t = await serverUnderTest();
  const worker = stub("WorkerService");
  for (const names of [{ taskTypes: ["holdfast.x"] }, { workflowTypes: ["holdfast.batch"] }]) {
    const refused = new Promise<Refusal>((resolve) =>
      worker.register({ taskQueue: "q", ...names }, (error: Refusal | null) => resolve(error as Refusal)),
    );
    expect(await refused).toMatchObject({
      code: grpc.status.INVALID_ARGUMENT,
      details: expect.stringContaining('which begins with "holdfast."'),
    });
  }
});

test("too many wrong tokens are RESOURCE_EXHAUSTED for a client of gRPC", async () => {
  t = await serverUnderTest({ auth: "keys" });
  for (let i = 0; i < 20; i += 1) await register(WRONG);
  for (const ask of [register, watch, attach])
    expect(await ask(WRONG)).toMatchObject({ code: grpc.status.RESOURCE_EXHAUSTED });
});

test("a worker whose key was revoked learns that when it attaches again", async () => {
  t = await serverUnderTest({ auth: "keys" });
  await t.connect();
  const { opened: store } = await openClients(t.store);
  const asked = { name: "w", role: "worker", namespace: "default", expiresAt: null } as const;
  const { token, id } = await createKey(store.access!, systemPorts.random, asked);
  expect(await attach(token)).toMatchObject({ code: grpc.status.NOT_FOUND });
  await store.access!.revokeKey({ id });
  // Another server: this one remembers the key for seconds.
  const other = await serverUnderTest({ auth: "keys", url: t.store });
  const { server } = t;
  t = {
    ...other,
    async close() {
      await other.close();
      await server.close();
    },
  };
  expect(await attach(token)).toMatchObject({ code: grpc.status.UNAUTHENTICATED });
});
