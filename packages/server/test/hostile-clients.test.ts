// Clients that are slow, broken or greedy: each costs a bounded amount, gets a clear answer or none, and others are served meanwhile.
import http from "node:http";
import http2 from "node:http2";
import net from "node:net";
import { createClient } from "@connectrpc/connect";
import { WorkflowService } from "@holdfast/protocol";
import { afterAll, beforeAll, expect, test } from "vitest";
import { jsonPayload, type ServerUnderTest, serverUnderTest } from "./server-under-test.ts";

const HEADERS_MS = 400;
const BODY_MS = 800;
let t: ServerUnderTest;

beforeAll(async () => {
  t = await serverUnderTest({ patience: { headersMsMax: HEADERS_MS, bodyMsMax: BODY_MS } });
});
afterAll(() => t.close());

/** Sends, and resolves with what came back when the server closes the connection. */
function exchange(send: (socket: net.Socket) => void): Promise<string> {
  const socket = net.connect(t.server.port, "127.0.0.1");
  let received = "";
  socket.on("data", (chunk) => {
    received += chunk.toString("latin1");
  });
  socket.on("error", () => {});
  send(socket);
  return new Promise((resolve) => socket.once("close", () => resolve(received)));
}

async function stillServes(): Promise<void> {
  await createClient(WorkflowService, t.transport({ kind: "connect" })).listWorkflows({});
}

const CALL =
  "POST /holdfast.v1.WorkflowService/ListWorkflows HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";

test("a connection that says nothing is closed", async () => {
  expect(await exchange(() => {})).toBe("");
  await stillServes();
});

test("headers that never end are given up", async () => {
  expect(await exchange((socket) => socket.write("GET /livez HTTP/1.1\r\nhost: localhost\r\n"))).toMatch(
    /^(HTTP\/1.1 408|$)/,
  );
  await stillServes();
});

test("half of the HTTP/2 preface is given up", async () => {
  expect(await exchange((socket) => socket.write("PRI * HT"))).toBe("");
});

test("an HTTP/2 connection without a request is closed", async () => {
  const session = http2.connect(t.server.url);
  session.on("error", () => {});
  await new Promise((resolve) => session.once("close", resolve));
});

test("a body that never ends is given up, in either HTTP", async () => {
  const answer = await exchange((socket) => socket.write(`${CALL}content-length: 100\r\n\r\n{`));
  expect(answer).toMatch(/^(HTTP\/1.1 408|$)/);
  const session = http2.connect(t.server.url);
  session.on("error", () => {});
  const stream = session.request({
    ":method": "POST",
    ":path": "/holdfast.v1.WorkflowService/ListWorkflows",
    "content-type": "application/grpc",
  });
  stream.on("error", () => {});
  stream.write(Buffer.from([0, 0, 0, 0]));
  await new Promise((resolve) => stream.once("close", resolve));
  session.destroy();
  await stillServes();
});

test("a client that sends half and goes leaves nothing behind", async () => {
  await exchange((socket) => {
    socket.write(`${CALL}content-length: 100\r\n\r\n{`);
    socket.end();
    socket.destroySoon();
  });
  await stillServes();
});

test("too many headers are refused, in bounded memory", async () => {
  const before = process.memoryUsage().heapUsed;
  const answer = await exchange((socket) => {
    socket.write("GET /livez HTTP/1.1\r\nhost: localhost\r\n");
    for (let i = 0; i < 1_000 && !socket.destroyed; i++) socket.write(`${`x-${i}: y\r\n`.repeat(1_000)}`);
  });
  expect(answer).toMatch(/^(HTTP\/1.1 431|$)/);
  const session = http2.connect(t.server.url);
  session.on("error", () => {});
  const headers = Object.fromEntries(Array.from({ length: 2_000 }, (_, i) => [`x-${i}`, "y".repeat(100)]));
  const stream = session.request({ ":path": "/livez", ...headers });
  stream.on("error", () => {});
  await new Promise((resolve) => stream.once("close", resolve));
  session.destroy();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(200 * 1024 * 1024);
  await stillServes();
});

test("what is not HTTP is refused", async () => {
  expect(await exchange((socket) => socket.write("\x16\x03\x01\x02\x00\x01\x00 nonsense\r\n\r\n"))).toMatch(
    /^HTTP\/1.1 400/,
  );
  await stillServes();
});

test("a request that is too large is refused by name", async () => {
  const service = createClient(WorkflowService, t.transport());
  await expect(
    service.startWorkflow({ workflowType: "a", input: jsonPayload("x".repeat(9 * 1024 * 1024)) }),
  ).rejects.toThrow("[resource_exhausted]");
  await expect(
    service.startWorkflow({ workflowType: "a", input: jsonPayload("x".repeat(3 * 1024 * 1024)) }),
  ).rejects.toThrow(/\[resource_exhausted\].*limit/);
});

test.each([
  ["not JSON", "{", 400],
  ["a field of another type", '{"page": 7}', 400],
])("a body that is %s is refused as bad input", async (_, body, status) => {
  const answer = await new Promise<number>((resolve) => {
    const request = http.request(
      `${t.server.url}/holdfast.v1.WorkflowService/ListWorkflows`,
      { method: "POST", headers: { "content-type": "application/json" } },
      (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      },
    );
    request.end(body);
  });
  expect(answer).toBe(status);
});

test("an input that is not what it says is refused", async () => {
  const service = createClient(WorkflowService, t.transport());
  const start = (data: Uint8Array, encoding: string) =>
    service.startWorkflow({ workflowType: "a", input: { data, metadata: { encoding } } });
  await expect(start(new Uint8Array([3, 1]), "json")).rejects.toThrow("is not JSON text");
  await expect(start(new TextEncoder().encode("{"), "json")).rejects.toThrow("is not JSON text");
  await expect(start(new Uint8Array([1]), "yaml")).rejects.toThrow('encoding "yaml", which is not known');
});
