// How the processes of a pool begin and end.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { connect, silentLogger, task, workflow } from "holdfast";
import { testEngine } from "holdfast/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { EXEC_ARGV, isAlive, linesOf, MODULE, makeFile, openFolder, openPool, until } from "../lab/pool.ts";
import { about, block, deaf, echo, hold } from "./tasks.ts";

const root = fileURLToPath(new URL("../../../..", import.meta.url));

test("a process is replaced after its tasks, and its successor is ready before it gets its last one", async () => {
  const pool = await openPool([about], { recycleAfter: 2, module: MODULE });
  const pids: number[] = [];
  // Without a gap: there is always a process that can take the next task.
  for (let i = 0; i < 60 && new Set(pids).size < 3; i++) {
    expect(pool.worker.pool?.processes.some(({ state }) => state === "ready")).toBe(true);
    pids.push(((await pool.run(about)) as { pid: number }).pid);
  }
  expect(pool.worker.pool?.restarts.recycled).toBeGreaterThanOrEqual(1);
});

test("a worker that drains waits for its tasks, and leaves no process", async () => {
  const pool = await openPool([hold], { processes: 2 });
  const folder = openFolder();
  const input = { says: folder.file("pid"), until: folder.file("go") };
  const run = await pool.start(hold, input);
  const [pid] = await linesOf(input.says, 1);
  const pids = pool.worker.pool?.processes.map((process) => process.pid as number) ?? [];
  const drained = pool.worker.drain();
  makeFile(input.until);
  await drained;
  expect(pids.filter(isAlive)).toEqual([]);
  expect(pool.worker.pool?.processes).toEqual([]);
  await pool.worker.start();
  expect(String(await run.result())).toBe(pid);
});

test("a worker that stops ends the processes of tasks that do not", async () => {
  const pool = await openPool([deaf, block], { processes: 2 });
  const says = openFolder().file("pids");
  await pool.start(deaf, says);
  await pool.start(block, says);
  const pids = (await linesOf(says, 2)).map(Number);
  await pool.worker.stop();
  expect(pids.filter(isAlive)).toEqual([]);
});

test("when the worker's process is killed its children go too, whatever they are doing", async () => {
  const says = openFolder().file("pids");
  const parent = spawn(process.execPath, [...EXEC_ARGV, fileURLToPath(new URL("program.ts", import.meta.url)), says], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  onTestFinished(() => void parent.kill("SIGKILL"));
  const pids = (await linesOf(says, 2)).map(Number);
  expect(pids.filter(isAlive)).toHaveLength(2);
  parent.kill("SIGKILL");
  await until(() => !pids.some(isAlive));
});

test("a worker does not start if its module does not export all of its tasks", async () => {
  const unknown = task("unknown", () => 1);
  await expect(openPool([echo, unknown], { module: MODULE })).rejects.toMatchObject({
    code: "task_pool_failed",
    message: expect.stringContaining('does not export task "unknown"'),
  });
});

test("a worker does not start if its module cannot be loaded", async () => {
  const module = new URL("./nowhere.ts", import.meta.url);
  await expect(openPool([echo], { module })).rejects.toThrow(/Cannot find module .*nowhere/);
});

/** The text of a module that says so and never finishes loading, with or without its event loop. */
function endless(says: string, how: "waits" | "blocks"): URL {
  const file = path.join(path.dirname(says), `${how}.mjs`);
  const never = how === "waits" ? "await new Promise((resolve) => setTimeout(resolve, 1e9));" : "for (;;);";
  const text = `require("node:fs").appendFileSync(${JSON.stringify(says)}, process.pid + "\\n");`;
  writeFileSync(
    file,
    `import { createRequire } from "node:module";\nconst require = createRequire(import.meta.url);\n${text}\n${never}\n`,
  );
  return pathToFileURL(file);
}

describe.each(["waits", "blocks"] as const)("a module that %s for ever", (how) => {
  test("does not keep a client from closing, and its process goes", async () => {
    const says = openFolder().file("pids");
    const hf = await connect("memory:", { logger: silentLogger });
    const pool = { module: endless(says, how), execArgv: EXEC_ARGV, processes: 1 };
    const started = hf.worker({ tasks: [echo], pool }).start();
    const [pid] = (await linesOf(says, 1)).map(Number);
    await hf.close();
    await started;
    expect(isAlive(pid as number)).toBe(false);
  });

  test("does not let its process outlive the worker's", async () => {
    const says = openFolder().file("pids");
    const program = fileURLToPath(new URL("loading-program.ts", import.meta.url));
    const args = [...EXEC_ARGV, program, endless(says, how).href];
    const parent = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] });
    onTestFinished(() => void parent.kill("SIGKILL"));
    const [pid] = (await linesOf(says, 1)).map(Number);
    parent.kill("SIGKILL");
    await until(() => !isAlive(pid as number));
  });
});

