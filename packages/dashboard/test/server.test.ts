/** The dashboard of a server process: logins with API keys, sessions, and none at all. */

import { createKey, openServer, type Server } from "@holdfast/server";
import { connect, silentLogger, workflow } from "holdfast";
import { openClients } from "holdfast/adapter";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RunAudit } from "../src/api/run-messages.ts";
import type { AuditPage, SettingsView } from "../src/api/settings-messages.ts";
import { serverDashboard } from "../src/server.ts";

const URL_OF_STORE = "memory:dashboard-server";
const opened = await openClients(URL_OF_STORE, { logger: silentLogger });
const access = opened.opened.access as NonNullable<typeof opened.opened.access>;
const hf = await connect(URL_OF_STORE, { logger: silentLogger });
let server: Server;
let keys: { readonly admin: string; readonly reader: string; readonly id: string };

beforeAll(async () => {
  await hf.worker({ workflows: [workflow("echo", async (_ctx, input: unknown) => input)] }).start();
  const make = (role: "admin" | "reader", namespace: string) =>
    createKey(access, opened.random, { name: role, role, namespace, expiresAt: null });
  const [admin, reader] = [await make("admin", "*"), await make("reader", "default")];
  keys = { admin: admin.token, reader: reader.token, id: reader.id };
  server = await openServer({
    url: URL_OF_STORE,
    port: 0,
    auth: "keys",
    logger: silentLogger,
    dashboard: serverDashboard,
  });
});
afterAll(async () => {
  await server.close();
  await hf.close();
  await opened.close();
});

function send(path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  const own = { "content-type": "application/json", "x-holdfast-csrf": "1", origin: server.url };
  return fetch(`${server.url}/${path}`, {
    method: "POST",
    headers: { ...own, ...headers },
    body: JSON.stringify(body),
  });
}

async function login(key: string): Promise<string> {
  const answer = await send("api/login", { key });
  expect(answer.status).toBe(200);
  return (answer.headers.get("set-cookie") as string).split(";", 1)[0] as string;
}

