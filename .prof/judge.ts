import { performance } from "node:perf_hooks";
import { dueTimes, putOf } from "../packages/holdfast/src/calls/scheduled-runs.ts";
import { judgeTimes } from "../packages/holdfast/src/model/decisions/schedule.ts";
import { uuidV7 } from "../packages/holdfast/src/model/ids.ts";
import { readSpec } from "../packages/holdfast/src/calendar/index.ts";
import { systemPorts } from "../packages/holdfast/src/system/ports.ts";
const { clock, random } = systemPorts as any;
const at = Date.now() - 1;
const state = { lastAt: null, openId: null, buffered: [], waits: "no", failures: 0, lastError: null } as const;
const kinds: any = { at: { at: new Date(at) }, cron: { cron: "*/5 * * * *", timezone: "Europe/Berlin" }, every: { every: "1m" }, daily: { cron: "30 2 * * *", timezone: "America/New_York" } };
for (const [k, spec] of Object.entries(kinds)) for (let rep = 0; rep < 4; rep++) {
  const all = Array.from({ length: 500 }, (_, i) => ({ namespace: "default", id: `due-${i}`, revision: "01890000-0000-7000-8000-000000000000", createdAt: at, input: new Uint8Array(4), open: null, state: { ...state, nextAt: at },
    definition: { spec: readSpec(spec as any), workflow: "tick", version: null, fallbackVersion: "1", queue: "default", priority: 0, attributes: {}, timeoutMs: null, overlap: "skip", catchUpMax: 100, catchUpWindowMs: null, paused: false, note: null, by: null } }));
  const t = [0, 0, 0, 0];
  for (const s of all as any[]) {
    const a = performance.now(); const { times, nextAt } = dueTimes(s, at + 1);
    const b = performance.now(); const j = judgeTimes({ ...s, state: { ...s.state, nextAt } }, times.length ? times : [at], {});
    const c = performance.now(); const u = uuidV7(clock.now(), random.bytes(16));
    const d = performance.now(); putOf(s, j, u, { random } as any);
    const e = performance.now(); t[0] += b - a; t[1] += c - b; t[2] += d - c; t[3] += e - d;
  }
  console.log(k, rep, "dueTimes", t[0].toFixed(1), "judge", t[1].toFixed(1), "uuid", t[2].toFixed(1), "put", t[3].toFixed(1));
}