test("a module with two tasks of one name is refused", async () => {
  const module = new URL("two-tasks.ts", import.meta.url);
  await expect(openPool([echo], { module })).rejects.toThrow(
    'The module of the pool has two tasks with the name "echo"',
  );
});

test("a module that starts a worker is refused: its processes would be workers", async () => {
  const module = new URL("program.ts", import.meta.url);
  await expect(openPool([echo], { module })).rejects.toThrow("was started in a process of a task pool");
});

test("a limit on memory that the module alone exceeds is refused", async () => {
  await expect(openPool([echo], { memory: "64 MiB", module: MODULE })).rejects.toThrow(
    /takes \d+ MiB of memory when it is loaded/,
  );
});

test("a program that is bundled with Holdfast serves its tasks itself", async () => {
  mkdirSync(path.join(root, "dist"), { recursive: true });
  const folder = mkdtempSync(path.join(root, "dist", "pool-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const source = (code: string) => ({ stdin: { contents: code, resolveDir: root, loader: "ts" as const } });
  const files = {
    "tasks.mjs": `import { serveTasks, task } from "holdfast";
      export const double = task("double", (n: number) => 2 * n);
      serveTasks([double]);`,
    "program.mjs": `import { connect, silentLogger, task, workflow } from "holdfast";
      const double = task("double", (n: number) => { throw new Error("not here"); });
      const main = workflow("main", (ctx, n: number) => ctx.task(double, n));
      const hf = await connect("memory:", { logger: silentLogger });
      const pool = { module: new URL("./tasks.mjs", import.meta.url), processes: 1 };
      await hf.worker({ workflows: [main], tasks: [double], pool }).start();
      console.log(await hf.run(main, 21));
      await hf.close();`,
  };
  for (const [name, code] of Object.entries(files))
    await build({
      ...source(code),
      outfile: path.join(folder, name),
      bundle: true,
      platform: "node",
      format: "esm",
      conditions: ["holdfast-source"],
      external: ["@holdfast/*"],
    });
  writeFileSync(path.join(folder, "package.json"), "{}");
  const child = spawn(process.execPath, [path.join(folder, "program.mjs")], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  let out = "";
  child.stdout.on("data", (chunk: Buffer) => {
    out += chunk.toString();
  });
  expect(await new Promise((resolve) => child.on("close", resolve))).toBe(0);
  expect(out).toBe("42\n");
});

test("in a test engine tasks are executed without processes, and can be mocked", async () => {
  const main = workflow("main", (ctx) => ctx.task(echo, 1));
  const engine = await testEngine({ workflows: [main], tasks: [echo] });
  onTestFinished(() => engine.close());
  expect(await engine.run(main)).toBe(1);
});

test("options that cannot be are refused", async () => {
  const client = await connect("memory:", { logger: silentLogger });
  onTestFinished(() => client.close());
  const module = new URL("./tasks.ts", import.meta.url);
  const refused = (options: object, message: string) =>
    expect(() => client.worker({ tasks: [echo], ...options } as never)).toThrow(message);
  refused({ pool: {} }, "worker: pool.module is missing");
  refused(
    { pool: { module: "./tasks.ts" } },
    'worker: pool.module is "./tasks.ts", not a file URL or an absolute path',
  );
  refused({ pool: { module, memory: "1 GB" } }, 'worker: pool.memory is "1 GB", not a size like "512 MiB" or "1 GiB"');
  refused({ pool: { module, memory: "8 MiB" } }, "the minimum is 64 MiB");
  refused({ pool: { module, proceses: 4 } }, "processes");
  refused({ pool: { module, processes: 0 } }, "worker: pool.processes is 0");
  refused({ pool: { module }, tasks: [] }, "worker: pool is given, but the worker has no tasks");
  refused({ pool: { module, processes: 2, perProcess: 3 }, taskConcurrency: 7 }, "the pool executes 6 at once");
});
