/** Processes that are killed while they delete runs, add rates, restart a run or name a store: it has happened as a whole, once, or not at all. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { type Client, connect, silentLogger, workflow } from "holdfast";
import type { Store } from "holdfast/adapter";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Chore, doChore, NAMESPACE } from "./chores.ts";
import { openStage, type Stage } from "./stage.ts";
import { openTortureClient } from "./torture-client.ts";
import { bundleProgram, type WorkerBundle } from "./worker-bundle.ts";

const PATIENCE_MS = 240_000;
const IDS = ["a", "b"];
const WORKER = "018f0000-0000-7000-8000-000000000001";

const FIRST = { again: false, solo: false };

const done = workflow("done", async (ctx, text: string) => ctx.step("say", () => text));

let program: WorkerBundle;
let stage: Stage;
let hf: Client;
let store: Store;

/** The signal that has ended the process; null if it has come to its end. */
async function killed(chore: Chore, kind: "calls" | "statements", dieAt: number): Promise<unknown> {
  const { url, schema = "" } = stage.place;
  const args = [program.file, url, schema, JSON.stringify(chore), kind, `${dieAt}`];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] });
  const [, signal] = (await once(child, "close")) as [unknown, unknown];
  return signal;
}

beforeAll(async () => {
  program = await bundleProgram("chores-process.ts");
});

afterAll(() => program.remove());

const STORES: readonly [name: string, url: () => string][] = [
  ["SQLite", () => `file:${path.join(tmpdir(), "app.db")}`],
  ["PostgreSQL", () => process.env["HOLDFAST_TEST_POSTGRES_URL"] ?? ""],
];

async function register(leaseMs: number): Promise<void> {
  const about = { name: "one", queues: ["default"], workflows: ["done@1"], labels: {} };
  expect(await store.workers.register({ namespace: NAMESPACE, workerId: WORKER, leaseMs, ...about })).toMatchObject({
    live: true,
  });
}

