/** What limits of queues cost: not a statement and not a byte where there are none, and for a claim not more with many runs in line than with one. */
import { existsSync, readFileSync, statSync } from "node:fs";
import type { Run, StartRun, Store } from "holdfast/adapter";
import { SeededSource, VirtualClock } from "holdfast/testing";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { openParts } from "../src/open-store.ts";
import { silent, temporaryFolder } from "./sqlite-under-test.ts";

const ERROR = { name: "Error", message: "no", kind: "Unknown" } as const;
const METHODS = ["get", "all", "columns", "allColumns", "execute", "run", "insert", "insertIfNew"] as const;
const WORKER = "01890000-0000-7000-8000-0000000000aa";
const MANY = 3_000;
/** Linux: how much this process has read. */
const IO = "/proc/self/io";
const PAGE_BYTES = 4_096;

let folder: ReturnType<typeof temporaryFolder>;
let ids = 0;

beforeEach(() => {
  folder = temporaryFolder();
  ids = 0;
});

afterEach(() => folder.remove());

function newId(): string {
  return `01890000-0000-7000-8000-${String(++ids).padStart(12, "0")}`;
}

function newStart(key?: string): StartRun {
  const runId = newId();
  const run = {
    ...{
      namespace: "default",
      runId,
      id: `run-${runId}`,
      workflow: "order",
      version: "1",
      queue: "default",
      priority: 0,
    },
    ...{ seed: "seed", input: new Uint8Array(), attributes: {} },
    ...(key === undefined ? {} : { key }),
  };
  return { run, ifRunning: "return", ifClosed: "return" } as unknown as StartRun;
}

async function openCounted(name = "costs.db") {
  const file = folder.file(name);
  const clock = new VirtualClock();
  const parts = await openParts(`file:${file}`, { clock, random: new SeededSource(1), log: silent });
  const counted = { statements: 0 };
  for (const method of METHODS) {
    const original = parts.connection[method].bind(parts.connection) as (...args: readonly unknown[]) => unknown;
    const spy = (...args: readonly unknown[]): unknown => {
      counted.statements += 1;
      return original(...args);
    };
    vi.spyOn(parts.connection, method).mockImplementation(spy as never);
  }
  return { store: parts.store as Store, clock, counted, logBytes: () => statSync(`${file}-wal`).size };
}

async function register(store: Store): Promise<void> {
  const lists = { queues: ["default"], workflows: ["order"], labels: {} };
  await store.workers.register({
    workerId: WORKER,
    namespace: "default",
    name: "a worker",
    ...lists,
    leaseMs: 3_600_000,
  });
}

const claim = (store: Store, limit = 10) =>
  store.runs.claim({
    ...{ workerId: WORKER, claimId: newId(), again: false, namespace: "default", queues: ["default"] },
    ...{ handlers: [{ workflow: "order", version: "1" }], limit, solo: false },
  });

async function start(
  store: Store,
  starts: readonly StartRun[],
  more: { readonly holds?: boolean; readonly bounded?: boolean } = {},
) {
  const holdBy = more.holds ? { workerId: WORKER, claimId: newId() } : null;
  const params = { starts: starts.map((one) => ({ ...one, hold: more.holds ?? false })), holdBy, replaceError: ERROR };
  const { outcomes } = await store.runs.start({ ...params, bounded: more.bounded ?? true });
  expect(new Set(outcomes.map(({ outcome }) => outcome))).toEqual(new Set(["created"]));
  return outcomes;
}

const end = (store: Store, { runId, epoch, commit, eventCount, consumed }: Run) =>
  store.runs.commit({
    commits: [
      {
        ...{ namespace: "default", runId, workerId: WORKER, epoch, commit, events: [], eventCount, consumed },
        ...{ attributes: null, clearDeadline: false },
        transition: {
          type: "end",
          status: "completed",
          output: null,
          error: null,
          compensation: null,
          unlessBehind: true,
        },
      },
    ],
  });

async function limit(store: Store, queue: string, limits: { readonly concurrency: number }): Promise<void> {
  const first = { revision: null, next: newId() };
  await store.queues.setIfRevision({ namespace: "default", queue, limits, ...first });
}

