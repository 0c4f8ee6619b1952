// The command and a server: it starts one, works through one, and says who may use it.

import { readFileSync, writeFileSync } from "node:fs";
import * as serverPackage from "@holdfast/server";
import { connect, silentLogger } from "holdfast";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ChildCommand } from "./child-command.ts";
import { eventually, KINDS, linesOf, newStore, type Ran, run, StoreUnderTest } from "./command-under-test.ts";
import { double, order } from "./sample-code.ts";

const packages = { "@holdfast/server": serverPackage, "@holdfast/remote": {} };

describe("holdfast server", () => {
  const { url: store, remove } = newStore("SQLite");
  let server: ChildCommand;
  let url: string;
  let token: string;
  const through = (...argv: string[]): Promise<Ran> =>
    run(["--url", url, "--token", token, "--json", ...argv], { packages });

  beforeAll(async () => {
    const made = await run(["--url", store, "token", "create", "--role", "admin", "--namespace", "*", "--json"], {
      packages,
    });
    token = String(made.records[0]?.["token"]);
    server = new ChildCommand(["server", "--url", store, "--port", "0", "--auth", "keys", "--json"]);
    await server.wrote("\n");
    const [line] = linesOf(server.out);
    const listening = JSON.parse(line ?? "null");
    url = listening.url;
    expect(listening).toEqual({ event: "listening", url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/) });
  }, 60_000);
  afterAll(async () => {
    server.kill();
    await remove();
  });

  test("serves workers and the verbs of this command with a key, and nobody without", async () => {
    const hf = await connect(url, { token, logger: silentLogger });
    await hf.worker({ workflows: [double, order] }).start();
    const started = await through("workflow", "start", "double", "--id", "d-1", "--input", '{"n":4}', "--wait");
    expect([started.code, started.records]).toMatchObject([0, [{ id: "d-1", status: "completed", result: 8 }]]);
    expect((await through("workflow", "list")).records).toMatchObject([{ id: "d-1", workflow: "double" }]);
    expect((await through("workflow", "describe", "d-1")).records).toMatchObject([{ id: "d-1", status: "completed" }]);
    expect((await through("workflow", "count")).records).toEqual([{ count: 1 }]);
    expect((await through("workers", "list")).records).toHaveLength(1);
    expect((await through("workflow", "result", "nobody")).code).toBe(3);
    const refused = await run(["--url", url, "--token", "wrong", "--json", "workflow", "list"], { packages });
    expect([refused.code, refused.error.code]).toEqual([5, "unauthenticated"]);
    const stranger = await run(["--url", url, "--token", "wrong", "--json", "token", "list"], { packages });
    expect([stranger.code, stranger.error.code]).toEqual([5, "unauthenticated"]);
    expect((await through("token", "list")).records).toMatchObject([{ role: "admin", namespace: "*" }]);
    const [own] = (await through("token", "create", "--role", "admin", "--namespace", "shop")).records;
    const asShop = (...argv: string[]) => run(["--url", url, "--token", String(own?.["token"]), "--json", ...argv]);
    expect((await asShop("token", "list")).records).toMatchObject([{ namespace: "shop" }]);
    expect((await asShop("namespace", "disable", "shop")).code).toBe(5);
    await hf.close();
  }, 60_000);

  test("drains when it is interrupted, and ends with 0", async () => {
    server.process.kill("SIGINT");
    expect(await server.ended).toBe(0);
    expect((await through("workflow", "list")).code).toBe(4);
  }, 60_000);
});

