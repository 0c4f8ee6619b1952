/**
 * The process of `dev` that executes the user's code: `node dev-child.js <namespace> <file…>`, with the store in the
 * environment. It loads the code, and begins when it is told to. If `dev` is gone, it drains and ends.
 */
import process from "node:process";
import type { WorkerOptions } from "holdfast";
import { loadCodec } from "../../io/codec-file.ts";
import { processIo } from "../../io/process-io.ts";
import { Output } from "../../output/output.ts";
import { workerLogger } from "../../output/worker-logger.ts";
import { DEV_DRAIN, DEV_URL, type FromChild, type ToChild } from "./dev-messages.ts";
import { codeText, type ExportedCode, loadCode } from "./exported-code.ts";

const [namespace = "", ...files] = process.argv.slice(2);

const io = processIo("");
const url = io.env[DEV_URL] ?? "";
const imported: string[] = [];
const tell = (message: FromChild): void => void process.send?.(message, () => {});

let drain = (): void => process.exit(0);
let draining = false;
let begin = (): void => {};
const begun = new Promise<void>((resolve) => {
  begin = resolve;
});
process.on("message", (message: ToChild) => (message === "begin" ? begin() : drain()));
// Without `dev`, it finishes what it does; unless `dev` had asked for that before, and was ended the hard way.
process.on("disconnect", () => (draining ? process.exit(1) : drain()));
// A terminal sends Ctrl-C to every process: `dev` decides what it means.
for (const signal of ["SIGINT", "SIGTERM"]) process.removeAllListeners(signal);
process.on("SIGTERM", () => drain());
process.on("SIGINT", () => {});

const code = await load();
if (code === undefined) process.exit(1);
await begun;
const core = await io.core();
const logger = workerLogger(io, new Output(io, false), { own: true });
const codecFile = io.env["HOLDFAST_CODEC"];
const codec = codecFile ? { codec: await loadCodec(io, codecFile) } : {};
const hf = await core.connect(url, { namespace, logger, ...codec });
const drainTimeout = io.env[DEV_DRAIN];
const options = {
  workflows: code.workflows,
  tasks: code.tasks,
  name: "dev",
  ...(drainTimeout ? { drainTimeout } : {}),
};
const worker = hf.worker(options as WorkerOptions);
await worker.start();
drain = () => {
  if (draining) return;
  draining = true;
  void worker
    .drain()
    .then(() => hf.close())
    .then(
      () => process.exit(0),
      () => process.exit(1),
    );
};
tell({ event: "working" });

async function load(): Promise<ExportedCode | undefined> {
  try {
    const loaded = await loadCode(io, files, (file) => imported.push(file));
    const workflows = [...new Set(loaded.workflows.map(({ name }) => name))];
    tell({ event: "loaded", what: codeText(loaded), workflows, files: imported });
    return loaded;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    await new Promise<void>((resolve) => {
      process.send?.({ event: "failed", message, files: imported } satisfies FromChild, () => resolve());
    });
    return undefined;
  }
}
