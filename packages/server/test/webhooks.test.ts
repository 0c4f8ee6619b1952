import { createHmac } from "node:crypto";
import http from "node:http";
import net from "node:net";
import { createClient } from "@connectrpc/connect";
import { AdminService, NamespaceService, WorkflowService } from "@holdfast/protocol";
import { workflow } from "holdfast";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ServerUnderTest, serverUnderTest, silent } from "./server-under-test.ts";

const secret = "s".repeat(32);
const errors: string[] = [];
let t: ServerUnderTest;
beforeAll(async () => {
  t = await serverUnderTest({
    logger: { ...silent, error: (...line: unknown[]) => errors.push(JSON.stringify(line)) },
  });
  const namespaces = createClient(NamespaceService, t.transport());
  const webhooks = {
    go: { workflowType: "order", externalIdPath: "id", secret },
    pay: { signal: "paid", externalIdPath: "id", secret },
    both: { workflowType: "order", signal: "paid", externalIdPath: "id", secret },
  };
  for (const namespace of ["shop", "sealed"]) {
    await namespaces.createNamespace({ namespace });
    await namespaces.updateNamespace({ namespace, webhooks, requiresEncryption: namespace === "sealed" });
  }
});
afterAll(() => t.close());

async function deliver(path: string, body: string, delivery = "d-1") {
  const signature = `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
  const headers = { "x-holdfast-signature": signature, "x-holdfast-delivery": delivery };
  const response = await fetch(`${t.server.url}/hooks/${path}`, { method: "POST", body, headers });
  return { status: response.status, ...((await response.json()) as { runId?: string; message?: string }) };
}

test("a number keeps its digits as an id, or is refused", async () => {
  const service = createClient(WorkflowService, t.transport());
  for (const id of ["9007199254740993", "9007199254740992", "-7"]) {
    const { runId = "" } = await deliver("shop/go", `{"note":"\\"1\\\\", "id": ${id}}`);
    expect((await service.getWorkflow({ namespace: "shop", runId })).workflow?.externalId).toBe(id);
  }
  for (const id of ["1e400", "1.5", "1e3", "1.0"])
    expect(await deliver("shop/go", `{"id":${id}}`)).toMatchObject({
      status: 400,
      message: expect.stringContaining(`is ${id}.`),
    });
});

test.each(["pay", "both"])(
  "a signal of %s that is delivered again does not reach a later run of the id",
  async (hook) => {
    const service = createClient(WorkflowService, t.transport());
    const namespace = "shop";
    const externalId = `sub-${hook}`;
    const start = () => service.startWorkflow({ namespace, workflowType: "order", externalId });
    const body = JSON.stringify({ id: externalId });
    const first = await start();
    expect(await deliver(`shop/${hook}`, body)).toEqual({ status: 200, runId: first.runId });
    await service.terminateWorkflow({ namespace, runId: first.runId });
    expect(await deliver(`shop/${hook}`, body)).toEqual({ status: 200, runId: first.runId });
    const second = await start();
    expect(second.runId).not.toBe(first.runId);
    expect(await deliver(`shop/${hook}`, body)).toEqual({ status: 200, runId: first.runId });
    expect(await deliver(`shop/${hook}`, body, "d-2")).toEqual({ status: 200, runId: second.runId });
  },
);

test("a signal that is delivered again is recognized however many runs of the id there were since", async () => {
  const service = createClient(WorkflowService, t.transport());
  const namespace = "shop";
  const externalId = "often";
  const body = JSON.stringify({ id: externalId });
  const { runId: first } = await service.startWorkflow({ namespace, workflowType: "order", externalId });
  expect(await deliver("shop/pay", body)).toEqual({ status: 200, runId: first });
  let runId = first;
  for (let later = 0; later < 130; later += 1) {
    await service.terminateWorkflow({ namespace, runId });
    ({ runId } = await service.startWorkflow({ namespace, workflowType: "order", externalId }));
  }
  expect(await deliver("shop/pay", body)).toEqual({ status: 200, runId: first });
  expect(await deliver("shop/pay", body, "d-2")).toEqual({ status: 200, runId });
});

test("a body that is nested too deeply is refused", async () => {
  const deep = `{"id":"deep","more":${"[".repeat(600)}${"]".repeat(600)}}`;
  expect(await deliver("shop/go", deep)).toMatchObject({ status: 400, message: expect.stringContaining("500 levels") });
});

test("a namespace that requires encryption takes no webhooks", async () => {
  expect(await deliver("sealed/go", '{"id":"a"}')).toMatchObject({
    status: 400,
    message: expect.stringContaining("encrypted"),
  });
});

