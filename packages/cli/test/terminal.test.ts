// Verbs that run until they are told to stop, and what is drawn meanwhile: on a pseudo-terminal, ended by Ctrl-C.
import { readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ChildCommand, type ChildOptions, runChild } from "./child-command.ts";
import { eventually, KINDS, newFolder, newStore, run, StoreUnderTest, sampleCode } from "./command-under-test.ts";

const CTRL_C = "\u0003";
const SHOW_CURSOR = "\u001b[?25h";
const CLEAR_LINE = "\r\u001b[K";
const root = fileURLToPath(new URL("../../..", import.meta.url));
const STORES = ["SQLite", "PostgreSQL"] as const;
const onLinux = process.platform === "linux";
const children: ChildCommand[] = [];

/** On a terminal of 80 columns, without colors: what is asked for is then one piece of text. */
function onTerminal(argv: readonly string[], options: ChildOptions = {}): ChildCommand {
  const child = new ChildCommand(argv, { terminal: 80, ...options, env: { NO_COLOR: "1", ...options.env } });
  children.push(child);
  return child;
}

async function interrupt(child: ChildCommand): Promise<number | string> {
  child.type(CTRL_C);
  return child.ended;
}

function newProject(code: string): string {
  const project = newFolder();
  symlinkSync(path.join(root, "node_modules"), path.join(project, "node_modules"));
  writeFileSync(path.join(project, "package.json"), '{"type":"module"}');
  writeFileSync(path.join(project, "app.ts"), code);
  return project;
}

const CODE = 'import { workflow } from "holdfast";\nexport const ask = workflow("ask", async () => 1);\n';

// Tests that fail leave theirs behind.
afterAll(() => {
  for (const child of children) child.kill();
});

