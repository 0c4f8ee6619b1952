import { signal, workflow } from "holdfast";
import { expect, test } from "vitest";
import { SCHEDULES_PER_CALL_MAX } from "../../src/engine/lead/schedule-pass.ts";
import type { ScheduleRecord } from "../../src/memory/state.ts";
import { Cluster, type Process } from "../lab/harness.ts";

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

async function scene(): Promise<{ cluster: Cluster; process: Process }> {
  const cluster = new Cluster();
  const process = cluster.process("a");
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