describe("SIGTERM", () => {
  const { url: store, remove } = newStore("SQLite");
  afterAll(() => remove());
  const serve = async (...argv: string[]) => serveStore(store, ...argv);
  const serveStore = async (url: string, ...argv: string[]) => {
    const server = new ChildCommand(["server", "--url", url, "--port", "0", "--json", ...argv]);
    await server.wrote("\n");
    return { server, url: String(JSON.parse(linesOf(server.out)[0] ?? "null").url) };
  };
  const readiness = async (url: string): Promise<number> => (await fetch(`${url}/readyz`)).status;

  test("the server is not ready at once, answers calls while balancers notice, and ends with 0", async () => {
    const { server, url } = await serve("--balancer-wait", "4s");
    const hf = await connect(url, { logger: silentLogger });
    await hf.worker({ workflows: [double] }).start();
    expect(await readiness(url)).toBe(200);
    server.process.kill("SIGTERM");
    await server.wrote('"event":"draining"');
    await eventually(() => readiness(url)).toBe(503);
    expect((await fetch(`${url}/livez`)).status).toBe(200);
    // New connections, calls and the worker's session go on.
    const started = await run(["--url", url, "--json", "workflow", "start", "double", "--input", '{"n":4}', "--wait"], {
      packages,
    });
    expect(started.records).toMatchObject([{ status: "completed", result: 8 }]);
    expect(await server.ended).toBe(0);
    expect(linesOf(server.out).map((line) => JSON.parse(line).event)).toEqual(["listening", "draining", "stopped"]);
    await hf.close();
  }, 60_000);

  test("a second signal stops at once", async () => {
    const { server } = await serve("--balancer-wait", "10m");
    server.process.kill("SIGTERM");
    await server.wrote('"event":"draining"');
    server.process.kill("SIGTERM");
    expect(await server.ended).toBe(130);
    expect(server.out).not.toContain("stopped");
  }, 60_000);

  test("a server that only checks its tables refuses a store that has none", async () => {
    const fresh = newStore("PostgreSQL");
    await run(["--url", fresh.url, "migrate"]);
    const { server } = await serveStore(fresh.url, "--migrate", "check");
    server.process.kill("SIGINT");
    expect(await server.ended).toBe(0);
    const empty = newStore("PostgreSQL");
    const refused = new ChildCommand(["server", "--url", empty.url, "--port", "0", "--json", "--migrate", "check"]);
    expect(await refused.ended).toBe(6);
    await fresh.remove();
    await empty.remove();
  }, 60_000);
});

describe.each(KINDS)("keys, namespaces and the audit log on %s", (kind) => {
  let store: StoreUnderTest;
  const json = (...argv: string[]): Promise<Ran> => store.run(["--json", ...argv], { packages });
  beforeAll(async () => {
    store = await StoreUnderTest.open(kind);
  });
  afterAll(() => store.close());

  test("a key is made, listed without its secret, and revoked", async () => {
    const [made] = (await json("token", "create", "--role", "worker", "--namespace", "shop", "--name", "ci")).records;
    expect(made).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{16}$/),
      token: expect.stringMatching(/^hf_[0-9a-f]{16}_[0-9a-f]{64}$/),
      role: "worker",
      namespace: "shop",
      expiresAt: null,
    });
    const listed = await json("token", "list");
    expect(listed.records).toEqual([
      {
        ...{ id: made?.["id"], name: "ci", role: "worker", namespace: "shop", createdAt: expect.any(String) },
        ...{ expiresAt: null, lastUsedAt: null, revokedAt: null },
      },
    ]);
    expect(listed.out).not.toContain(String(made?.["token"]).slice(20));
    expect((await json("token", "list", "--namespace", "other")).records).toEqual([]);
    expect((await json("token", "revoke", String(made?.["id"]), "--namespace", "other")).code).toBe(3);
    expect((await json("token", "revoke", String(made?.["id"]))).records).toMatchObject([
      { revokedAt: expect.any(String) },
    ]);
    const missing = await json("token", "revoke", "nobody");
    expect([missing.code, missing.error.code]).toEqual([3, "token_not_found"]);
    expect((await json("token", "create", "--role", "king")).code).toBe(2);
    expect((await json("token", "create")).code).toBe(2);
    const [short] = (await json("token", "create", "--role", "reader", "--expires", "90d")).records;
    // tidy-allow: keys expire by the clock of the store
    expect(Date.parse(String(short?.["expiresAt"])) - Date.now()).toBeGreaterThan(89 * 86_400_000);
    expect((await json("token", "create", "--role", "reader", "--expires", "-1d")).code).toBe(2);
  });

  test("namespaces are created, listed, disabled and enabled, and what was done is in the audit log", async () => {
    expect((await json("namespace", "create", "shop")).records).toMatchObject([{ namespace: "shop", enabled: true }]);
    const again = await json("namespace", "create", "shop");
    expect([again.code, again.error.code]).toEqual([6, "namespace_already_exists"]);
    expect((await json("namespace", "create", "metrics")).code).toBe(2);
    expect((await json("namespace", "disable", "shop")).records).toMatchObject([{ enabled: false }]);
    expect((await json("namespace", "list")).records).toContainEqual(
      expect.objectContaining({ namespace: "shop", displayName: "", description: "", enabled: false }),
    );
    await json("namespace", "enable", "shop");
    expect((await json("namespace", "enable", "nobody")).code).toBe(3);
    const events = (await json("audit", "--limit", "50", "--namespace", "*")).records;
    const done = events.filter(({ outcome, subject }) => outcome === "ok" && subject === "shop");
    expect(done.map(({ action }) => action)).toEqual(["EnableNamespace", "DisableNamespace", "CreateNamespace"]);
    expect(Object.keys(done[0] ?? {})).toEqual([
      ...["at", "actor", "action", "namespace", "subject", "outcome", "address"],
    ]);
    expect((await json("audit", "--limit", "2")).records).toHaveLength(2);
  });
});

