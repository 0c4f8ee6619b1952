import { describe, expect, test } from "vitest";
import { workflow } from "../../src/define/definitions.ts";
import type { StoreMethod } from "../../src/ports/store-calls.ts";
import { Cluster, HEARTBEAT_MS, LEASE_MS, outcomeUnknown, type Process, type StoreHook } from "../lab/harness.ts";

const MINUTE = 60_000;

/** Each time of each schedule that has a run, in order. */
function fired(cluster: Cluster): string[] {
  return [...cluster.store.state.runs.values()].map(({ id }) => id).sort();
}

/** What should have fired: every ten seconds from the first time after `from`, up to now. */
function expected(cluster: Cluster, from: number, ids: readonly string[] = ["s"]): string[] {
  const all: string[] = [];
  for (let at = Math.floor(from / 10_000 + 1) * 10_000; at <= cluster.clock.now(); at += 10_000)
    for (const id of ids) all.push(`${id}@${new Date(at).toISOString()}`);
  return all.sort();
}

const job = workflow("job", async (ctx) => ctx.info.schedule);

interface Scene {
  readonly cluster: Cluster;
  readonly processes: readonly Process[];
  readonly from: number;
}

/** Processes with a worker each; the first leads. */
async function scene(size: number, hook?: StoreHook): Promise<Scene> {
  const cluster = new Cluster();
  const processes: Process[] = [];
  for (let i = 0; i < size; i++) {
    const process = cluster.process(`p${i}`, i === 0 ? hook : undefined);
    processes.push(process);
    await process.worker({ workflows: [job] });
  }
  const client = (processes.at(-1) as Process).client;
  const from = cluster.clock.now();
  await cluster.until(client.schedules.create({ id: "s", workflow: job, every: "10s", overlap: "allow" }));
  return { cluster, processes, from };
}

const leaderOf = ({ store }: Cluster): string | undefined => store.state.leader?.workerId;

describe("a leader", () => {
  test("that is killed is replaced within one lease, and nothing is fired twice or lost", async () => {
    const { cluster, processes, from } = await scene(2);
    await cluster.clock.advance("1m");
    const first = leaderOf(cluster);
    processes[0]?.kill();
    await cluster.clock.advance({ milliseconds: LEASE_MS + 1_000 });
    expect(leaderOf(cluster)).not.toBe(first);
    expect(fired(cluster)).toEqual(expected(cluster, from));
    await cluster.clock.advance("1m");
    expect(fired(cluster)).toEqual(expected(cluster, from));
  });

  test("that drains gives up at once", async () => {
    const cluster = new Cluster();
    const [a, b] = [cluster.process("a"), cluster.process("b")];
    const first = await a.worker({ workflows: [job] });
    const second = await b.worker({ workflows: [job] });
    expect(leaderOf(cluster)).toBe(first.workerId);
    await cluster.until(first.drain());
    await cluster.clock.settle();
    expect(leaderOf(cluster)).toBe(second.workerId);
  });

  test("that is asleep and wakes up does no harm: its changes are refused", async () => {
    const { cluster, processes, from } = await scene(2);
    await cluster.clock.advance("30s");
    processes[0]?.life.freeze();
    await cluster.clock.advance("5m");
    processes[0]?.thaw();
    await cluster.clock.advance("1m");
    expect(fired(cluster)).toEqual(expected(cluster, from));
  });

  test("beside others that also believe that they lead starts each run once", async () => {
    const { cluster, from } = await scene(3);
    for (let i = 0; i < 12; i++) {
      // The place is free again, and whoever beats next takes it: the others learn of it with their own next heartbeat.
      cluster.store.state.leader = null;
      await cluster.clock.advance({ milliseconds: HEARTBEAT_MS / 2 });
    }
    expect(fired(cluster)).toEqual(expected(cluster, from));
    const decided = cluster.store.state.schedules.get("default\ns")?.decisions ?? [];
    expect(decided.map(({ what }) => what)).toEqual(fired(cluster).map(() => "fired"));
  });

  test("is none among workers that do not coordinate", async () => {
    const cluster = new Cluster();
    const process = cluster.process("a");
    await process.worker({ workflows: [job], coordinate: false });
    await cluster.until(process.client.schedules.create({ id: "s", workflow: job, every: "10s" }));
    await cluster.clock.advance("5m");
    expect(fired(cluster)).toEqual([]);
    expect(await cluster.until(process.client.health())).toMatchObject({
      status: "degraded",
      leader: null,
      reasons: [
        expect.stringMatching(/^Schedule "s" has been due since \S+Z, and no worker leads: nothing is fired\.$/),
      ],
    });
  });
});

