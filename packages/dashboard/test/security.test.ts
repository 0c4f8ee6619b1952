/** Who is let in, what foreign pages can do, and what visitors see of values. */
import { connect, silentLogger, workflow } from "holdfast";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Dashboard, dashboard, type Visitor } from "../src/index.ts";
import { get, ORIGIN, post } from "./asking.ts";

const HOSTILE = `<img src=x onerror=alert(1)>"'\u202e\u0000</script>{{constructor}}`;
const echo = workflow("echo", async (_ctx, input: unknown) => input);
const hf = await connect("memory:", { logger: silentLogger });
const boards: Dashboard[] = [];

function boardFor(visitor: Partial<Visitor>, more: object = {}): Dashboard {
  const whole = { user: "ann", role: "admin", namespaces: ["*"], payloads: "full", ...visitor } as Visitor;
  const made = dashboard(hf, { auth: () => whole, ...more });
  boards.push(made);
  return made;
}

const open = dashboard(hf, { auth: "open" });

beforeAll(async () => {
  await hf.worker({ workflows: [echo] }).start();
  const hostile = JSON.parse(`{"__proto__":{"polluted":"yes"},"name":${JSON.stringify(HOSTILE)},"card":"4111","n":7}`);
  const run = await hf.start(echo, hostile, { id: HOSTILE.replace("\u0000", ""), attributes: { tenant: "a" } });
  await run.result();
});
afterAll(async () => {
  await Promise.all([...boards, open].map((one) => one.close()));
  await hf.close();
});