describe.each(STORES)("on %s, a process that is killed", (name, url) => {
  const kinds = name === "SQLite" ? (["calls", "statements"] as const) : (["calls"] as const);

  beforeEach(async () => {
    if (url() === "") throw new Error("HOLDFAST_TEST_POSTGRES_URL is not set; run the tests with npm test");
    stage = await openStage(url());
    const { schema } = stage.place;
    hf = await connect(stage.place.url, { logger: silentLogger, ...(schema === undefined ? {} : { schema }) });
    ({ store } = await openTortureClient(stage.place));
  });

  afterEach(async () => {
    await store.close();
    await hf.close();
    await stage.remove();
  });

  /** Kills one process after the other, each a moment later, until one comes to its end. `judge` looks after each of them. */
  async function killEverywhere(
    kind: "calls" | "statements",
    prepare: () => Promise<Chore>,
    judge: (chore: Chore) => Promise<boolean>,
  ): Promise<boolean[]> {
    const happened: boolean[] = [];
    for (let dieAt = 1; ; dieAt++) {
      const chore = await prepare();
      const signal = await killed(chore, kind, dieAt);
      happened.push(await judge(chore));
      if (signal === null) return happened;
      expect(signal).toBe("SIGKILL");
    }
  }

  /** At the statements it has not happened, but for the last one; after the call it has. */
  function requireOnce(kind: string, happened: readonly boolean[]): void {
    expect(happened.at(-1)).toBe(true);
    if (kind === "calls") expect(happened).toEqual([false, true, true]);
    else expect(happened.slice(0, -1).every((one) => !one)).toBe(true);
    expect(happened.length).toBeGreaterThan(2);
  }

  test.each(kinds)(
    "while it deletes runs leaves all of them whole or none (%s)",
    { timeout: PATIENCE_MS },
    async (kind) => {
      const worker = hf.worker({ workflows: [done] });
      await worker.start();
      const prepare = async (): Promise<Chore> => {
        for (const id of IDS) expect(await hf.run(done, id, { id, ifClosed: "start" })).toBe(id);
        return { do: "purge", endedBefore: Date.now() + 3_600_000 };
      };
      const judge = async (chore: Chore): Promise<boolean> => {
        const left = await hf.count();
        expect([0, IDS.length]).toContain(left);
        if (left > 0)
          for (const id of IDS)
            expect((await hf.get(id).history()).map(({ type }) => type)).toContain("step_completed");
        await doChore(store, chore);
        expect(await hf.count()).toBe(0);
        for (const id of IDS) await expect(hf.get(id).describe()).rejects.toMatchObject({ code: "run_not_found" });
        return left === 0;
      };
      requireOnce(kind, await killEverywhere(kind, prepare, judge));
      await worker.stop();
    },
  );

  test.each(kinds)(
    "while it adds rates has added them once or not at all (%s)",
    { timeout: PATIENCE_MS },
    async (kind) => {
      const from = 1_800_000_000_000;
      let round = 0;
      const ended = async (workflowName: string): Promise<number> => {
        const rows = await store.workers.readRates({
          namespace: NAMESPACE,
          from,
          to: from + 1,
          grainMs: 60_000,
          workflow: workflowName,
        });
        return rows.reduce((sum, row) => sum + row.ended, 0);
      };
      const prepare = async (): Promise<Chore> => {
        round += 1;
        const workerId = WORKER.replace(/.{4}$/, `${1_000 + round}`);
        const about = { name: `one ${round}`, queues: ["default"], workflows: ["done@1"], labels: {} };
        await store.workers.register({ namespace: NAMESPACE, workerId, leaseMs: 3_600_000, ...about });
        const counts = { started: 7, ended: 5, failed: 1, retried: 2 };
        return {
          do: "rates",
          workerId,
          rates: [
            { from, workflow: `w${round}`, ...counts },
            { from, workflow: `x${round}`, ...counts },
          ],
        };
      };
      const judge = async (chore: Chore): Promise<boolean> => {
        const [first, second] = [await ended(`w${round}`), await ended(`x${round}`)];
        expect([0, 5]).toContain(first);
        expect(second).toBe(first);
        // The worker does not know whether they were added, and repeats the call.
        await doChore(store, chore);
        expect([await ended(`w${round}`), await ended(`x${round}`)]).toEqual([5, 5]);
        return first > 0;
      };
      requireOnce(kind, await killEverywhere(kind, prepare, judge));
    },
  );

  test.each(kinds)(
    "while it restarts a run has taken and noted it, or neither (%s)",
    { timeout: PATIENCE_MS },
    async (kind) => {
      await register(3_600_000);
      let round = 0;
      const read = async (runId: string) => (await store.runs.read({ runs: [{ namespace: NAMESPACE, runId }] }))[0];
      const prepare = async (): Promise<Chore> => {
        round += 1;
        const { runId } = await hf.start(done, "x", { id: `r${round}` });
        const claimId = WORKER.replace(/.{4}$/, `${2_000 + round}`);
        const handlers = [{ workflow: "done", version: "1" }];
        const claim = {
          namespace: NAMESPACE,
          workerId: WORKER,
          claimId,
          queues: ["default"],
          handlers,
          limit: 1,
          ...FIRST,
        };
        await store.runs.claim(claim);
        const run = await read(runId);
        expect(run?.heldBy).toBe(WORKER);
        const { epoch, commit, eventCount } = run as NonNullable<typeof run>;
        return { do: "restart", run: { namespace: NAMESPACE, runId, epoch, commit, eventCount } };
      };
      const judge = async (chore: Chore): Promise<boolean> => {
        if (chore.do !== "restart") throw new Error("another chore");
        const { runId, epoch } = chore.run;
        const before = await read(runId);
        const restarts = async () =>
          (await hf.get(`r${round}`).history()).filter(({ type }) => type === "run_restarted").length;
        const happened = before?.epoch === epoch + 1;
        expect([before?.epoch, before?.heldBy, await restarts()]).toEqual(
          happened ? [epoch + 1, null, 1] : [epoch, WORKER, 0],
        );
        // Whoever repeats it restarts it once in all.
        await doChore(store, chore);
        expect([(await read(runId))?.heldBy, await restarts()]).toEqual([null, 1]);
        await hf.get(`r${round}`).terminate("judged");
        return happened;
      };
      requireOnce(kind, await killEverywhere(kind, prepare, judge));
    },
  );

  test("while it names the store has named it for good, or not at all", { timeout: PATIENCE_MS }, async () => {
    const [first, second] = [WORKER.replace(/1$/, "a"), WORKER.replace(/1$/, "b")];
    expect(await killed({ do: "identify", storeId: first }, "calls", 1)).toBe("SIGKILL");
    expect(await killed({ do: "identify", storeId: second }, "calls", 2)).toBe("SIGKILL");
    expect(await store.transfers.identify({ storeId: first })).toEqual({ storeId: second });
  });

  test("leaves a run behind of which why names its lease", { timeout: PATIENCE_MS }, async () => {
    await register(1_000);
    await hf.start(done, "x", { id: "r" });
    const claimId = WORKER.replace(/1$/, "c");
    const handlers = [{ workflow: "done", version: "1" }];
    const claim = {
      namespace: NAMESPACE,
      workerId: WORKER,
      claimId,
      queues: ["default"],
      handlers,
      limit: 1,
      ...FIRST,
    };
    await store.runs.claim(claim);
    for (;;) {
      const { causes, reason } = await hf.why("r");
      if (causes[0]?.kind !== "lease") continue;
      expect(causes[0]).toMatchObject({ kind: "lease", worker: "one", at: expect.any(Date) });
      expect(reason).toMatch(/^Worker one holds it, but its last heartbeat was .* ago and its lease expired /);
      break;
    }
  });
});
