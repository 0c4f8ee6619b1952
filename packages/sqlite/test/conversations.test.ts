// What conversations cost in the file: nothing for runs that have none, and the same for every child, however many there are.
import type { Hint, NewRun, RunCommit, StartRun, Transition } from "holdfast/adapter";
import { SeededSource, VirtualClock } from "holdfast/testing";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openParts } from "../src/open-store.ts";
import { silent, temporaryFolder } from "./sqlite-under-test.ts";

const WORKER = "01890000-0000-7000-8000-0000000000aa";
const CLAIM = "01890000-0000-7000-8000-0000000000cc";
const HOLD_BY = { workerId: WORKER, claimId: CLAIM };
const ERROR = { name: "Error", message: "no", kind: "Unknown" } as const;
const EMPTY = new Uint8Array(0);
const END: Transition = {
  ...{ type: "end", status: "completed", output: EMPTY, error: null, unlessBehind: false, compensation: null },
};
const TABLES = ["updates", "lineages", "children", "watches", "debts", "namespaces", "asks"];

let folder: ReturnType<typeof temporaryFolder>;
let parts: Awaited<ReturnType<typeof openParts>>;
let clock: VirtualClock;

beforeEach(async () => {
  folder = temporaryFolder();
  clock = new VirtualClock();
  parts = await openParts(`file:${folder.file("talk.db")}`, { clock, random: new SeededSource(1), log: silent });
  const worker = { namespace: "default", name: "w", queues: ["q"], workflows: ["w"], labels: {}, leaseMs: 60_000 };
  await parts.store.workers.register({ workerId: WORKER, ...worker });
});

afterEach(async () => {
  await parts.store.close();
  folder.remove();
});

test("runs without conversations run the statements that they need themselves, and no others", async () => {
  await start(1); // its names and its lane are known from now on
  await commit(1, 0);
  const counts = {
    start: await statements(() => start(2)),
    step: await statements(() => commit(2, 0)),
    signal: await statements(() => signal(2)),
    suspend: await statements(() => commit(2, 1, { consumed: 1, transition: WAIT })),
    wake: await statements(() => signal(2, "n")),
    claim: await statements(claim),
    end: await statements(() => commit(2, 2, { epoch: 2, consumed: 2, transition: END })),
    terminate: await statements(() => terminate(1)),
  };
  // With `begin`, the version of the tables, `commit` and, where others are hinted, the row for other processes.
  expect(counts).toEqual({ start: 7, step: 6, signal: 9, suspend: 7, wake: 8, claim: 12, end: 7, terminate: 11 });
  expect(rows()).toEqual([0, 0, 0, 0, 0, 0, 0]);
  expect(parts.connection.get("select count(ties) as n from holdfast_runs")).toEqual({ n: 0 });
});

test("eighty plain runs that start and end together need few statements", async () => {
  await start(1); // its names are known from now on, and its lane after the first commit
  await commit(1, 0);
  const many = Array.from({ length: 80 }, (_, i) => i + 2);
  const started = await statements(async () => {
    const starts = many.map((n) => plainStart(n));
    await parts.store.runs.start({ starts, holdBy: HOLD_BY, replaceError: ERROR, bounded: true });
  });
  const ended = await statements(async () => {
    const commits = many.map((n) => commitOf(n, 0, { transition: END }));
    const { outcomes } = await parts.store.runs.commit({ commits });
    expect(outcomes).toEqual(many.map(() => ({ outcome: "written", held: false, delivered: 0 })));
  });
  // Each run is a statement of its own; its start and its end go together with those of seven others. No run is read.
  expect([started, ended]).toEqual([80 + 80 / 8 + 5, 80 / 8 + Math.ceil(80 / 12) + 5]);
});