describe("with API keys", () => {
  test("nobody gets anything without a login, but the page that asks for it", async () => {
    expect(server.dashboard).toBe(`${server.url}/`);
    const refused = await fetch(`${server.url}/api/default/runs`);
    expect(refused.status).toBe(401);
    expect(await refused.json()).toMatchObject({ code: "unauthenticated", login: true });
    expect([200, 503]).toContain((await fetch(`${server.url}/default/runs`)).status);
  });

  test("the cookie is for this origin alone, no script reads it, and it ends after 12 hours", async () => {
    const answer = await send("api/login", { key: keys.admin });
    const cookie = answer.headers.get("set-cookie") as string;
    expect(cookie).toMatch(/^holdfast_session=[\w.]+; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Strict$/);
    expect(Number(/Max-Age=(\d+)/.exec(cookie)?.[1])).toBeGreaterThan(12 * 3600 - 60);
    expect(await answer.json()).toMatchObject({ role: "admin", logout: true });
    expect(cookie).not.toContain(keys.admin.slice(20));
    const proxied = await send("api/login", { key: keys.admin }, { "x-forwarded-proto": "https" });
    expect(proxied.headers.get("set-cookie")).toMatch(/; Secure$/);
  });

  test("a session has the role and the namespaces of its key", async () => {
    const cookie = await login(keys.reader);
    const session = await (await fetch(`${server.url}/api/session`, { headers: { cookie } })).json();
    expect(session).toMatchObject({ role: "reader", namespaces: ["default"] });
    expect((await fetch(`${server.url}/api/default/runs`, { headers: { cookie } })).status).toBe(200);
    expect((await fetch(`${server.url}/api/other/runs`, { headers: { cookie } })).status).toBe(403);
    expect((await send("api/default/start", { workflow: "echo" }, { cookie })).status).toBe(403);
  });

  test("the audit log is for admins", async () => {
    const { runId } = await hf.start("echo", 1);
    const cookie = await login(keys.admin);
    await send(`api/default/runs/${runId}/cancel`, { reason: "none" }, { cookie });
    for (const [key, seen] of [
      [keys.admin, true],
      [keys.reader, false],
    ] as const) {
      const headers = { cookie: await login(key) };
      expect((await fetch(`${server.url}/api/default/audit`, { headers })).status).toBe(seen ? 200 : 403);
      const ofRun = await fetch(`${server.url}/api/default/runs/${runId}/audit`, { headers });
      const { entries } = (await ofRun.json()) as RunAudit;
      expect(entries.some(({ what }) => what === "CancelWorkflow")).toBe(seen);
    }
  });

  test("a cookie that was changed opens nothing, and none is a bearer token", async () => {
    const cookie = await login(keys.admin);
    const [id, until, signed] = cookie.slice("holdfast_session=".length).split(".") as [string, string, string];
    for (const forged of [`${id}.${Number(until) + 1}.${signed}`, `${id}.${until}.${"0".repeat(64)}`, `${id}`, ""])
      expect(
        (await fetch(`${server.url}/api/session`, { headers: { cookie: `holdfast_session=${forged}` } })).status,
      ).toBe(401);
    const bearer = { authorization: `Bearer hf_${id}_${signed}` };
    expect((await fetch(`${server.url}/api/session`, { headers: bearer })).status).toBe(401);
  });

  test("logging out ends the session in the store; so does its key", async () => {
    const cookie = await login(keys.admin);
    const out = await send("api/logout", {}, { cookie });
    expect(out.status).toBe(204);
    expect(out.headers.get("set-cookie")).toContain("Max-Age=0");
    expect((await fetch(`${server.url}/api/session`, { headers: { cookie } })).status).toBe(401);
    const reader = await login(keys.reader);
    await access.revokeKey({ id: keys.id });
    expect((await fetch(`${server.url}/api/session`, { headers: { cookie: reader } })).status).toBe(401);
  });

  test("the stream of a page ends soon after its key was revoked elsewhere, and its next read is refused", async () => {
    const made = await createKey(access, opened.random, {
      name: "soon gone",
      role: "reader",
      namespace: "default",
      expiresAt: null,
    });
    const headers = { cookie: await login(made.token) };
    const stream = await fetch(`${server.url}/api/default/live?topics=runs,session`, { headers });
    const reader = (stream.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader.read()).value).toContain("event: hello");
    await access.revokeKey({ id: made.id });
    let told = "";
    for (let part = await reader.read(); !part.done; part = await reader.read()) told += part.value;
    // It is told by the next look, of which there is one a second; a ping, which asks as well, comes after 15.
    expect(told).not.toContain("event: ping");
    expect(told).toContain('{"type":"hint","topic":"session"}');
    expect((await fetch(`${server.url}/api/session`, { headers })).status).toBe(401);
  });

  test("programs send the key itself, and need no origin", async () => {
    const headers = {
      "content-type": "application/json",
      "x-holdfast-csrf": "1",
      authorization: `Bearer ${keys.admin}`,
    };
    const body = JSON.stringify({ workflow: "echo", input: "5" });
    const answer = await fetch(`${server.url}/api/default/start`, { method: "POST", headers, body });
    const { runId } = (await answer.json()) as { runId: string };
    expect(await hf.get({ runId }).result()).toBe(5);
    const audit = (await (await fetch(`${server.url}/api/default/audit`, { headers })).json()) as AuditPage;
    expect(audit.entries[0]).toMatchObject({ action: "StartWorkflow", subject: "echo", outcome: "ok" });
  });

  test("sessions are listed, and can be revoked", async () => {
    const cookie = await login(keys.admin);
    const { sessions, tokens } = (await (
      await fetch(`${server.url}/api/default/settings`, { headers: { cookie } })
    ).json()) as SettingsView;
    expect(sessions.length).toBeGreaterThan(0);
    expect(JSON.stringify(tokens)).not.toMatch(/hash|[0-9a-f]{64}/);
    const id = cookie.slice("holdfast_session=".length).split(".")[0];
    expect((await send(`api/default/settings/sessions/${id}/revoke`, {}, { cookie })).status).toBe(200);
    expect((await access.readKey({ id: id as string }))?.key.revokedAt).not.toBeNull();
  });

  test("whoever guesses has to wait", async () => {
    const wrong = `hf_${"0".repeat(16)}_${"0".repeat(64)}`;
    const statuses: number[] = [];
    for (let n = 0; n < 25; n++) statuses.push((await send("api/login", { key: wrong })).status);
    expect(statuses.slice(0, 5)).toEqual([401, 401, 401, 401, 401]);
    expect(statuses.at(-1)).toBe(429);
  });
});

test("a server without authentication is open to its machine, and ends its streams when it drains", async () => {
  const open = await openServer({ url: "memory:", port: 0, logger: silentLogger, dashboard: serverDashboard });
  const session = await (await fetch(`${open.url}/api/session`)).json();
  expect(session).toMatchObject({ role: "admin", logout: false });
  const forwarded = await fetch(`${open.url}/api/session`, { headers: { "x-forwarded-for": "1.2.3.4" } });
  expect(forwarded.status).toBe(403);
  const stream = await fetch(`${open.url}/api/default/live?topics=runs`);
  const read = stream.text();
  await open.close();
  expect(await read).toContain('"type":"hello"');
});