describe("who is let in", () => {
  test("auth has no default", () => {
    expect(() => dashboard(hf, {} as never)).toThrow(/auth/);
    expect(() => dashboard(hf, { auth: "closed" as never })).toThrow(/auth/);
    expect(() => dashboard(hf, { auth: "open", base: "admin" })).toThrow(/base/);
  });

  test('"open" serves this machine, and nobody who comes through a proxy', async () => {
    expect((await get(open, "api/session")).status).toBe(200);
    for (const host of ["localhost:9", "[::1]:80", "127.0.0.1"])
      expect((await get(open, "api/session", { host })).status).toBe(200);
    for (const host of ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:7433", ""])
      expect((await get(open, "api/session", { host })).status).toBe(403);
    for (const name of ["x-forwarded-for", "forwarded", "x-real-ip", "via", "x-forwarded-host"])
      expect((await get(open, "api/session", { [name]: "1.2.3.4" })).body).toMatchObject({ code: "not_local" });
  });

  test("what auth returns is checked: a mistake opens nothing", async () => {
    for (const visitor of [
      undefined,
      null,
      {},
      { user: "a", role: "root", namespaces: ["*"], payloads: "full" },
      { user: "a", role: "reader", namespaces: ["*"] },
      { user: "a", role: "admin" },
    ]) {
      const board = dashboard(hf, { auth: () => visitor as never });
      expect((await get(board, "api/session")).status).toBe(500);
      expect((await get(board, "api/default/runs")).status).toBe(500);
    }
    const refused = dashboard(hf, { auth: () => new Response("who are you?", { status: 401 }) });
    expect((await get(refused, "api/default/runs")).status).toBe(401);
    expect((await get(refused, "default/runs")).status).toBe(401);
    // The headers of a redirection cannot be changed, and it gets those of the dashboard all the same.
    const sentOn = dashboard(hf, { auth: () => Response.redirect("http://127.0.0.1/login", 302) });
    const answer = await sentOn.fetch(new Request("http://127.0.0.1/default/runs", { headers: { host: "127.0.0.1" } }));
    expect([answer.status, answer.headers.get("location")]).toEqual([302, "http://127.0.0.1/login"]);
    expect(answer.headers.get("content-security-policy")).toContain("default-src 'none'");
  });

  test("a host that is not listed is refused, for pages as well", async () => {
    const board = boardFor({}, { hosts: ["board.example"] });
    expect((await get(board, "api/session", { host: "board.example:8443" })).status).toBe(200);
    expect((await get(board, "default", { host: "evil.example" })).body).toMatchObject({ code: "bad_host" });
  });

  test("a namespace that is not theirs is refused", async () => {
    const board = boardFor({ namespaces: ["shop"] });
    expect((await get(board, "api/default/runs")).status).toBe(403);
    expect((await get(board, "api/shop/runs")).body.runs).toEqual([]);
    expect((await get(board, "api/session")).body.namespaces).toEqual(["shop"]);
  });

  test("readers look, writers act, admins change limits; read-only stops them all", async () => {
    const acts: [string, object][] = [
      ["start", { workflow: "echo" }],
      ["batch", { action: "cancel", filter: { workflow: "nothing" }, id: "b1" }],
      ["schedules/create", { id: "s", workflow: "echo", cron: "0 0 * * *" }],
    ];
    for (const [path, body] of acts) {
      expect((await post(boardFor({ role: "reader" }), `api/default/${path}`, body)).status).toBe(403);
      expect((await post(boardFor({}, { readOnly: true }), `api/default/${path}`, body)).status).toBe(403);
    }
    expect((await post(boardFor({ role: "writer" }), "api/default/start", { workflow: "echo" })).status).toBe(200);
    const limits = { limits: { concurrency: 5 } };
    expect((await post(boardFor({ role: "writer" }), "api/default/queues/q/limits", limits)).status).toBe(403);
    expect((await post(boardFor({}), "api/default/queues/q/limits", limits)).status).toBe(200);
    const purge = { action: "purge", filter: { workflow: "nothing" }, id: "b2" };
    expect((await post(boardFor({ role: "writer" }), "api/default/batch", purge)).status).toBe(403);
    expect((await post(boardFor({}), "api/default/batch", purge)).status).toBe(200);
  });
});

describe("foreign pages", () => {
  const body = { workflow: "echo" };
  test.each([
    ["no CSRF header", { "x-holdfast-csrf": "" }],
    ["a form", { "content-type": "application/x-www-form-urlencoded" }],
    ["text", { "content-type": "text/plain" }],
    ["no origin", { origin: "" }],
    ["no origin, but a cookie and a token", { origin: "", cookie: "a=b", authorization: "Bearer x" }],
    ["the origin null", { origin: "null" }],
    ["another origin", { origin: "http://evil.example" }],
    ["another port", { origin: "http://127.0.0.1:1" }],
    ["a page of another site", { "sec-fetch-site": "cross-site" }],
    ["a page of the same site", { "sec-fetch-site": "same-site" }],
  ])("cannot change anything with %s", async (_, headers) => {
    const before = await hf.count();
    const { status, body: refused } = await post(open, "api/default/start", body, headers as Record<string, string>);
    expect([403, 415]).toContain(status);
    expect(refused.code).toBe("csrf");
    expect(await hf.count()).toBe(before);
  });

  test("a program with a token needs no origin", async () => {
    const headers = { origin: "", authorization: "Bearer x" };
    expect((await post(open, "api/default/start", body, headers)).status).toBe(200);
  });

  test("no GET changes anything, and no other method is answered", async () => {
    expect((await get(open, "api/default/start?workflow=echo")).status).toBe(404);
    for (const method of ["PUT", "DELETE", "PATCH", "OPTIONS"])
      expect((await open.fetch(new Request(`${ORIGIN}/api/default/runs`, { method }))).status).toBe(405);
  });

  test("a link from elsewhere leads to a page, never to data", async () => {
    const link = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
    expect([200, 503]).toContain((await get(open, "default/runs/o1", link)).status);
    const data = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" };
    expect((await get(open, "api/default/runs", data)).status).toBe(403);
    expect((await get(open, "api/default/runs", { origin: "http://evil.example" })).status).toBe(403);
  });
});

describe("headers", () => {
  const CSP =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; worker-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types holdfast";

  test("are those of the design on every answer, refusals too", async () => {
    for (const path of ["", "default/runs", "api/session", "api/nothing/here", "assets/missing.js"]) {
      const { headers } = await get(open, path);
      expect(headers.get("content-security-policy")).toBe(CSP);
      expect(headers.get("x-content-type-options")).toBe("nosniff");
    }
    expect((await get(open, "api/session")).headers.get("cache-control")).toBe("no-store");
  });

  test("the codec's origin may be connected to, and nothing else is added", async () => {
    const board = boardFor({}, { codecUrl: "https://codec.example/decode?a=b" });
    const policy = (await get(board, "")).headers.get("content-security-policy");
    expect(policy).toBe(CSP.replace("connect-src 'self'", "connect-src 'self' https://codec.example"));
    expect(() => dashboard(hf, { auth: "open", codecUrl: "https://x/; script-src *" })).toThrow(/codecUrl/);
  });
});

describe("values", () => {
  const path = `api/default/runs/${encodeURIComponent(HOSTILE.replace("\u0000", ""))}`;

  test("are text, whatever they contain; __proto__ is a key like others", async () => {
    const { body, headers } = await get(open, path);
    expect(headers.get("content-type")).toBe("application/json; charset=utf-8");
    const shown = JSON.parse(body.run.input.text);
    expect(Object.keys(shown)).toEqual(["__proto__", "name", "card", "n"]);
    expect(shown.name).toBe(HOSTILE);
    expect(({} as { polluted?: string }).polluted).toBeUndefined();
  });

  test("are downloaded as attachments that no browser executes", async () => {
    const { headers, body } = await get(open, `${path}/payload/input?download=1`);
    expect(headers.get("content-disposition")).toMatch(/^attachment; filename="[\w.-]+"$/);
    expect(headers.get("content-security-policy")).toBe("default-src 'none'; sandbox");
    expect(body.card).toBe("4111");
  });

  test("are redacted on the server, everywhere", async () => {
    const board = boardFor({ payloads: "redacted" });
    for (const part of [
      "",
      "/data",
      "/events",
      "/payload/0",
      "/payload/input",
      "/payload/input?download=1",
      "/export",
    ]) {
      const { body, status } = await get(board, `${path}${part}`);
      expect(`${part} ${status}`).toBe(`${part} 200`);
      expect(JSON.stringify(body)).not.toContain("4111");
    }
    expect((await get(board, path)).body.run.input).toMatchObject({ form: "redacted" });
    const own = boardFor({ payloads: "redacted" }, { redact: (value: { n: number }) => ({ n: value.n }) });
    expect(JSON.parse((await get(own, path)).body.run.input.text)).toEqual({ n: 7 });
    const broken = boardFor(
      { payloads: "redacted" },
      {
        redact: () => {
          throw new Error("no");
        },
      },
    );
    expect((await get(broken, path)).body.run.input.text).toBe('"[redacted]"');
  });

  test("are hidden altogether", async () => {
    const board = boardFor({ payloads: "hidden" });
    for (const part of ["", "/data", "/events", "/export", "/payload/0?download=1"])
      expect(JSON.stringify((await get(board, `${path}${part}`)).body)).not.toContain("4111");
    expect((await get(board, path)).body.run.input).toMatchObject({ form: "hidden", text: "" });
  });
});

test("bodies, paths and parameters that make no sense are refused in words", async () => {
  expect((await post(open, "api/default/start", "{")).body.code).toBe("bad_request");
  expect((await post(open, "api/default/start", "[]")).body.code).toBe("bad_request");
  const bad = await post(open, "api/default/start", { workflow: "echo", input: '{"a": x}' });
  expect(bad.body).toMatchObject({ code: "bad_json", data: { field: "input", position: 6 } });
  expect((await post(open, "api/default/start", { workflow: "echo", input: "x".repeat(5_000_000) })).status).toBe(413);
  expect((await get(open, "api/default/runs?cursor=nonsense")).status).toBe(400);
  expect((await get(open, "api/default/runs?limit=-1")).status).toBe(400);
  expect((await get(open, "api/default/runs/%ff")).status).toBe(400);
  expect((await get(open, "api/default/runs/none")).body.code).toBe("run_not_found");
  expect((await get(open, "api/default/runs/none/payload/0")).status).toBe(404);
  expect((await get(open, "api/default/live?topics=passwords")).status).toBe(400);
  for (const climb of [
    "assets/../../package.json",
    "assets/..%2f..%2fpackage.json",
    "assets/%2e%2e/%2e%2e/package.json",
  ])
    expect(JSON.stringify((await get(open, climb)).body)).not.toContain("@holdfast");
});