test("a purge of plain runs looks at no table of conversations", async () => {
  await start(1);
  await commit(1, 0, { transition: END });
  const spy = vi.spyOn(parts.connection, "run");
  await parts.store.runs.purge({ namespace: "default", endedBefore: clock.now() + 1, limit: 10 });
  const texts = spy.mock.calls.map(([sql]) => sql);
  expect(texts.some((sql) => sql.startsWith("delete from holdfast_runs"))).toBe(true);
  expect(texts.filter((sql) => TABLES.some((table) => sql.includes(`holdfast_${table} `)))).toEqual([]);
});

test("the thousandth child costs what the second one does, from its start to its result", async () => {
  await start(0);
  await start(1, 0);
  const second = await childCosts(2);
  const others = Array.from({ length: 997 }, (_, i) => childStart(i + 3, 0));
  await parts.store.runs.start({ starts: others, holdBy: HOLD_BY, replaceError: ERROR });
  expect(await childCosts(1_000)).toEqual(second);

  async function childCosts(n: number): Promise<number[]> {
    const started = await statements(() => start(n, 0));
    const ended = await statements(() => commit(n, 0, { transition: END }));
    const [debt] = await parts.store.debts.read({ runs: [{ namespace: "default", runId: runId(n) }], limit: 10 });
    const told = await statements(() => deliver("child_completed", 0, `end-${n}`));
    const paid = { namespace: "default", runId: runId(n), debtNo: debt?.debtNo ?? 0 };
    return [started, ended, told, await statements(() => parts.store.debts.pay({ debts: [paid] }))];
  }
});

test("a parent that is held is hinted once about results that come together", async () => {
  await start(0);
  const hints = vi.spyOn(parts.notifier, "publish");
  await parts.store.inbox.deliver({
    messages: [1, 2, 3].map((n) => message("child_completed", 0, `end-${n}`)),
    inboxMax: 1,
  });
  const published: Hint[] = hints.mock.calls.flatMap(([some]) => [...some]);
  expect(published).toEqual([{ type: "inbox", runId: runId(0), workerId: WORKER }]);
});

test("the number of a debt that was paid is never given to another one: paying it twice harms nobody", async () => {
  await start(0);
  const owed: number[] = [];
  for (const n of [1, 2]) {
    await start(n, 0);
    await commit(n, 0, { transition: END });
    const [debt] = await parts.store.debts.read({ limit: 10 });
    owed.push(debt?.debtNo ?? 0);
    const paid = { namespace: "default", runId: runId(n), debtNo: debt?.debtNo ?? 0 };
    expect(await parts.store.debts.pay({ debts: [paid] })).toEqual({ paid: 1 });
  }
  expect(owed).toEqual([1, 2]);
});

test("a purge leaves nothing of a family in any table", async () => {
  const { store } = parts;
  await start(0);
  for (const n of [1, 2]) await start(n, 0);
  await store.runs.watch({ watches: [{ run: { namespace: "default", runId: runId(1) }, by: receiver(0) }] });
  await deliver("update", 1, "u");
  await commit(1, 0, { consumed: 1, replies: [{ number: 1, error: ERROR }] });
  await commit(0, 0, { closes: [runId(2), runId(9)] });
  await commit(1, 1, { consumed: 1, transition: { type: "continue", next: { ...newRun(3), id: "1" }, carried: [] } });
  expect(rows()).toEqual([1, 3, 3, 1, 1, 0, 0]);
  await claim();
  for (const n of [3, 2]) await commit(n, 0, { transition: END });
  await commit(0, 1, { transition: END });
  const debts = await store.debts.read({ limit: 10 });
  await store.debts.pay({
    debts: debts.map((debt) => ({ ...debt, children: [runId(2)], watchers: [receiver(0)], replies: [] })),
  });
  const purge = { namespace: "default", endedBefore: clock.now() + 10, limit: 10 };
  expect(await store.runs.purge(purge)).toMatchObject({ purged: 4, more: false });
  expect(rows()).toEqual([0, 0, 0, 0, 0, 0, 0]);
});

