// The worker and client of `npm run bench -- remote`, in a process of its own, on a store or on a server.
import { once } from "node:events";
import { writeSync } from "node:fs";
import { performance } from "node:perf_hooks";
import process from "node:process";
import { createInterface } from "node:readline";
import { type Client, connect, silentLogger, workflow } from "holdfast";
import { idleCallMs, STEPS } from "./remote-calls.ts";

const [url = "", runs = "0", warmRuns = "0"] = process.argv.slice(2);

const ten = workflow("ten", async (ctx) => {
  for (let i = 0; i < STEPS; i += 1) await ctx.step("work", () => "seventeen bytes..");
});

process.stdin.on("end", () => process.exit());
const go = createInterface({ input: process.stdin });
const hf = await connect(url, { logger: silentLogger });
await hf.worker({ workflows: [ten], concurrency: 1_000 }).start();
await runAll(hf, Number(warmRuns));
writeSync(1, "warm\n");
await once(go, "line");
const cpu = process.cpuUsage();
const began = performance.now();
await runAll(hf, Number(runs));
const ms = performance.now() - began;
const { user, system } = process.cpuUsage(cpu);
writeSync(1, `${JSON.stringify({ ms, cpuMicros: user + system })}\n`);
await once(go, "line");
await hf.close();
writeSync(1, `${JSON.stringify({ callMs: await idleCallMs(url) })}\n`);
process.exit();

async function runAll(client: Client, count: number): Promise<void> {
  const handles = await client.startMany(Array.from({ length: count }, () => ({ workflow: ten })));
  await Promise.all(handles.map((handle) => handle.result()));
}
