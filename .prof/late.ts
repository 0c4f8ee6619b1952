import { performance } from "node:perf_hooks";
import { jsonCodec, workflow } from "holdfast";
import { Client } from "../packages/holdfast/src/client/client.ts";
import { hookedStore } from "../packages/holdfast/src/ports/store-calls.ts";
import { systemPorts } from "../packages/holdfast/src/system/ports.ts";
import { silentLogger } from "../packages/holdfast/src/ports/logger.ts";
const which = process.argv[2] ?? "sqlite";
const N = Number(process.argv[3] ?? 1000);
const { clock, random } = systemPorts as any;
let parts: any; let drop = async () => {};
if (which === "sqlite") {
  const { openParts } = await import("../packages/sqlite/src/open-store.ts");
  const { temporaryFolder } = await import("../packages/sqlite/test/sqlite-under-test.ts");
  const folder = temporaryFolder();
  parts = await openParts(`file:${folder.file("app.db")}`, { clock, random, log: silentLogger } as any);
  drop = async () => folder.remove();
} else {
  const { startServers } = await import("../scripts/test-servers.mjs");
  const servers: any = await startServers({ fsync: true, settings: { shared_buffers: "256MB", work_mem: "16MB", random_page_cost: "1.1", ...(process.env.EXPLAIN ? { shared_preload_libraries: "auto_explain", "auto_explain.log_min_duration": "1", "auto_explain.log_nested_statements": "on", "auto_explain.log_analyze": "on", "auto_explain.log_timing":"on" } : {}) } });
  process.on("exit", () => servers.stop());
  const { openStore } = await import("../packages/postgres/src/index.ts");
  parts = await openStore(servers.postgresUrl, { clock, random, log: silentLogger } as any);
  drop = async () => servers.stop();
}
let on = false; let at = 0; const lines: string[] = [];
const hooks: any = {};
const agg = new Map<string, {n:number,ms:number,first:number,last:number}>();
for (const m of ["schedules.due","schedules.putIfRevision","runs.claim","runs.commit","runs.start","workers.heartbeat","runs.read"]) hooks[m] = async (p: any, call: any) => {
  const b = performance.timeOrigin + performance.now();
  const r = await call();
  const e = performance.timeOrigin + performance.now();
  if (on) lines.push(`${(b-at).toFixed(1)} → ${(e-at).toFixed(1)} (${(e-b).toFixed(1)}) ${m} ${m==="schedules.putIfRevision"?p.puts.length:m==="schedules.due"?r.schedules.length:m==="runs.claim"?JSON.stringify(r).length:m==="runs.commit"?(p.runs??p.commits??[]).length:""}`);
  return r;
};
const store = hookedStore(parts.store, hooks);
const client = new Client({ clock, random, codec: jsonCodec, log: silentLogger, store, notifier: parts.notifier } as any, "default", async () => {});
let finished = 0; let done: any; const all = new Promise(r => done = r);
const tick = workflow("tick", async (ctx) => { if (++finished === target) done(); });
let target = 100;
const worker = client.worker({ workflows: [tick], concurrency: 500, cacheSize: 1000, lease: "5s" } as any);
await worker.start();
for (let i = 0; i < 100; i++) await client.start(tick, undefined as any, { id: `w${i}` });
await all;
for (let rep = 0; rep < Number(process.argv[4] ?? 2); rep++) {
  finished = 0; target = N; const p = new Promise(r => done = r);
  at = Date.now() + (which === "sqlite" ? 3000 : 4000);
  let next = 0;
  await Promise.all(Array.from({ length: 50 }, async () => { while (next < N) { const i = next++; await client.schedules.create({ id: `r${rep}-${i}`, workflow: tick, at: new Date(at) }); } }));
  if (Date.now() > at) console.log("TOO LATE", Date.now() - at);
  lines.length = 0; on = true;
  await p;
  await new Promise(r => setTimeout(r, 200));
  on = false;
  console.log(lines.join("\n"));
  const late: number[] = [], began: number[] = [];
  for (let cursor: any; cursor !== null;) { const page: any = await client.list({ workflow: "tick", limit: 1000, ...(cursor ? { cursor } : {}) } as any);
    for (const r of page.runs) { const a = Date.parse(String(r.attributes["holdfast.scheduledAt"])); if (a !== at) continue; late.push(r.createdAt.getTime() - a); began.push(r.startedAt.getTime() - a); } cursor = page.cursor; }
  const q = (v: number[], x: number) => v.sort((a, b) => a - b)[Math.min(v.length - 1, Math.floor(x * v.length))];
  console.log(which, "n", late.length, "fired p50", q(late, .5), "p99", q(late, .99), "began p50", q(began, .5), "p99", q(began, .99));
}
if (process.env.EXPLAIN) { const fs = await import("node:fs"); for (const f of fs.readdirSync("/tmp")) if (f.startsWith(`holdfast-postgres-${process.pid}-`)) fs.copyFileSync(`/tmp/${f}/server.log`, "/tmp/sched-prof/server.log"); }
await worker.stop(); await client.close?.(); await parts.store.close(); await drop(); process.exit(0);
