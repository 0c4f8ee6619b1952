// Heavy computation, on processes of its own, so that the process with the workflows stays free:
//   npm start 10-heavy-task                       two worker processes, on a fresh SQLite file
//   npm start 10-heavy-task -- --workers 4
//   npm start 10-heavy-task --silent -- --json    one JSON object, for scripts
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { connect, silentLogger } from "holdfast";
import { picture } from "./picture.ts";

const { values } = parseArgs({
  options: { json: { type: "boolean", default: false }, workers: { type: "string", default: "2" } },
});
const folder = mkdtempSync(path.join(os.tmpdir(), "holdfast-heavy-"));
const url = `file:${path.join(folder, "pictures.db")}`;
const hf = await connect(url, { logger: silentLogger });
await hf.worker({ workflows: [picture] }).start();
const workers = await Promise.all(Array.from({ length: Number(values.workers) }, startWorker));

const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();
const began = performance.now();
const bands = await hf.run(picture);
const ms = Math.round(performance.now() - began);
delay.disable();

const rows = bands.flatMap((band) => band.rows);
const by = [...new Set(bands.map(({ pid }) => pid))].map((pid) => ({
  pid,
  bands: bands.filter((band) => band.pid === pid).length,
}));
const here = by.some(({ pid }) => pid === process.pid);
if (values.json) console.log(JSON.stringify({ ms, by, here, rows }));
else {
  for (const row of rows) console.log(row);
  console.log();
  for (const { pid, bands: count } of by) console.log(`${String(count).padStart(2)} bands by process ${pid}`);
  console.log(
    `${ms} ms in all. This process computed nothing: its slowest turn took ${Math.round(delay.max / 1e6)} ms.`,
  );
}

await hf.close();
for (const child of workers) {
  child.disconnect();
  await once(child, "exit");
}
rmSync(folder, { recursive: true, force: true });

async function startWorker(): Promise<ChildProcess> {
  const file = fileURLToPath(new URL("worker.ts", import.meta.url));
  const child = fork(file, [url], { execArgv: ["--import", "tsx"] });
  await once(child, "message");
  return child;
}
