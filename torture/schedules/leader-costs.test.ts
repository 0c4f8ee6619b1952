/**
 * What a leader costs its store: the statements that it sends in a minute, with a hundred schedules and with ten thousand. The worker
 * and the store live in virtual time; the stores are the real ones, and every statement that reaches them is counted.
 */
import { jsonCodec } from "holdfast";
import type { OpenedStore, ScheduleDefinition, ScheduleState, Store } from "holdfast/adapter";
import { SeededSource, VirtualClock } from "holdfast/testing";
import pg from "pg";
import { afterEach, describe, expect, test, vi } from "vitest";
import { Client } from "../../packages/holdfast/src/client/client.ts";
import { silent, TestDatabase } from "../../packages/postgres/test/test-database.ts";
import { openParts } from "../../packages/sqlite/src/open-store.ts";
import { temporaryFolder } from "../../packages/sqlite/test/sqlite-under-test.ts";

const FEW = 100;
const MANY = 10_000;
/** Those that become due within the minute, one each second. */
const DUE = 60;
const SECOND = 1_000;
const DAY = 86_400 * SECOND;
/** How far the store's clock is ahead at most: not more than a leader waits that looks too early. */
const STEP_MS = 20;
const STEPS_PER_MINUTE = (60 * SECOND) / STEP_MS;
const PUTS_PER_CALL = 500;
const SQLITE_METHODS = ["get", "all", "columns", "allColumns", "execute", "run", "insert", "insertIfNew"] as const;

interface Counted extends OpenedStore {
  statements(): number;
  /** The store's clock, where it has one of its own. */
  setClock(ms: number): Promise<void>;
  close(): Promise<void>;
}

const SPEC = { cron: [], every: [], timezone: "UTC", jitterMs: 0, fromMs: null, untilMs: null };
const DEFINITION: Omit<ScheduleDefinition, "spec"> = {
  ...{ workflow: "order", version: null, fallbackVersion: "1", queue: "default", priority: 0, attributes: {} },
  ...{ timeoutMs: null, overlap: "allow", catchUpMax: 100, catchUpWindowMs: null, paused: false, note: null, by: null },
};
const STATE: Omit<ScheduleState, "nextAt"> = {
  ...{ lastAt: null, openId: null, buffered: [], waits: "no", failures: 0, lastError: null },
};

let opened: Counted | undefined;

afterEach(async () => {
  vi.restoreAllMocks();
  await opened?.close();
  opened = undefined;
});

async function openSqlite(clock: VirtualClock): Promise<Counted> {
  const folder = temporaryFolder();
  const parts = await openParts(`file:${folder.file("app.db")}`, { clock, random: new SeededSource(1), log: silent });
  const { connection } = parts;
  let statements = 0;
  for (const method of SQLITE_METHODS) {
    const original = connection[method].bind(connection) as (...args: readonly unknown[]) => unknown;
    const counted = (...args: readonly unknown[]): unknown => {
      statements += 1;
      return original(...args);
    };
    vi.spyOn(connection, method).mockImplementation(counted as never);
  }
  const close = async (): Promise<void> => {
    await parts.store.close();
    folder.remove();
  };
  return { ...parts, statements: () => statements, setClock: async () => {}, close };
}

async function openPostgres(clock: VirtualClock): Promise<Counted> {
  const database = await TestDatabase.create();
  const parts = await database.open({ clock });
  await database.setClock(clock.now());
  let statements = 0;
  const original = pg.Client.prototype.query as (...args: readonly unknown[]) => unknown;
  vi.spyOn(pg.Client.prototype, "query").mockImplementation(function (this: pg.Client, ...args: readonly unknown[]) {
    const answer = original.apply(this, args as never);
    if (this === database.admin) return answer as never;
    statements += 1;
    // Time stands still until the server has answered.
    const release = clock.hold();
    const done = (answer as Promise<unknown> | undefined)?.finally;
    if (done) void done.call(answer, release).catch(() => {});
    else release();
    return answer as never;
  } as never);
  return {
    ...parts,
    statements: () => statements,
    setClock: (ms) => database.setClock(ms),
    close: () => database.drop(),
  };
}

/** As many as that are due within a minute, and all others on the next day. */
async function fill(store: Store, from: number, count: number, due: number): Promise<void> {
  const puts = Array.from({ length: count }, (_, i) => {
    const nextAt = i < due ? from + i * SECOND : from + DAY;
    const next = `01890000-0000-7000-8000-${String(i).padStart(12, "0")}`;
    const input = new TextEncoder().encode("null");
    const state: ScheduleState = { ...STATE, nextAt };
    const head = { namespace: "default", id: `s${i}`, revision: null, next };
    const definition: ScheduleDefinition = { ...DEFINITION, spec: { ...SPEC, at: [nextAt] } };
    return { ...head, definition, input, state, decided: [], starts: [] };
  });
  for (let i = 0; i < puts.length; i += PUTS_PER_CALL) {
    const { outcomes } = await store.schedules.putIfRevision({
      puts: puts.slice(i, i + PUTS_PER_CALL),
      announce: false,
    });
    expect(new Set(outcomes.map(({ outcome }) => outcome))).toEqual(new Set(["written"]));
  }
}

/** The statements of a minute in which so many of the schedules become due. */
async function statementsOfMinute(open: typeof openSqlite, count: number, due: number): Promise<number> {
  const clock = new VirtualClock();
  opened = await open(clock);
  const { store, notifier, statements, setClock } = opened;
  const minute = async (): Promise<void> => {
    for (let i = 0; i < STEPS_PER_MINUTE; i++) {
      await setClock(clock.now() + STEP_MS);
      await clock.advance({ milliseconds: STEP_MS });
    }
  };
  await fill(store, clock.now() + 60 * SECOND + STEP_MS, count, due);
  const ports = { clock, random: new SeededSource(3), codec: jsonCodec, log: silent, store, notifier };
  const client = new Client(ports, "default", async () => {});
  const worker = client.worker({ workflows: [], lease: "30s" });
  await clock.until(worker.start());
  await minute();
  expect(await store.workers.readLeader({})).toMatchObject({ workerId: worker.workerId });
  const before = statements();
  await minute();
  const sent = statements() - before;
  const ids = ["s0", `s${Math.max(0, due - 1)}`, `s${count - 1}`];
  const fired = ids.map(async (id) => (await store.schedules.decisions({ namespace: "default", id })).length);
  expect(await Promise.all(fired)).toEqual(due > 0 ? [1, 1, 0] : [0, 0, 0]);
  await clock.until(worker.stop());
  await client.close();
  await opened.close();
  opened = undefined;
  vi.restoreAllMocks();
  return sent;
}

describe.each([
  { name: "SQLite", open: openSqlite, idleMax: 180, perDueMax: 30 },
  { name: "PostgreSQL", open: openPostgres, idleMax: 30, perDueMax: 4 },
])("a leader on $name", ({ open, idleMax, perDueMax }) => {
  test("sends as many statements a minute for ten thousand schedules as for a hundred", async () => {
    const [few, many] = [await statementsOfMinute(open, FEW, 0), await statementsOfMinute(open, MANY, 0)];
    expect(many).toBe(few);
    expect(many).toBeLessThanOrEqual(idleMax);
  });

  test("sends statements for the sixty that are due in a minute, and none for the others", async () => {
    for (const count of [FEW, MANY]) {
      const sent = await statementsOfMinute(open, count, DUE);
      expect(sent, `${count} schedules`).toBeLessThanOrEqual(idleMax + DUE * perDueMax);
    }
  });
});
