// The command and a server: it starts one, works through one, and says who may use it.

import * as serverPackage from "@holdfast/server";
import { connect, silentLogger } from "holdfast";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ChildCommand } from "./child-command.ts";
import { eventually, linesOf, newStore, type Ran, run } from "./command-under-test.ts";
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
    await hf.close();
  }, 60_000);

  test("drains when it is interrupted, and ends with 0", async () => {
    server.process.kill("SIGINT");
    expect(await server.ended).toBe(0);
    expect((await through("workflow", "list")).code).toBe(4);
  }, 60_000);
});

describe("keys, namespaces and the audit log", () => {
  const { url, remove } = newStore("SQLite");
  const json = (...argv: string[]): Promise<Ran> => run(["--url", url, "--json", ...argv], { packages });
  afterAll(() => remove());

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
    expect(listed.records).toMatchObject([{ id: made?.["id"], name: "ci", role: "worker", revokedAt: null }]);
    expect(listed.out).not.toContain(String(made?.["token"]).slice(20));
    expect((await json("token", "revoke", String(made?.["id"]))).records).toMatchObject([
      { revokedAt: expect.any(String) },
    ]);
    const missing = await json("token", "revoke", "nobody");
    expect([missing.code, missing.error.code]).toEqual([3, "token_not_found"]);
    expect((await json("token", "create", "--role", "king")).code).toBe(2);
    expect((await json("token", "create")).code).toBe(2);
  });

  test("namespaces are created, listed, disabled and enabled, and what was done is in the audit log", async () => {
    expect((await json("namespace", "create", "shop")).records).toMatchObject([{ namespace: "shop", enabled: true }]);
    expect((await json("namespace", "create", "shop")).code).toBe(6);
    expect((await json("namespace", "create", "metrics")).code).toBe(2);
    expect((await json("namespace", "disable", "shop")).records).toMatchObject([{ enabled: false }]);
    expect((await json("namespace", "list")).records).toMatchObject([{ namespace: "shop", enabled: false }]);
    await json("namespace", "enable", "shop");
    expect((await json("namespace", "enable", "nobody")).code).toBe(3);
    const actions = (await json("audit", "--limit", "3")).records.map(({ action }) => action);
    expect(actions).toEqual(["EnableNamespace", "DisableNamespace", "CreateNamespace"]);
  });

  test("they work on the store, not through a server", async () => {
    const { code, error } = await run(["--url", "http://127.0.0.1:1", "--json", "token", "list"], { packages });
    expect([code, error.code]).toEqual([2, "usage"]);
  });
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
