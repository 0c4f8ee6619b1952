import { signal, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { SCHEDULES_PER_CALL_MAX } from "../../src/engine/lead/schedule-pass.ts";
import type { ScheduleRecord } from "../../src/memory/state.ts";
import type { DueSchedulesParams, PutSchedulesParams } from "../../src/ports/store.ts";
import { Cluster, Gate, type Process, type StoreHook, unavailable } from "../lab/harness.ts";

/** More than a leader reads at once, twice. */
const CROWD = 2 * SCHEDULES_PER_CALL_MAX + 10;

const go = signal<true>("go");
const job = workflow("job", async (ctx) => {
  await ctx.receive(go);
});

/** As many schedules as the one of that id, with ids that come before its own. */
function crowd({ store }: Cluster, id: string, change: (one: ScheduleRecord) => Partial<ScheduleRecord> = () => ({})) {
  const one = store.state.schedules.get(`default\n${id}`) as ScheduleRecord;
  store.state.schedules.delete(`default\n${id}`);
  for (let i = 0; i < CROWD; i++)
    store.state.schedules.set(`default\n${id}${i}`, { ...one, id: `${id}${i}`, ...change(one) });
}

async function scene(hook?: StoreHook): Promise<{ cluster: Cluster; process: Process }> {
  const cluster = new Cluster();
  const process = cluster.process("a", hook);
  await process.worker({ workflows: [job] });
  return { cluster, process };
}

test("schedules that wait to stop a run that never ends do not keep those behind them from being fired", async () => {
  const { cluster, process } = await scene();
  const { clock, store } = cluster;
  const { schedules } = process.client;
  const at = (ms: number): Date => new Date(clock.now() + ms);
  const stuck = { workflow: "nobody has it", every: "10s", overlap: "cancel-other" } as const;
  await cluster.until(schedules.create({ id: "a", ...stuck }));
  crowd(cluster, "a");
  const times = [at(5_000), at(30_000)];
  await cluster.until(schedules.create({ id: "z", workflow: job, at: times, overlap: "buffer-one" }));
  await clock.advance("1m");
  expect([...store.state.schedules.values()].filter(({ state }) => state.waits === "look")).toHaveLength(CROWD);
  const [first, second] = times.map((time) => `z@${time.toISOString()}`) as [string, string];
  expect(store.state.byId.has(`default\n${second}`)).toBe(false);
  await cluster.until(process.client.get(first).signal(go, true));
  await clock.advance("6s");
  expect(store.state.byId.has(`default\n${second}`)).toBe(true);
});

test("schedules that this code cannot read do not keep those behind them from being fired", async () => {
  const { cluster, process } = await scene();
  const { schedules } = process.client;
  await cluster.until(schedules.create({ id: "a", workflow: job, every: "10s" }));
  crowd(cluster, "a", ({ definition }) => ({
    definition: { ...definition, spec: { ...definition.spec, cron: ["* * * * *"], timezone: "Atlantis/Capital" } },
  }));
  await cluster.until(schedules.create({ id: "z", workflow: job, every: "10s", overlap: "allow" }));
  await cluster.clock.advance("35s");
  expect([...cluster.store.state.runs.values()].map(({ id }) => id.slice(0, 2))).toEqual(["z@", "z@", "z@"]);
});

describe("while some schedules are written", () => {
  const everybody = async (cluster: Cluster, { client }: Process): Promise<void> => {
    await cluster.until(client.schedules.create({ id: "a", workflow: job, every: "10s", overlap: "allow" }));
    crowd(cluster, "a");
  };

  test("the next ones are read, and are written after them", async () => {
    const gate = new Gate();
    let reads = 0;
    let puts = 0;
    const { cluster, process } = await scene(async (method, params, next) => {
      if (method === "schedules.due") reads += 1;
      if (method !== "schedules.putIfRevision" || (params as PutSchedulesParams).announce) return next();
      puts += 1;
      await gate.opened;
      return next();
    });
    await everybody(cluster, process);
    reads = 0;
    await cluster.clock.advance("11s");
    expect([reads, puts]).toEqual([2, 1]);
    gate.open();
    await cluster.clock.advance("1s");
    expect([reads, puts]).toEqual([3, 3]);
    expect(cluster.store.state.runs.size).toBe(CROWD);
  });

  test("and that fails, as the reading of the next ones does, all are fired later", async () => {
    let failing = false;
    const { cluster, process } = await scene(async (method, params, next) => {
      const behind = method === "schedules.due" && (params as DueSchedulesParams).after !== undefined;
      const fired = method === "schedules.putIfRevision" && !(params as PutSchedulesParams).announce;
      if (failing && (behind || fired)) throw unavailable();
      return next();
    });
    await everybody(cluster, process);
    failing = true;
    await cluster.clock.advance("15s");
    expect(cluster.store.state.runs.size).toBe(0);
    failing = false;
    await cluster.clock.advance("3s");
    expect(cluster.store.state.runs.size).toBe(CROWD);
    expect(cluster.errors).toEqual([]);
  });
});
