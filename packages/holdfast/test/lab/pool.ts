import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, watch, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import {
  type AnyTask,
  type Client,
  type ConnectOptions,
  connect,
  type RunHandle,
  type TaskPoolOptions,
  type Worker,
  workflow,
} from "holdfast";
import { afterAll, onTestFinished, vi } from "vitest";
import { systemTaskProcesses } from "../../src/system/task-processes.ts";
import type { LogLine } from "./fleet.ts";
import { EXEC_ARGV, MODULE } from "./pool-module.ts";

export { EXEC_ARGV, MODULE };

interface Call {
  readonly name: string;
  readonly input: unknown;
  /** The run has something to undo, so it must learn how the task has ended. */
  readonly undone: boolean;
}

/** Calls one task, whichever it is, and says what it got. */
const call = (tasks: readonly AnyTask[]) =>
  workflow("call", async (ctx, { name, input, undone }: Call) =>
    ctx.task(tasks.find((task) => task.name === name) as AnyTask, input, undone ? { compensate: () => {} } : {}),
  );

export interface PoolLab {
  readonly client: Client;
  readonly worker: Worker;
  readonly lines: readonly LogLine[];
  /** Starts a run that calls the task. */
  start(task: AnyTask, input?: unknown, undone?: boolean): Promise<RunHandle>;
  /** The result of such a run. */
  run(task: AnyTask, input?: unknown): Promise<unknown>;
}

/** Waits for what processes do: nothing here is told when they are gone. */
export async function until(check: () => boolean | Promise<boolean>): Promise<void> {
  await vi.waitFor(async () => {
    if (!(await check())) throw new Error("not yet");
  }, 20_000);
}

/** The same for all tests of a file. */
export async function openSharedPool(...args: Parameters<typeof openPool>): Promise<PoolLab> {
  return open(afterAll, ...args);
}

/** A worker with a pool, in this process. It is gone when the test is over. */
export async function openPool(
  tasks: readonly AnyTask[],
  pool: Partial<TaskPoolOptions> = {},
  options: ConnectOptions = {},
): Promise<PoolLab> {
  return open(onTestFinished, tasks, pool, options);
}

async function open(
  whenOver: (close: () => Promise<void>) => void,
  tasks: readonly AnyTask[],
  pool: Partial<TaskPoolOptions> = {},
  options: ConnectOptions = {},
): Promise<PoolLab> {
  const lines: LogLine[] = [];
  const write = (level: LogLine["level"]) => (fields: object, message: string) =>
    void lines.push({ level, fields, message });
  const logger = { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
  const client = await connect("memory:", { logger, ...options });
  whenOver(() => client.close());
  const calls = call(tasks);
  bundle ??= bundled();
  // A module that is not bundled is TypeScript.
  const code = pool.module ? { execArgv: EXEC_ARGV } : { module: await bundle, execArgv: [] };
  const worker = client.worker({
    workflows: [calls],
    tasks,
    pool: { processes: 1, ...code, ...pool } as TaskPoolOptions,
  });
  await worker.start();
  const start: PoolLab["start"] = ({ name }, input, undone = false) => client.start(calls, { name, input, undone });
  return { client, worker, lines, start, run: async (task, input) => (await start(task, input)).result() };
}

let bundle: Promise<URL> | undefined;
const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

/** The module of the pools under test, with Holdfast, as one file: a process that loads it is ready in no time. */
async function bundled(): Promise<URL> {
  const root = fileURLToPath(new URL("../../../..", import.meta.url));
  mkdirSync(path.join(root, "dist"), { recursive: true });
  const folder = mkdtempSync(path.join(root, "dist", "pool-"));
  folders.push(folder);
  const outfile = path.join(folder, "tasks.mjs");
  const contents = 'import { serveTasks } from "holdfast"; import * as tasks from "./tasks.ts"; serveTasks(tasks);';
  await build({
    stdin: { contents, resolveDir: path.dirname(fileURLToPath(MODULE)), loader: "ts" },
    ...{ outfile, bundle: true, platform: "node", format: "esm", conditions: ["holdfast-source"] },
  });
  // There is a file that would load the module here, but it is not in the bundle.
  const { start } = systemTaskProcesses;
  vi.spyOn(systemTaskProcesses, "start").mockImplementation((params, events) =>
    start(params.module.endsWith(".mjs") ? { ...params, loader: undefined } : params, events),
  );
  return pathToFileURL(outfile);
}

/** A folder for what processes tell each other. */
export function openFolder(): { file(name: string): string } {
  const folder = mkdtempSync(path.join(os.tmpdir(), "holdfast-pool-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return { file: (name) => path.join(folder, name) };
}

/** The lines of a file, as soon as it has that many. */
export function linesOf(file: string, count: number): Promise<string[]> {
  return new Promise((resolve) => {
    const look = (): boolean => {
      const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
      if (lines.length < count) return false;
      watcher.close();
      resolve(lines);
      return true;
    };
    const watcher = watch(path.dirname(file), () => void look());
    look();
  });
}

export function makeFile(file: string): void {
  writeFileSync(file, "");
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
