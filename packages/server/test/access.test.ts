import { generateKeyPairSync } from "node:crypto";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { createClient } from "@connectrpc/connect";
import { AdminService, NamespaceService, Role, WorkflowService } from "@holdfast/protocol";
import { connect, signal } from "holdfast";
import { openClients, systemPorts } from "holdfast/adapter";
import { encrypted } from "holdfast/codecs";
import { SignJWT } from "jose";
import { afterEach, describe, expect, test } from "vitest";
import { createKey, openServer } from "../src/index.ts";
import { type ServerUnderTest, serverUnderTest, silent } from "./server-under-test.ts";

let t: ServerUnderTest;
afterEach(() => t?.close());

async function adminToken(): Promise<string> {
  const { opened } = await openClients(t.store);
  const asked = { name: "first", role: "admin", namespace: "*", expiresAt: null } as const;
  return (await createKey(opened.access!, systemPorts.random, asked)).token;
}

describe("API keys", () => {
  test("are made, listed without their secret, and revoked", async () => {
    t = await serverUnderTest({ auth: "keys" });
    const token = await adminToken();
    const admin = createClient(AdminService, t.transport({ token }));
    const made = await admin.createToken({ namespace: "shop", role: Role.WRITER, name: "ci" });
    expect(made.token).toMatch(/^hf_[0-9a-f]{16}_[0-9a-f]{64}$/);
    const shop = createClient(WorkflowService, t.transport({ token: made.token }));
    // No namespace: the only one of the token.
    const { runId } = await shop.startWorkflow({ workflowType: "order" });
    expect((await shop.getWorkflow({ runId })).workflow?.namespace).toBe("shop");

    const { tokens } = await admin.listTokens({ namespace: "shop" });
    expect(tokens).toMatchObject([{ id: made.info?.id, name: "ci", role: Role.WRITER, namespace: "shop" }]);
    expect(JSON.stringify(tokens, (_, value) => (typeof value === "bigint" ? `${value}` : value))).not.toContain(
      made.token.slice(20),
    );

    const revoked = await admin.revokeToken({ namespace: "shop", id: made.info?.id ?? "" });
    expect(revoked.info?.revokedAt).toBeDefined();
    await t.server.close();
    t = await serverUnderTest({ auth: "keys", url: t.store });
    const again = createClient(WorkflowService, t.transport({ token: made.token }));
    await expect(again.getWorkflow({ runId })).rejects.toThrow(
      "[unauthenticated] The token is wrong, has expired or was revoked.",
    );
  });

  test("give away no more than whoever makes them has", async () => {
    t = await serverUnderTest({ auth: "keys" });
    const all = createClient(AdminService, t.transport({ token: await adminToken() }));
    const { token } = await all.createToken({ namespace: "shop", role: Role.ADMIN });
    const shop = createClient(AdminService, t.transport({ token }));
    await shop.createToken({ namespace: "shop", role: Role.ADMIN });
    await expect(shop.createToken({ namespace: "*", role: Role.READER })).rejects.toThrow("permission_denied");
    await expect(shop.createToken({ namespace: "other", role: Role.READER })).rejects.toThrow("permission_denied");
    const { info } = await all.createToken({ namespace: "other", role: Role.READER });
    await expect(shop.revokeToken({ namespace: "shop", id: info?.id ?? "" })).rejects.toThrow("[not_found]");
  });

  test("an address that guesses tokens must wait", async () => {
    t = await serverUnderTest({ auth: "keys" });
    const right = createClient(WorkflowService, t.transport({ token: await adminToken() }));
    await right.listWorkflows({});
    const guess = createClient(WorkflowService, t.transport({ token: `hf_${"0".repeat(16)}_${"0".repeat(64)}` }));
    const codes: string[] = [];
    for (let i = 0; i < 22; i++)
      await guess.listWorkflows({}).catch((error: Error) => codes.push(error.message.slice(0, 17)));
    expect(codes.slice(0, 20)).toEqual(Array(20).fill("[unauthenticated]"));
    expect(codes.slice(20)).toEqual(["[resource_exhaust", "[resource_exhaust"]);
    // Whoever was right before is not locked out.
    await right.listWorkflows({});
  });
});

test("the audit event of a new key names its id and its role", async () => {
  t = await serverUnderTest({ auth: "keys" });
  const admin = createClient(AdminService, t.transport({ token: await adminToken() }));
  const { info } = await admin.createToken({ namespace: "shop", role: Role.WRITER, name: "ci" });
  const { events } = await admin.listAuditEvents({ namespace: "shop" });
  expect(events).toMatchObject([{ action: "CreateToken", outcome: "ok", subject: `${info?.id} (writer)` }]);
});