// skip: the pseudo-terminal is made by script of util-linux, which other systems do not have
describe.skipIf(!onLinux).concurrent.each(KINDS)("on %s", { timeout: 60_000 }, (kind) => {
  let store: StoreUnderTest;
  beforeAll(async () => {
    store = await StoreUnderTest.open(kind);
    await store.hf.start("order", { cents: 1 }, { id: "first" });
  });
  afterAll(() => store.close());

  test.sequential.each([
    ["workflow list --watch", "first"],
    ["top --every 1", "holdfast top"],
  ])("%s is drawn again with what is new, until Ctrl-C", async (line, begins) => {
    const [verb, ...argv] = line.split(" ");
    const id = `late-${verb}`;
    const child = onTerminal(["--url", store.url, verb as string, ...argv]);
    await child.wrote(begins);
    await store.hf.start("buggy", undefined, { id });
    await child.wrote(id);
    expect(await interrupt(child)).toBe(130);
    expect(child.out).toContain(SHOW_CURSOR);
    expect(child.out).toMatch(/\u001b\[\d+A\r/);
  });

  test.sequential("queue list --watch ends with Ctrl-C, and workflow watch of an open run too", async () => {
    const queues = onTerminal(["--url", store.url, "queue", "list", "--watch"]);
    await queues.wrote("default");
    expect(await interrupt(queues)).toBe(130);
    const run = onTerminal(["--url", store.url, "workflow", "watch", "first"]);
    await run.wrote("charge");
    expect(await interrupt(run)).toBe(130);
    expect(run.out).toContain(SHOW_CURSOR);
  });

  test.sequential("workflow watch ends by itself when the run does, with 1 if it failed", async () => {
    await store.hf.start("order", { cents: 2 }, { id: "watched" });
    const child = onTerminal(["--url", store.url, "workflow", "watch", "watched"]);
    await child.wrote("signal");
    await store.hf.get("watched").terminate();
    expect(await child.ended).toBe(1);
    expect(child.out).toContain("terminated");
  });

  test.sequential("a worker drains at Ctrl-C, and its exit code is 0, in a pipe as well", async () => {
    const argv = ["--url", store.url, "worker", sampleCode];
    const child = onTerminal(argv);
    const piped = new ChildCommand(argv);
    children.push(piped);
    await Promise.all([child, piped].map((one) => one.wrote("Ctrl-C drains and stops.")));
    piped.process.kill("SIGINT");
    expect(await Promise.all([interrupt(child), piped.ended])).toEqual([0, 0]);
    expect(child.out).toContain("Draining: running steps have 30s. A second signal stops at once.");
    for (const { out } of [child, piped]) expect(out).toContain("Stopped; its runs are free for other workers");
    expect(piped.out).not.toContain("\u001b");
  });

  test.sequential("bulk work shows a bar that is gone at the end, and none in a pipe", async () => {
    const start = async (count: number): Promise<void> => {
      for (let n = 0; n < count; n += 1) await store.hf.start("asking", undefined);
    };
    await start(12);
    const argv = ["--url", store.url, "workflow", "terminate", "--workflow", "asking", "--yes"];
    const child = onTerminal(argv);
    expect(await child.ended).toBe(0);
    expect(child.out).toContain(`${"░".repeat(30)} 0 % 0 of 12`);
    expect(child.out).toContain(`${"█".repeat(30)} 100 % 12 of 12`);
    expect(child.out.slice(child.out.lastIndexOf(CLEAR_LINE))).toContain("done for 12 runs");
    await start(2);
    const piped = await runChild(argv);
    expect([piped.code, piped.err]).toEqual([0, ""]);
    expect(piped.out).toContain("done for 2 runs");
  });

  test.sequential("Ctrl-C during bulk work leaves no bar behind, and is exit code 130", async () => {
    for (let n = 0; n < 5; n += 1) await store.hf.start("asking", undefined);
    const argv = ["workflow", "terminate", "--workflow", "asking", "--yes", "--per-second", "1"];
    const child = onTerminal(["--url", store.url, ...argv]);
    await child.wrote("of 5");
    expect(await interrupt(child)).toBe(130);
    expect(child.out.lastIndexOf(CLEAR_LINE)).toBeGreaterThan(child.out.lastIndexOf("of 5"));
  });
});

// skip: the pseudo-terminal is made by script of util-linux, which other systems do not have
describe.skipIf(!onLinux)("server and dev", { timeout: 60_000 }, () => {
  test.each(STORES)(
    "a server on %s and a terminal does not wait for balancers at Ctrl-C, and ends with 0",
    async (kind) => {
      const { url, remove } = newStore(kind);
      const child = onTerminal(["--url", url, "server", "--port", "0"]);
      await child.wrote("Holdfast listening on http://127.0.0.1:");
      expect(await interrupt(child)).toBe(0);
      expect(child.out).toContain("Draining: calls have 10 s.");
      await remove();
    },
  );

  test("dev drains at Ctrl-C, and its exit code is 0", async () => {
    const cwd = newProject(CODE);
    const child = onTerminal(["dev", "app.ts", "--port", "0"], { cwd });
    await child.wrote("Ctrl-C drains and stops.");
    expect(await interrupt(child)).toBe(0);
    expect(child.out).toContain("✓ Stopped.");
    rmSync(cwd, { recursive: true });
  });

  test("dev --demo has a few hundred runs, and does not wait at Ctrl-C for its steps that take an hour", async () => {
    const cwd = newProject(CODE);
    const { url, remove } = newStore("PostgreSQL");
    const child = onTerminal(["dev", "--demo", "--port", "0", "--url", url], { cwd });
    await child.wrote("Ctrl-C drains and stops.");
    const count = async (...status: string[]): Promise<number> =>
      Number((await run(["--url", url, "workflow", "count", ...status])).out);
    expect(await count()).toBeGreaterThan(200);
    await eventually(() => count("--status", "failed")).toBeGreaterThan(0);
    expect(await interrupt(child)).toBe(0);
    expect(child.out).toContain("Draining: running steps have 1s.");
    rmSync(cwd, { recursive: true });
    await remove();
  });

  test("Ctrl-C ends dev while the code is loaded, however long that takes", async () => {
    const cwd = newProject('console.log("loading for ever");\nfor (;;);\n');
    const child = onTerminal(["dev", "app.ts", "--port", "0"], { cwd });
    await child.wrote("loading for ever");
    expect(await interrupt(child)).toBe(0);
    expect(child.out).not.toContain("Its process ended");
    rmSync(cwd, { recursive: true });
  });
});

test("dev ends with 2 where another program has the port, and its worker with it", { timeout: 60_000 }, async () => {
  const cwd = newProject(CODE);
  const taken = createServer();
  const port = await new Promise<number>((resolve) => {
    taken.listen(0, "127.0.0.1", () => resolve((taken.address() as { readonly port: number }).port));
  });
  const { code, err } = await runChild(["dev", "app.ts", "--port", String(port)], { cwd });
  expect([code, err]).toEqual([2, expect.stringContaining("which another program uses")]);
  taken.close();
  expect(readdirSync(cwd)).toContain(".holdfast");
  rmSync(cwd, { recursive: true });
});
