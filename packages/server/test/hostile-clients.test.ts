// Clients that are slow, broken or greedy: each costs a bounded amount, gets a clear answer or none, and others are served meanwhile.
import { once } from "node:events";
import http from "node:http";
import http2 from "node:http2";
import net from "node:net";
import { createClient } from "@connectrpc/connect";
import { WorkflowService } from "@holdfast/protocol";
import { openClients, systemPorts } from "holdfast/adapter";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createKey } from "../src/index.ts";
import { jsonPayload, type ServerUnderTest, serverUnderTest } from "./server-under-test.ts";

const HEADERS_MS = 400;
const BODY_MS = 800;
let t: ServerUnderTest;

beforeAll(async () => {
  t = await serverUnderTest({ patience: { headersMsMax: HEADERS_MS, bodyMsMax: BODY_MS } });
});
afterAll(() => t.close());

/** Sends, and resolves with what came back when the server closes the connection. */
function exchange(send: (socket: net.Socket) => void, port = t.server.port): Promise<string> {
  const socket = net.connect(port, "127.0.0.1");
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

test.each(["none", "keys"] as const)("a host that is none, or that is missing, ends no server (%s)", async (auth) => {
  const other = await serverUnderTest({ auth });
  onTestFinished(() => other.close());
  const key = { name: "", role: "reader", namespace: "*", expiresAt: null } as const;
  const { access } = (await openClients(other.store)).opened;
  const { token } = await createKey(access!, systemPorts.random, key);
  const rest = `content-type: application/json\r\nauthorization: Bearer ${token}\r\ncontent-length: 2\r\n`;
  const paths = ["/holdfast.v1.WorkflowService/ListWorkflows", "/holdfast.v1.StoreService/Call", "/hooks/a/b", "/"];
  for (const path of paths)
    for (const head of [
      `POST ${path} HTTP/1.0\r\n`,
      `POST ${path} HTTP/1.1\r\nhost: [\r\n`,
      `POST ${path} HTTP/1.1\r\nhost: a b\r\n`,
    ]) {
      const answer = await exchange(
        (socket) => socket.write(`${head}connection: close\r\n${rest}\r\n{}`),
        other.server.port,
      );
      expect([head, answer]).toEqual([head, expect.stringMatching(/^HTTP\/1.1 [24]\d\d/)]);
    }
  expect((await fetch(`${other.server.url}/livez`)).status).toBe(200);
});

test("headers that go on in frame after frame are given up", async () => {
  // The preface, empty settings, and a HEADERS frame that does not end the headers; then CONTINUATION for ever.
  const frame = (type: number, flags: number, stream: number, payload: Buffer): Buffer => {
    const head = Buffer.alloc(9);
    head.writeUIntBE(payload.length, 0, 3);
    head.writeUInt8(type, 3);
    head.writeUInt8(flags, 4);
    head.writeUInt32BE(stream, 5);
    return Buffer.concat([head, payload]);
  };
  const field = Buffer.from([0x40, 1, "x".charCodeAt(0), 1, "y".charCodeAt(0)]);
  const fields = Buffer.concat(Array.from({ length: 3_000 }, () => field));
  const before = process.memoryUsage().heapUsed;
  await exchange((socket) => {
    socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    socket.write(frame(4, 0, 0, Buffer.alloc(0)));
    socket.write(frame(1, 0, 1, fields));
    for (let i = 0; i < 350 && !socket.destroyed; i++) socket.write(frame(9, 0, 1, fields));
  });
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(100 * 1024 * 1024);
  await stillServes();
});

test("whoever has no token makes the server keep no body, in any protocol", async () => {
  const guarded = await serverUnderTest({ auth: "keys", patience: { headersMsMax: 10_000, bodyMsMax: 10_000 } });
  onTestFinished(() => guarded.close());
  const session = http2.connect(guarded.server.url);
  onTestFinished(() => session.destroy());
  const path = "/holdfast.v1.WorkflowService/StartWorkflow";
  const envelope = Buffer.from([0, 0, 0x70, 0, 0]);
  for (const type of ["application/grpc", "application/grpc-web+proto", "application/proto", "application/json"]) {
    const stream = session.request({ ":method": "POST", ":path": path, "content-type": type });
    stream.on("error", () => {});
    // The body has begun, and never ends: the answer does not wait for it.
    stream.write(Buffer.concat([envelope, Buffer.alloc(100_000)]));
    const [headers] = (await once(stream, "response")) as [http2.IncomingHttpHeaders & http2.IncomingHttpStatusHeader];
    const parts: Buffer[] = [];
    stream.on("data", (part: Buffer) => void parts.push(part));
    await once(stream, "end");
    const said = `${headers["grpc-status"] ?? ""} ${headers[":status"]} ${decodeURIComponent(`${headers["grpc-message"] ?? ""}`)} ${Buffer.concat(parts)}`;
    expect([type, said]).toEqual([type, expect.stringMatching(/^(16 200| 401).*There is no token/)]);
    stream.close();
  }
  // With a length that is announced: HTTP/1.1 can be used again after it.
  const large = await fetch(guarded.server.url + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: Buffer.alloc(7_000_000, 0x20),
  });
  expect([large.status, ((await large.json()) as { code: string }).code]).toEqual([401, "unauthenticated"]);
  const health = await fetch(`${guarded.server.url}/holdfast.v1.AdminService/HealthCheck`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: Buffer.alloc(7_000_000, 0x20),
  });
  expect(((await health.json()) as { code: string }).code).toBe("resource_exhausted");
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
