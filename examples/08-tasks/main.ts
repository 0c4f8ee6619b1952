// An order whose payment and mail are done by two other processes:
//   npm start 08-tasks                          on a fresh SQLite file
//   npm start 08-tasks --silent -- --json       one JSON object per line, for scripts
//   npm start 08-tasks -- --store postgres://…
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { connect, isHoldfastError, silentLogger } from "holdfast";
import { order } from "./order.ts";
import { type Line, prose, show, speakOnScreen, summary, tell } from "./tell.ts";

const { values } = parseArgs({ options: { json: { type: "boolean", default: false }, store: { type: "string" } } });
speakOnScreen(values);
const folder = mkdtempSync(path.join(os.tmpdir(), "holdfast-tasks-"));
const url = values.store ?? `file:${path.join(folder, "orders.db")}`;
const namespace = `tasks-${Date.now()}`;

prose(
  "An order reserves, pays and mails. This process knows the workflow; payments and mail are workers in processes of",
  "their own, which know only their tasks. All that the three share is the store.",
  "",
);
const hf = await connect(url, { logger: silentLogger });
await hf.worker({ name: "main", workflows: [order] }).start();
const payments = await startWorker("payments");

const cheap = { id: "o-1", item: "lamp", cents: 4_990, email: "ann@example.com" };
const run = await hf.start(order, cheap, { id: `${namespace}-o-1` });
tell({ order: "o-1", text: "is started. There is no mail worker yet", mark: "note" });

// The mail waits in the store, whoever scheduled it.
while ((await hf.tasks.list({ name: "send-mail", runId: run.runId })).tasks.length === 0) await pause();
tell({ order: "o-1", text: `why? ${(await hf.why(run.id)).reason}`, mark: "note" });
const mail = await startWorker("mail");
const first = await run.result();
tell({ order: "o-1", text: `result: ${JSON.stringify(first)}` });

const dear = { id: "o-2", item: "grand piano", cents: 4_500_000, email: "cy@example.com" };
const second = await hf.run(order, dear, { id: `${namespace}-o-2` }).catch((error: unknown) => {
  if (!isHoldfastError(error, "run_failed")) throw error;
  return (error.cause as Error).message;
});
tell({ order: "o-2", text: `failed: ${second}`, mark: "bad" });

const steps = (await run.steps()).map(({ op, status, attempts }) => ({ op, status, attempts }));
prose("", "The tasks of o-1, as its history has them:");
for (const { op, status, attempts } of steps) prose(`  ${op.padEnd(18)} ${status}, attempts: ${attempts}`);
summary({ outcomes: { "o-1": first, "o-2": second }, steps });

await hf.close();
for (const child of [payments, mail]) {
  child.disconnect();
  await once(child, "exit");
}
rmSync(folder, { recursive: true, force: true });

async function startWorker(name: string): Promise<ChildProcess> {
  const file = fileURLToPath(new URL("worker.ts", import.meta.url));
  const child = fork(file, [url, name], { execArgv: ["--import", "tsx"] });
  await new Promise<void>((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`worker ${name} ended with ${code}`)));
    child.on("message", ({ line, ready }: { line?: Line; ready?: boolean }) => {
      if (line) show(line);
      if (ready) resolve();
    });
  });
  tell({ who: name, text: `works in process ${child.pid}, this is process ${process.pid}`, mark: "note" });
  return child;
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 20));
}