test("a body that is too large is 413, and its connection can be used again", async () => {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const { hostname, port } = new URL(t.server.url);
  const ask = (path: string, body: string) =>
    new Promise<number>((resolve, reject) => {
      const request = http.request({ agent, hostname, port, path, method: "POST" }, (response) => {
        response.resume().once("end", () => resolve(response.statusCode ?? 0));
      });
      request.once("error", reject).end(body);
    });
  try {
    expect(await ask("/hooks/shop/go", "x".repeat(2 * 1024 * 1024))).toBe(413);
    expect(await ask("/livez", "")).toBe(200);
  } finally {
    agent.destroy();
  }
});

test("a body that is far too large is 413, and ends its connection", async () => {
  const size = 9 * 1024 * 1024;
  const socket = net.connect(t.server.port, "127.0.0.1");
  let answer = "";
  socket.on("data", (chunk) => {
    answer += chunk;
  });
  // It may be reset while this still sends.
  socket.on("error", () => {});
  const closed = new Promise<void>((resolve) => void socket.once("close", () => resolve()));
  socket.write(`POST /hooks/shop/go HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: ${size}\r\n\r\n`);
  // One byte is still to come.
  socket.write(Buffer.alloc(size - 1, 0x20));
  await closed;
  expect(answer).toMatch(/^HTTP\/1\.1 413 /);
  expect(answer).toMatch(/\r\nconnection: close\r\n/i);
});

test("a workflow with a key gets it from the body", async () => {
  const namespace = "shop";
  const keyed = workflow({ name: "keyed", key: (input: { tenant: string }) => input.tenant }, async () => {});
  const hf = await t.connect(namespace);
  await hf.worker({ workflows: [keyed] }).start();
  const namespaces = createClient(NamespaceService, t.transport());
  const keyPath = "tenant.id";
  const { namespace: changed } = await namespaces.updateNamespace({
    namespace,
    webhooks: { keyed: { workflowType: "keyed", keyPath, secret } },
  });
  expect(changed?.webhooks["keyed"]).toMatchObject({ keyPath });
  const { status, runId = "" } = await deliver("shop/keyed", '{"tenant":{"id":12345678901234567890}}');
  expect(status).toBe(200);
  expect(await hf.get({ runId }).describe()).toMatchObject({ key: "12345678901234567890" });
  expect(await deliver("shop/keyed", "{}", "d-2")).toMatchObject({
    status: 400,
    message: expect.stringContaining("where the key of the run should be"),
  });
});

test.each([
  [{ signal: "paid" }, "its signal would reach no run"],
  [{ signal: "paid", externalIdPath: "id", keyPath: "key" }, "it starts no run"],
  [{ workflowType: "holdfast.batch" }, 'begins with "holdfast."'],
  [{ workflowType: "o".repeat(201) }, "201 characters"],
  [{ workflowType: "order", signal: "a\nb" }, "control character"],
])("a setting that can never work is refused: %j", async (webhook, why) => {
  const namespaces = createClient(NamespaceService, t.transport());
  const update = namespaces.updateNamespace({ namespace: "shop", webhooks: { odd: { ...webhook, secret } } });
  await expect(update).rejects.toThrow(why);
});

test("a delivery is a POST", async () => {
  const answer = await fetch(`${t.server.url}/hooks/shop/go`);
  expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST"]);
});

// The last one: from here on this address must wait.
test("calls that are not signed get the same answer for every name, then must wait, and are audited once", async () => {
  const ask = async (path: string) => (await fetch(`${t.server.url}/hooks/${path}`, { method: "POST" })).status;
  const odd = ["shop/go", "shop/constructor", "shop/__proto__", "shop/%00", "%00/x", "nobody/x", "hooks/x", "shop/%ff"];
  for (const path of odd) expect([path, await ask(path)]).toEqual([path, 401]);
  const rest = await Promise.all(Array.from({ length: 20 }, () => ask("shop/x")));
  expect(rest.filter((status) => status === 429)).toHaveLength(8);
  // Whoever signs is served.
  expect(await deliver("shop/go", '{"id":"signed"}')).toMatchObject({ status: 200 });
  const admin = createClient(AdminService, t.transport());
  const { events } = await admin.listAuditEvents({ namespace: "*" });
  expect(events.filter(({ action }) => action === "Webhook")).toMatchObject([{ subject: "go", namespace: "shop" }]);
  expect(errors).toEqual([]);
});