test("verbs about access create no store, but for the first key", async () => {
  const { url, remove } = newStore("SQLite");
  const looked = await run(["--url", url, "--json", "token", "list"], { packages });
  expect([looked.code, looked.error.code]).toEqual([3, "store_not_found"]);
  expect((await run(["--url", url, "--json", "token", "create", "--role", "admin"], { packages })).code).toBe(0);
  await remove();
});

test("runs are exported from SQLite, imported into PostgreSQL, and moved there", async () => {
  const [from, to] = [newStore("SQLite"), newStore("PostgreSQL")];
  const hf = await connect(from.url, { logger: silentLogger });
  const worker = hf.worker({ workflows: [double] });
  await worker.start();
  await hf.run(double, { n: 4 }, { id: "done" });
  await worker.drain();
  for (const id of ["open-1", "open-2"]) await hf.start(double, { n: 5 }, { id });
  const file = `${from.url.slice("file:".length)}.jsonl`;
  const exported = await run(["--url", from.url, "--json", "export", "--to", file, "--status", "completed"]);
  expect([exported.code, exported.records]).toMatchObject([0, [{ runs: 1 }]]);
  const imported = await run(["--url", to.url, "--json", "import", "--from", file]);
  expect([imported.code, imported.records]).toMatchObject([0, [{ runs: 1 }]]);
  const cut = `${file}.cut`;
  const [header, ...lines] = linesOf(readFileSync(file, "utf8"));
  writeFileSync(cut, [header, ...lines.slice(0, -1), "not a line"].join("\n"));
  const third = newStore("SQLite");
  const partly = await run(["--url", third.url, "--json", "import", "--from", cut]);
  expect([partly.code, partly.error]).toMatchObject([1, { code: "invalid_export", data: { line: 3, runs: 1 } }]);
  expect(partly.error.message).toContain("1 run before it was imported");
  const nothing = await run(["--url", third.url, "--json", "import", "--from", cut]);
  expect([nothing.code, nothing.error]).toMatchObject([2, { code: "invalid_export", data: { line: 3, runs: 0 } }]);
  await third.remove();
  const moved = await run(["--url", from.url, "--json", "move", "--to", to.url, "--all", "--yes"]);
  expect([moved.code, moved.records]).toMatchObject([0, [{ runs: 2 }]]);
  const there = await connect(to.url, { logger: silentLogger });
  await there.worker({ workflows: [double] }).start();
  expect(await there.get("done").result()).toBe(8);
  await eventually(() => there.count({ status: "completed" })).toBe(3);
  await there.close();
  await hf.close();
  await from.remove();
  await to.remove();
}, 60_000);
