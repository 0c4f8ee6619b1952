// Every call of every service, as everybody who may not make it.
import { create, type DescMethod } from "@bufbuild/protobuf";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { AdminService, Health, ServerReflection, WorkerService, WorkflowService } from "@holdfast/protocol";
import { workflow } from "holdfast";
import { openClients, ROLES, type Role, systemPorts } from "holdfast/adapter";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createKey, PERMISSIONS } from "../src/index.ts";
import { SERVICES, type ServerUnderTest, serverUnderTest } from "./server-under-test.ts";

const METHODS = SERVICES.flatMap((service) => service.methods);
const nameOf = (method: DescMethod): string => `${method.parent.typeName}/${method.name}`;
const GUARDED = METHODS.filter((method) => PERMISSIONS[nameOf(method)]?.role !== null);

let t: ServerUnderTest;
let foreignRun: string;
const tokens = new Map<string, string>();

beforeAll(async () => {
  t = await serverUnderTest({ auth: "keys" });
  const opened = await openClients(t.store);
  const access = opened.opened.access!;
  for (const role of ROLES)
    for (const namespace of ["shop", "*"]) {
      const { token } = await createKey(access, systemPorts.random, { name: "", role, namespace, expiresAt: null });
      tokens.set(`${role} ${namespace}`, token);
    }
  const other = await t.connect("other");
  const run = await other.start(workflow("order", async () => 1).name, undefined, { id: "theirs" });
  foreignRun = run.runId;
});
afterAll(() => t.close());

/** Makes the call with these fields, as far as its request has them; the code that it fails with, or "ok". */
async function codeOf(method: DescMethod, token: string | undefined, fields: Record<string, unknown>): Promise<string> {
  const own = Object.fromEntries(
    Object.entries(fields).filter(([name]) => method.input.fields.some((field) => field.localName === name)),
  );
  // A stream says with its first message what a call says with its fields.
  const hello = { message: { case: "hello", value: { namespace: fields["namespace"] } } };
  const message = create(method.input, (method === WorkerService.method.attach ? hello : own) as never);
  const transport: Transport = t.transport(token === undefined ? {} : { token });
  try {
    if (method.methodKind === "unary")
      await transport.unary(method as never, undefined, 2_000, undefined, message as never);
    else {
      const stream = await transport.stream(
        method as never,
        undefined,
        2_000,
        undefined,
        (async function* () {
          yield message as never;
        })(),
      );
      for await (const _ of stream.message) break;
    }
    return "ok";
  } catch (error) {
    return Code[ConnectError.from(error).code] as string;
  }
}

test("every call has a row, and every row a call", () => {
  expect(Object.keys(PERMISSIONS).sort()).toEqual(METHODS.map(nameOf).sort());
});

describe.each(GUARDED.map((method) => [nameOf(method), method] as const))("%s", (name, method) => {
  const { role, scope } = PERMISSIONS[name] as { role: Role; scope: string };

  test("is refused without a token", async () => {
    expect(await codeOf(method, undefined, { namespace: "shop" })).toBe("Unauthenticated");
  });

  if (method.parent === ServerReflection) return;

  test("is refused to every lower role", async () => {
    for (const lower of ROLES.slice(0, ROLES.indexOf(role)))
      expect([lower, await codeOf(method, tokens.get(`${lower} *`), { namespace: "shop" })]).toEqual([
        lower,
        "PermissionDenied",
      ]);
  });

  test("is refused in another namespace", async () => {
    const code = await codeOf(method, tokens.get("admin shop"), { namespace: scope === "all" ? "shop" : "other" });
    expect(code).toBe(hasNamespace(method) || scope === "all" ? "PermissionDenied" : "ok");
  });

  if (!method.input.fields.some(({ localName }) => localName === "runId")) return;

  test("does not find a run of another namespace", async () => {
    const fields = { namespace: "shop", runId: foreignRun, name: "x", before: "1", stepId: `${foreignRun}:x` };
    const code = await codeOf(method, tokens.get("admin shop"), fields);
    expect(method.parent === WorkerService ? ["NotFound", "Aborted"] : ["NotFound"]).toContain(code);
  });
});

function hasNamespace(method: DescMethod): boolean {
  if (method === WorkerService.method.attach) return true;
  return method.input.fields.some(({ localName }) => localName === "namespace");
}

test("a step of a run of another namespace is not found", async () => {
  const { getStep } = AdminService.method;
  expect(await codeOf(getStep, tokens.get("admin shop"), { namespace: "shop", stepId: `${foreignRun}:x` })).toBe(
    "NotFound",
  );
});

test("health needs no token", async () => {
  expect(await codeOf(Health.method.check, undefined, {})).toBe("ok");
  expect(await codeOf(AdminService.method.healthCheck, undefined, {})).toBe("ok");
});

test("metrics need a token, the probes none", async () => {
  const status = async (path: string, headers = {}) => (await fetch(`${t.server.url}${path}`, { headers })).status;
  expect(await status("/livez")).toBe(200);
  expect(await status("/readyz")).toBe(200);
  expect(await status("/metrics")).toBe(401);
  expect(await status("/metrics", { authorization: `Bearer ${tokens.get("reader shop")}` })).toBe(200);
});

test("a token that is wrong in one digit opens nothing", async () => {
  const right = tokens.get("admin *") as string;
  const wrong = `${right.slice(0, -1)}${right.endsWith("0") ? "1" : "0"}`;
  expect(await codeOf(WorkflowService.method.listWorkflows, wrong, {})).toBe("Unauthenticated");
  expect(await codeOf(WorkflowService.method.listWorkflows, right, {})).toBe("ok");
});