test("operator actions and refused logins are in the audit log, payloads are not", async () => {
  t = await serverUnderTest({ auth: "keys" });
  const token = await adminToken();
  const service = createClient(WorkflowService, t.transport({ token }));
  const { runId } = await service.startWorkflow({
    namespace: "shop",
    workflowType: "order",
    input: { data: new TextEncoder().encode('"hush"') },
  });
  await service.cancelWorkflow({ namespace: "shop", runId, reason: "no" });
  await service.cancelWorkflow({ namespace: "shop", externalId: "nobody" }).catch(() => {});
  await createClient(WorkflowService, t.transport({ token: "hf_no" }))
    .listWorkflows({})
    .catch(() => {});
  const admin = createClient(AdminService, t.transport({ token }));
  const { events } = await admin.listAuditEvents({ namespace: "*" });
  expect(events).toMatchObject([
    { action: "Login", outcome: "unauthenticated", namespace: "*" },
    { action: "CancelWorkflow", outcome: "run_not_found", namespace: "shop", subject: "nobody" },
    { action: "CancelWorkflow", outcome: "ok", namespace: "shop", subject: runId },
  ]);
  expect(events[0]?.address).toMatch(/127\.0\.0\.1|::1/);
  expect(JSON.stringify(events, (_, value) => (typeof value === "bigint" ? `${value}` : value))).not.toContain("hush");
});

test("a disabled namespace takes no starts until it is enabled", async () => {
  t = await serverUnderTest();
  const namespaces = createClient(NamespaceService, t.transport());
  const service = createClient(WorkflowService, t.transport());
  await namespaces.createNamespace({ namespace: "shop", displayName: "The shop" });
  await expect(namespaces.createNamespace({ namespace: "shop" })).rejects.toThrow("[already_exists]");
  await namespaces.disableNamespace({ namespace: "shop" });
  await expect(service.startWorkflow({ namespace: "shop", workflowType: "a" })).rejects.toThrow(
    "[failed_precondition]",
  );
  await namespaces.enableNamespace({ namespace: "shop" });
  await service.startWorkflow({ namespace: "shop", workflowType: "a" });
  // Created when first used.
  await service.startWorkflow({ namespace: "new", workflowType: "a" });
  const { namespaces: listed } = await namespaces.listNamespaces({});
  expect(listed.map(({ namespace, enabled }) => [namespace, enabled])).toEqual([
    ["new", true],
    ["shop", true],
  ]);
});

test.each(["api", "livez", "hooks", "a.b", "a/b", "*"])("%s is no namespace", async (namespace) => {
  t = await serverUnderTest();
  const service = createClient(WorkflowService, t.transport());
  await expect(service.startWorkflow({ namespace, workflowType: "a" })).rejects.toThrow("[invalid_argument]");
});

test("a namespace that requires encryption takes no other payloads", async () => {
  t = await serverUnderTest();
  const namespaces = createClient(NamespaceService, t.transport());
  await namespaces.createNamespace({ namespace: "shop" });
  await namespaces.updateNamespace({ namespace: "shop", requiresEncryption: true });
  const service = createClient(WorkflowService, t.transport());
  const start = (encoding: string) =>
    service.startWorkflow({
      namespace: "shop",
      workflowType: "a",
      input: { data: new TextEncoder().encode('"x"'), metadata: { encoding } },
    });
  await expect(start("json")).rejects.toThrow("is not encrypted");
  await start("encrypted");
});

test("a namespace that requires encryption takes no other values from clients of the library either", async () => {
  t = await serverUnderTest();
  const namespaces = createClient(NamespaceService, t.transport());
  await namespaces.createNamespace({ namespace: "shop" });
  await namespaces.updateNamespace({ namespace: "shop", requiresEncryption: true });
  const options = { namespace: "shop", logger: silent };
  const plain = await connect(t.server.url, options);
  await expect(plain.start("a", "x")).rejects.toThrow("is not encrypted");
  const codec = encrypted({ keys: { k: systemPorts.random.bytes(32) }, current: "k" });
  const sealed = await connect(t.server.url, { ...options, codec });
  const run = await sealed.start("a", "x");
  await expect(plain.get(run.id).signal(signal<string>("s"), "x")).rejects.toThrow("is not encrypted");
  await sealed.get(run.id).signal(signal<string>("s"), "x");
  await plain.close();
  await sealed.close();
});

test("calls beyond the limit are told when to come again", async () => {
  t = await serverUnderTest({ limits: { starts: { perSecond: 0.5, burst: 2 } } });
  const service = createClient(WorkflowService, t.transport());
  const start = () => service.startWorkflow({ workflowType: "a" });
  await start();
  await start();
  await expect(start()).rejects.toMatchObject({ code: 8, metadata: expect.any(Headers) });
  // Reading is another kind.
  await service.listWorkflows({});
});

