/** The real world. */
import { createRequire } from "node:module";
import path from "node:path";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Io } from "./io.ts";

export function processIo(bin: string): Io {
  const stop = new AbortController();
  let asked = 0;
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      asked += 1;
      stop.abort(signal);
      // Whoever asks twice does not want to wait.
      if (asked > 1) process.exit(130);
    });
  }
  return {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    cwd: process.cwd(),
    now: () => Date.now(),
    wait,
    random: () => Math.random(),
    interrupted: stop.signal,
    core: async () => (await loadOwn("holdfast")) ?? import("holdfast"),
    adapter: async () => (await loadOwn("holdfast/adapter")) ?? import("holdfast/adapter"),
    importFile,
    importPackage,
    self: { program: process.execPath, nodeArgs: process.execArgv, bin },
  };
}

export function wait(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done);
    if (signal?.aborted) done();
  });
}

/** The project's own copy first: its workflows and adapters belong to that one, also if this command is installed elsewhere. */
async function loadOwn<M>(name: string): Promise<M | undefined> {
  const file = find(name, path.join(process.cwd(), "command.js"));
  return file === undefined ? undefined : ((await import(pathToFileURL(file).href)) as M);
}

async function importPackage(name: string): Promise<unknown> {
  const file = find(name, path.join(process.cwd(), "command.js")) ?? find(name, import.meta.url);
  // A package that is there and fails is a fault that must be seen.
  return file === undefined ? undefined : import(pathToFileURL(file).href);
}

/** The file that a package name resolves to when imported from `place`. */
function find(name: string, place: string): string | undefined {
  try {
    return createRequire(place).resolve(name);
  } catch {
    return undefined;
  }
}

/** Once for the process: a second one would compile everything twice. */
let compiler: Promise<void> | undefined;
const listeners = new Set<(file: string) => void>();

/**
 * By tsx on every version of Node: Node's own type stripping refuses enums and does not find `./order.js` where there is an
 * `order.ts`. Stacks show the lines of the sources.
 */
async function importFile(file: string, onImport?: (file: string) => void): Promise<Record<string, unknown>> {
  if (onImport) listeners.add(onImport);
  compiler ??= compile();
  await compiler;
  onImport?.(file);
  return (await import(pathToFileURL(file).href)) as Record<string, unknown>;
}

async function compile(): Promise<void> {
  // Bun and Deno do it themselves.
  if (process.versions["bun"] !== undefined || process.versions["deno"] !== undefined) return;
  process.setSourceMapsEnabled(true);
  const { register } = await import("tsx/esm/api");
  register({
    onImport: (url) => {
      if (!url.startsWith("file:") || url.includes("/node_modules/")) return;
      const imported = fileURLToPath(new URL(url.split("?")[0] as string));
      for (const listener of listeners) listener(imported);
    },
  });
}