describe("a queue without limits", () => {
  /** Statements and bytes of some lives of runs: started by clients, and held at once or claimed. */
  async function costs(name: string, others: boolean) {
    const { store, counted, logBytes } = await openCounted(name);
    await register(store);
    if (others) await limit(store, "other", { concurrency: 1 });
    else newId();
    // What only the first calls of a store do is done.
    await life(store);
    const before = { statements: counted.statements, bytes: logBytes() };
    for (let i = 0; i < 5; i++) await life(store);
    const costs = { statements: counted.statements - before.statements, bytes: logBytes() - before.bytes };
    await store.close();
    return costs;
  }

  async function life(store: Store): Promise<void> {
    await start(store, [newStart()]);
    await start(store, [newStart("a"), newStart("b"), newStart()]);
    const [held] = await start(store, [newStart()], { holds: true });
    expect(held?.run?.heldBy).toBe(WORKER);
    const { runs } = await claim(store);
    expect(runs).toHaveLength(4);
    for (const run of runs) await end(store, run);
    await end(store, held?.run as Run);
  }

  test("costs not a statement and not a byte, also while another one has limits", async () => {
    const alone = await costs("alone.db", false);
    ids = 0;
    expect(await costs("beside.db", true)).toEqual(alone);
    expect(alone.bytes).toBeGreaterThan(0);
  });

  test("the starts of a call look at its backlog without a statement of their own; the counter sees what a backlog adds", async () => {
    const { store, counted } = await openCounted();
    const count = async (starts: number, bounded: boolean): Promise<number> => {
      const params = Array.from({ length: starts }, () => newStart());
      counted.statements = 0;
      await start(store, params, { bounded });
      return counted.statements;
    };
    await count(1, true);
    const [one, three] = [await count(1, false), await count(3, false)];
    expect([await count(1, true), await count(3, true)]).toEqual([one, three]);
    await limit(store, "default", { concurrency: 1 });
    expect(await count(1, true)).toBeGreaterThan(one);
    await store.close();
  });
});

describe("a claim behind a full limit", () => {
  /** Pages that it reads with a connection that has read none but those of the schema. */
  async function pagesOf(file: string): Promise<number> {
    const options = { clock: new VirtualClock(), random: new SeededSource(2), log: silent };
    const { store } = await openParts(`file:${file}`, options);
    const read = (): number => Number(/^rchar: (\d+)$/m.exec(readFileSync(IO, "utf8"))?.[1]);
    const before = read();
    const { runs } = await claim(store);
    const pages = Math.floor((read() - before) / PAGE_BYTES);
    expect(runs).toEqual([]);
    await store.close();
    return pages;
  }

  // skip: only Linux tells how much a process reads
  test.skipIf(!existsSync(IO))(
    "reads as many pages with thousands in line as with one, and executes as many statements",
    async () => {
      const { store, counted } = await openCounted();
      await register(store);
      await limit(store, "default", { concurrency: 1 });
      await start(store, [newStart("a"), newStart("b")]);
      expect((await claim(store)).runs).toHaveLength(1);
      const statementsOf = async (): Promise<number> => {
        counted.statements = 0;
        expect((await claim(store)).runs).toEqual([]);
        return counted.statements;
      };
      const before = { statements: await statementsOf(), pages: await pagesOf(folder.file("costs.db")) };
      const keys = Array.from({ length: MANY }, (_, i) => ["a", "b", `k${i}`][i % 3]);
      await start(store, keys.map(newStart), { bounded: false });
      while ((await claim(store)).nextDueAt !== null);
      const [state] = await store.queues.list({ namespace: "default", holdersMax: 1 });
      expect(state?.runs).toMatchObject({ waiting: MANY + 1, running: 1 });
      expect(await statementsOf()).toBe(before.statements);
      // Trees are deeper by a level or two.
      expect(await pagesOf(folder.file("costs.db"))).toBeLessThanOrEqual(before.pages + 10);
      await store.close();
    },
  );
});
