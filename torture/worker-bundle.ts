/** The program of a worker process in one file: it starts five times as fast as from its sources, and processes die often. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** Below node_modules, where its imports of database drivers are found. */
const CACHE = fileURLToPath(new URL("../node_modules/.cache", import.meta.url));

export interface WorkerBundle {
  readonly file: string;
  remove(): void;
}

export function bundleWorker(): Promise<WorkerBundle> {
  return bundleProgram("worker-process.ts");
}

/** `source`: its file, beside this one. */
export async function bundleProgram(source: string): Promise<WorkerBundle> {
  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(path.join(CACHE, "torture-"));
  const file = path.join(folder, "program.mjs");
  await build({
    entryPoints: [fileURLToPath(new URL(source, import.meta.url))],
    outfile: file,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    conditions: ["holdfast-source"],
    external: ["pg", "@photostructure/sqlite"],
    keepNames: true,
    logLevel: "error",
  });
  return { file, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
