// Real processes on real stores: the leader is killed, and another worker takes its place within one lease of its death.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { afterEach, expect, test } from "vitest";
import { openStage, type Stage } from "../stage.ts";
import { openTortureClient, type TortureClient } from "../torture-client.ts";
import { Warden } from "../warden.ts";
import { bundleProgram, type WorkerBundle } from "../worker-bundle.ts";
import { pause } from "./beat-fleet.ts";
import type { BeatSetup } from "./beat-process.ts";

const LEASE_MS = 2_000;
/** The next sweep after the end of the lease, and what a busy machine takes to get there. */
const SWEEP_MS = 1_000;
const KILLS = 3;
const SECOND = 1_000;

interface Fighter {
  readonly child: ChildProcess;
  readonly workerId: string;
}

let stage: Stage | undefined;
let bundle: WorkerBundle | undefined;
let torture: TortureClient | undefined;
let warden: Warden | undefined;
const children = new Set<ChildProcess>();

afterEach(async () => {
  for (const child of children) child.kill("SIGKILL");
  children.clear();
  warden?.close();
  bundle?.remove();
  await torture?.client.close();
  await stage?.remove();
});

async function spawned(name: string): Promise<Fighter> {
  const setup: BeatSetup = { place: (stage as Stage).place, leaseMs: LEASE_MS, name };
  const { file } = bundle as WorkerBundle;
  const child = fork(file, [JSON.stringify(setup)], { stdio: ["ignore", "ignore", "inherit", "ipc"], execArgv: [] });
  children.add(child);
  warden?.watch(child.pid ?? 0);
  const [workerId] = (await once(child, "message")) as [string];
  return { child, workerId };
}

async function until<T>(look: () => Promise<T | undefined | false>): Promise<T> {
  for (;;) {
    const found = await look();
    if (found) return found;
    await pause(20);
  }
}

/** Kills it in the midst of firing, and returns when. */
async function kill({ child }: Fighter): Promise<number> {
  const at = Date.now();
  child.kill("SIGKILL");
  await once(child, "exit");
  return at;
}

test.each([
  ["SQLite", () => `file:${path.join(tmpdir(), "app.db")}`],
  ["PostgreSQL", () => process.env.HOLDFAST_TEST_POSTGRES_URL],
])(
  "on %s, a leader that is killed is replaced within one lease, and what was due is fired by its successor",
  async (_name, address) => {
    const url = address();
    if (!url) throw new Error("HOLDFAST_TEST_POSTGRES_URL is not set; run the tests with npm test");
    stage = await openStage(url);
    bundle = await bundleProgram("schedules/beat-process.ts");
    warden = new Warden();
    torture = await openTortureClient(stage.place);
    const { client, store } = torture;
    const fired = async (): Promise<readonly { readonly at: number; readonly createdAt: number }[]> =>
      (await client.schedules.runs("s", { limit: 1_000 })).runs
        .map(({ id, createdAt }) => ({ at: Date.parse(id.slice("s@".length)), createdAt: createdAt.getTime() }))
        .sort((a, b) => a.at - b.at);
    let leader = await spawned("first");
    await client.schedules.create({ id: "s", workflow: "beat-quick", every: "1s", overlap: "allow" });
    for (let i = 0; i < KILLS; i++) {
      const heir = await spawned(`heir ${i}`);
      expect(await store.workers.readLeader({})).toMatchObject({ workerId: leader.workerId });
      const before = (await fired()).length;
      await until(async () => (await fired()).length > before);
      const killedAt = await kill(leader);
      const { workerId, since } = await until(async () => {
        const now = await store.workers.readLeader({});
        return now && now.workerId !== leader.workerId ? now : undefined;
      });
      expect(workerId).toBe(heir.workerId);
      expect(since - killedAt).toBeLessThanOrEqual(LEASE_MS + SWEEP_MS);
      const known = await until(async () => {
        const runs = await fired();
        return (runs.at(-1)?.at ?? 0) > since && runs;
      });
      // What became due while nobody led was fired as soon as somebody did.
      for (const { at, createdAt } of known)
        if (at > killedAt && at <= since) expect(createdAt).toBeLessThanOrEqual(since + SECOND);
      leader = heir;
    }
    await client.schedules.pause("s");
    const times = (await fired()).map(({ at }) => at);
    expect(times).toEqual(times.map((_, i) => (times[0] as number) + i * SECOND));
    expect(times.length).toBeGreaterThan(2 * KILLS);
    const { decisions } = await client.schedules.get("s").describe();
    expect(decisions.map(({ at, what }) => [at.getTime(), what])).toEqual(times.map((at) => [at, "fired"]));
  },
  60_000,
);