describe("JWTs of an issuer", () => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const issue = (claims: Record<string, unknown>, issuer: string, key = privateKey, audience = "holdfast") =>
    new SignJWT(claims)
      .setProtectedHeader({ alg: "ES256", kid: "1" })
      .setIssuer(issuer)
      .setAudience(audience)
      .setSubject("ann")
      .setExpirationTime("1h")
      .sign(key);

  test("open what their claims say, and nothing with another key, audience or algorithm", async () => {
    const jwks = http.createServer((_, response) =>
      response.end(JSON.stringify({ keys: [{ ...publicKey.export({ format: "jwk" }), kid: "1", alg: "ES256" }] })),
    );
    await new Promise<void>((resolve) => jwks.listen(0, "127.0.0.1", resolve));
    const issuer = `http://127.0.0.1:${(jwks.address() as AddressInfo).port}`;
    try {
      t = await serverUnderTest({ auth: ["keys", "jwt"], jwt: { issuer, audience: "holdfast" } });
      const as = (token: string) => createClient(WorkflowService, t.transport({ token }));
      const good = await issue({ holdfast: { shop: "writer" } }, issuer);
      await as(good).startWorkflow({ workflowType: "a" });
      await expect(as(good).startWorkflow({ namespace: "other", workflowType: "a" })).rejects.toThrow(
        "[permission_denied]",
      );
      const none = await issue({}, issuer);
      await expect(as(none).listWorkflows({})).rejects.toThrow("[permission_denied]");
      const other = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
      for (const bad of [
        await issue({ holdfast: { shop: "writer" } }, issuer, other),
        await issue({ holdfast: { shop: "writer" } }, "https://elsewhere"),
        await issue({ holdfast: { shop: "writer" } }, issuer, privateKey, "somebody"),
        `${Buffer.from('{"alg":"none"}').toString("base64url")}.${good.split(".")[1]}.`,
      ])
        await expect(as(bad).listWorkflows({})).rejects.toThrow("[unauthenticated]");
    } finally {
      jwks.close();
    }
  });
});

test.each([
  [500, "{}"],
  [200, "<html>"],
  [200, "{}"],
])("an issuer that answers %i with %s is an outage, and no wrong token", async (status, body) => {
  const jwks = http.createServer((_, response) => response.writeHead(status).end(body));
  await new Promise<void>((resolve) => jwks.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(jwks.address() as AddressInfo).port}`;
  try {
    t = await serverUnderTest({ auth: "jwt", jwt: { issuer, audience: "holdfast" } });
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const claims = new SignJWT({}).setProtectedHeader({ alg: "ES256", kid: "1" }).setIssuer(issuer);
    const token = await claims.setAudience("holdfast").setSubject("ann").setExpirationTime("1h").sign(privateKey);
    const service = createClient(WorkflowService, t.transport({ token }));
    for (let i = 0; i < 21; i++) await expect(service.listWorkflows({})).rejects.toThrow("[unavailable]");
  } finally {
    jwks.close();
  }
});

describe("an address that others can reach", () => {
  const open = (options: object) =>
    openServer({ url: "memory:", port: 0, logger: silent, host: "0.0.0.0", ...options });

  test("is refused without login, and without encryption", async () => {
    await expect(open({})).rejects.toThrow("nobody has to log in");
    await expect(open({ auth: "keys" })).rejects.toThrow("tokens would travel unencrypted");
    await expect(open({ tls: "proxy" })).rejects.toThrow("nobody has to log in");
  });

  test.each([{ auth: "keys", tls: "proxy" }, { insecurePublic: true }] as const)(
    "is allowed with %j",
    async (options) => {
      await (await open(options)).close();
    },
  );
});

describe("a page of another site", () => {
  const post = (headers: Record<string, string>) =>
    new Promise<number>((resolve) => {
      const { hostname, port } = new URL(t.server.url);
      const path = "/holdfast.v1.WorkflowService/ListWorkflows";
      const request = http.request(
        { hostname, port, path, method: "POST", headers: { "content-type": "application/json", ...headers } },
        (response) => {
          response.resume();
          resolve(response.statusCode ?? 0);
        },
      );
      request.end("{}");
    });

  test("reaches nothing", async () => {
    t = await serverUnderTest();
    const host = new URL(t.server.url).host;
    expect(await post({})).toBe(200);
    expect(await post({ host: "evil.example" })).toBe(403);
    expect(await post({ origin: "http://evil.example" })).toBe(403);
    expect(await post({ origin: "null" })).toBe(403);
    expect(await post({ "sec-fetch-site": "cross-site", "x-holdfast-csrf": "1" })).toBe(403);
    expect(await post({ origin: `http://${host}` })).toBe(403);
    expect(await post({ origin: `http://${host}`, "x-holdfast-csrf": "1" })).toBe(200);
    expect(await post({ cookie: "holdfast_session=x" })).toBe(403);
  });
});