const WAIT: Transition = { type: "suspend", status: "waiting", availableAt: null, waitingFor: ["s"] };

function runId(n: number): string {
  return `01890000-0000-7000-8000-${String(n).padStart(12, "0")}`;
}

function newRun(n: number): NewRun {
  const run = { namespace: "default", runId: runId(n), id: String(n), workflow: "w", version: "1", queue: "q" };
  return { ...run, priority: 0, input: EMPTY, seed: "s", attributes: {} };
}

function receiver(n: number) {
  return { namespace: "default", runId: runId(n), op: "watch" };
}

function plainStart(n: number): StartRun {
  return { run: newRun(n), ifRunning: "fail", ifClosed: "fail", hold: true, pick: null };
}

function childStart(n: number, of: number): StartRun {
  const name = { runId: runId(of), id: String(of) };
  const parent = { namespace: "default", ...name };
  return { ...plainStart(n), parent: { parent, op: "c", root: name, depth: 1, policy: "cancel" } };
}

/** Held at once; as a child of another run, if one is given. */
async function start(n: number, parent?: number): Promise<void> {
  const starts = [parent === undefined ? plainStart(n) : childStart(n, parent)];
  const { outcomes } = await parts.store.runs.start({ starts, holdBy: HOLD_BY, replaceError: ERROR });
  expect(outcomes[0]?.outcome).toBe("created");
}

function commitOf(n: number, number: number, part: Partial<RunCommit> = {}): RunCommit {
  return {
    ...{ namespace: "default", workerId: WORKER, runId: runId(n), epoch: 1, commit: number, consumed: 0 },
    ...{ attributes: null, clearDeadline: false, transition: { type: "hold", status: "running" } },
    events: [{ seq: number + 1, type: "step_completed", op: "s", at: 1 }],
    eventCount: number + 1,
    ...part,
  };
}

async function commit(n: number, number: number, part: Partial<RunCommit> = {}): Promise<void> {
  const { outcomes } = await parts.store.runs.commit({ commits: [commitOf(n, number, part)] });
  expect(outcomes[0]?.outcome).toBe("written");
}

function message(kind: "signal" | "update" | "child_completed", n: number, messageId: string) {
  return { to: { namespace: "default", runId: runId(n) }, kind, name: "s", messageId, payload: EMPTY };
}

async function deliver(kind: "signal" | "update" | "child_completed", n: number, messageId: string): Promise<void> {
  const { outcomes } = await parts.store.inbox.deliver({ messages: [message(kind, n, messageId)], inboxMax: 10 });
  expect(outcomes[0]?.outcome).toBe("delivered");
}

function signal(n: number, messageId = "m"): Promise<void> {
  return deliver("signal", n, messageId);
}

async function claim(): Promise<void> {
  const handlers = [{ workflow: "w", version: "1" }];
  const params = { workerId: WORKER, claimId: CLAIM, namespace: "default", queues: ["q"], handlers };
  const { runs } = await parts.store.runs.claim({ ...params, again: false, limit: 10, solo: false });
  expect(runs.length).toBe(1);
}

async function terminate(n: number): Promise<void> {
  await parts.store.runs.terminate({ runs: [{ namespace: "default", runId: runId(n) }], error: ERROR });
}

/** How many rows each table of conversations has. */
function rows(): unknown[] {
  return TABLES.map((table) => parts.connection.get<{ n: number }>(`select count(*) as n from holdfast_${table}`)?.n);
}

/** How many statements run, with `begin` and `commit`. */
async function statements(body: () => Promise<unknown>): Promise<number> {
  const methods = ["get", "all", "columns", "allColumns", "execute", "run", "insert", "insertIfNew"] as const;
  const spies = methods.map((method) => vi.spyOn(parts.connection, method));
  await body();
  const count = spies.reduce((sum, spy) => sum + spy.mock.calls.length, 0);
  for (const spy of spies) spy.mockRestore();
  return count;
}