const METHODS: readonly StoreMethod[] = ["schedules.due", "schedules.putIfRevision", "workers.heartbeat"];

describe.each(["before", "after"] as const)("a leader that dies %s", (moment) => {
  test.each(METHODS)("its %s took effect, leaves nothing undone and nothing done twice", async (method) => {
    for (let k = 1; k <= 6; k++) {
      let calls = 0;
      const holder: { process?: Process } = {};
      const { cluster, processes, from } = await scene(2, async (called, _params, next) => {
        const dies = called === method && ++calls === k;
        if (dies && moment === "before") holder.process?.kill();
        const answer = await next();
        if (dies && moment === "after") holder.process?.kill();
        return answer;
      });
      holder.process = processes[0] as Process;
      await cluster.clock.advance({ milliseconds: 3 * MINUTE });
      expect(fired(cluster)).toEqual(expected(cluster, from));
    }
  });
});

test("an answer that is lost changes nothing: the change is found to be written, or made by the next pass", async () => {
  let lost = 0;
  const { cluster, from } = await scene(1, async (method, _params, next) => {
    const answer = await next();
    if (method.startsWith("schedules.") && lost++ % 2 === 0) throw outcomeUnknown();
    return answer;
  });
  await cluster.clock.advance("125s");
  expect(fired(cluster)).toEqual(expected(cluster, from));
  expect(lost).toBeGreaterThan(10);
});

describe("calls of the store", () => {
  const idleCalls = async (coordinate: boolean): Promise<number> => {
    const cluster = new Cluster();
    await cluster.process("a").worker({ workflows: [job], coordinate });
    await cluster.clock.advance("2m");
    const before = { ...cluster.store.calls };
    await cluster.clock.advance("1h");
    const total = (calls: typeof before): number => Object.values(calls).reduce((sum, n) => sum + n, 0);
    return total(cluster.store.calls) - total(before);
  };

  test("a leader without schedules makes one an hour that a worker that does not lead would not make", async () => {
    // It looks for what is kept of workers that have gone long ago.
    expect(await idleCalls(true)).toBe((await idleCalls(false)) + 1);
  });

  test("ten thousand schedules cost a leader a bounded number of calls a minute", async () => {
    const cluster = new Cluster();
    const process = cluster.process("a");
    await process.worker({ workflows: [] });
    const { schedules } = process.client;
    await cluster.until(schedules.create({ id: "s", workflow: "other", every: "1m", overlap: "allow" }));
    const [key, one] = [...cluster.store.state.schedules][0] as [string, never];
    for (let i = 0; i < 10_000; i++)
      cluster.store.state.schedules.set(`${key}${i}`, { ...(one as object), id: `s${i}` } as never);
    const before = { ...cluster.store.calls };
    await cluster.clock.advance("1m");
    const calls = (method: StoreMethod): number => (cluster.store.calls[method] ?? 0) - (before[method] ?? 0);
    expect(cluster.store.state.runs.size).toBe(10_001);
    expect(calls("schedules.due")).toBeLessThanOrEqual(45);
    expect(calls("schedules.putIfRevision")).toBeLessThanOrEqual(45);
  });
});
