// Real worker processes, stopped the way a terminal (SIGINT) or a deployment (SIGTERM) does it, on every store.
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { connect, silentLogger } from "holdfast";
import pg from "pg";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { readGuide, root, Workspace } from "./guide/workspace.ts";
import { ChildWorker } from "./shutdown/child-worker.ts";
import { twoSteps } from "./shutdown/two-steps.ts";

const folder = mkdtempSync(path.join(os.tmpdir(), "holdfast-shutdown-"));
const schemas: string[] = [];
let names = 0;

const STORES = {
  memory: () => "memory:",
  SQLite: () => `file:${path.join(folder, `${names++}.db`)}`,
  PostgreSQL: () => {
    const url = new URL(process.env.HOLDFAST_TEST_POSTGRES_URL ?? "");
    const schema = `hf shutdown ${process.pid} ${names++}`;
    schemas.push(schema);
    url.searchParams.set("schema", schema);
    return url.toString();
  },
} as const;
const stores = Object.entries(STORES);
const SIGNALS = ["SIGTERM", "SIGINT"] as const;
const everyWay = stores.flatMap(([store, newUrl]) => SIGNALS.map((signal) => [store, signal, newUrl] as const));

const [guideWorker] = readGuide().filter(({ code }) => code.includes("handleSignals: true"));
if (!guideWorker) throw new Error("the guide has no program with handleSignals");
const workspace = new Workspace([guideWorker]);
const workerProgram = path.join(root, "scripts", "shutdown", "worker-program.ts");
const children: ChildWorker[] = [];

function run(...args: ConstructorParameters<typeof ChildWorker>): ChildWorker {
  const child = new ChildWorker(...args);
  children.push(child);
  return child;
}

afterEach(() => {
  for (const child of children.splice(0)) child.kill();
});

afterAll(async () => {
  workspace.remove();
  rmSync(folder, { recursive: true, force: true });
  const admin = new pg.Client({ connectionString: process.env.HOLDFAST_TEST_POSTGRES_URL });
  await admin.connect();
  await admin.query("set client_min_messages = warning");
  for (const schema of schemas) await admin.query(`drop schema if exists "${schema}" cascade`);
  await admin.end();
});

test.each(everyWay)("on %s the guide's worker ends by itself, with code 0, on %s", async (_store, signal, newUrl) => {
  const child = run(workspace.pathOf(guideWorker), [], { STORE_URL: newUrl() });
  await child.wrote("worker started");
  child.signal(signal);
  expect(await child.ended).toBe(0);
  expect(child.lines.at(-1)).toContain("worker stopped");
});

describe("while a step is running", () => {
  test.each(everyWay)(
    "on %s the worker is draining at once on %s, and ends when the step has",
    async (_, signal, newUrl) => {
      const child = run(workerProgram, [newUrl(), "hand-on"]);
      await child.wrote("in the step");
      child.signal(signal);
      expect(await child.ended).toBe(0);
      expect(child.lines).toEqual(["in the step", "draining"]);
    },
  );

  test.each(stores.filter(([store]) => store !== "memory"))(
    "on %s another process goes on with the run",
    async (_, newUrl) => {
      const url = newUrl();
      const child = run(workerProgram, [url, "hand-on"]);
      await child.wrote("in the step");
      child.signal("SIGTERM");
      expect(await child.ended).toBe(0);

      const hf = await connect(url, { logger: silentLogger });
      expect((await hf.workers.list()).map(({ name, status, died }) => [name, status, died])).toEqual([
        ["one", "offline", false],
        ["two", "offline", false],
      ]);
      expect(await hf.get("r").steps()).toMatchObject([{ op: "first", status: "completed" }]);
      const here: string[] = [];
      const shipping = twoSteps({ first: () => here.push("first"), second: () => here.push("second") });
      await hf.worker({ workflows: [shipping] }).start();
      expect(await hf.get("r").result()).toBe("done");
      expect(here).toEqual(["second"]);
      await hf.close();
    },
  );

  test.each(everyWay)(
    "on %s a second %s ends the process at once, the way it would without a handler",
    async (_, signal, newUrl) => {
      const child = run(workerProgram, [newUrl(), "hang"]);
      await child.wrote("in the step");
      child.signal(signal);
      // An echo, as from a launcher that passes Ctrl-C on: it does not count.
      child.signal(signal);
      await child.wrote("hanging");
      child.signal(signal);
      expect(await child.ended).toBe(signal);
    },
  );

  test("a second signal cuts the drain short where the program listens too: how it ends is left to the program", async () => {
    const child = run(workerProgram, ["memory:", "beside"]);
    await child.wrote("in the step");
    child.signal("SIGINT");
    await child.wrote("hanging");
    child.signal("SIGINT");
    expect(await child.ended).toBe(0);
    const heard = "another listener heard it";
    expect(child.lines).toEqual(["in the step", heard, "draining", "hanging", heard, "aborted"]);
  });
});

test.each(everyWay)(
  "on %s a program that has nothing left but the wait for a result is told on %s, and ends",
  async (_, signal, newUrl) => {
    const child = run(path.join(root, "scripts", "shutdown", "waiting-program.ts"), [newUrl()]);
    await child.wrote("waiting");
    child.signal(signal);
    expect(await child.ended).toBe(0);
    // The client itself is not closed, and the run is as it was.
    expect(child.lines).toEqual(["waiting", "client_closed sleeping"]);
  },
);

test.each(stores)(
  "on %s a client that nobody uses does not keep the process alive, closed or not",
  async (_, newUrl) => {
    const child = run(path.join(root, "scripts", "shutdown", "client-program.ts"), [newUrl()]);
    expect(await child.ended).toBe(0);
    expect(child.lines).toEqual(["started, read, waited"]);
  },
);
