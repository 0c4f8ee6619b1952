/** Two builds of Holdfast on one file: this code, as it knows the migrations so far, and as it knows one more. */
import { relay, SettableClock } from "@holdfast/conformance";
import { uuidV7 } from "holdfast/adapter";
import { SeededSource } from "holdfast/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openDatabase } from "../src/database/driver.ts";
import { MIGRATIONS, type Migration } from "../src/migrations.ts";
import { openParts } from "../src/open-store.ts";
import { newRandom, silent, temporaryFolder } from "./sqlite-under-test.ts";

const OLD = MIGRATIONS;
/** Expands only: what the old code does stays right. */
const EXPANDS: Migration = {
  version: OLD.length + 1,
  name: "expands",
  sql: "alter table holdfast_runs add column note text; create table holdfast_notes (run_key integer primary key, note text) strict",
  oldestCode: OLD.length,
};
/** What the old code does would be wrong from then on. */
const BREAKS: Migration = { ...EXPANDS, name: "breaks", oldestCode: OLD.length + 1 };

type Build = Awaited<ReturnType<typeof openParts>>;

let folder: ReturnType<typeof temporaryFolder>;
let clock: SettableClock;
let opened: Build[];
let random: SeededSource;

beforeEach(() => {
  folder = temporaryFolder();
  clock = new SettableClock();
  clock.ms = Date.UTC(2026, 5, 2);
  opened = [];
  random = new SeededSource(1);
});

afterEach(async () => {
  for (const { store } of opened) await store.close();
  folder.remove();
});

async function build(...more: readonly Migration[]): Promise<Build> {
  const options = { clock, random: newRandom(), log: silent, watch: false };
  const parts = await openParts(`file:${folder.file("app.db")}`, options, [...OLD, ...more]);
  opened.push(parts);
  return parts;
}

function newId(): string {
  clock.ms += 1;
  return uuidV7(clock.ms, random.bytes(16));
}

async function aWorker({ store }: Build): Promise<string> {
  const workerId = newId();
  const worker = { namespace: "default", name: "old one", pid: 77, queues: ["default"], workflows: [], labels: {} };
  await store.workers.register({ ...worker, workerId, leaseMs: 10_000 });
  return workerId;
}

describe("a migration that only expands", () => {
  test("leaves both builds working on the file at once, each with what the other has written", async () => {
    const old = await build();
    await aWorker(old);
    const later = await build(EXPANDS);
    await relay(old.store, later.store, { newId });
    await relay(later.store, old.store, { newId });
    const columns = later.connection.all<{ name: string }>("pragma table_info(holdfast_runs)");
    expect(columns.map(({ name }) => name)).toContain("note");
  });

  test("lets a build open the file that does not know it", async () => {
    await build(EXPANDS);
    const old = await build();
    await relay(old.store, (await build(EXPANDS)).store, { newId });
  });
});

describe("a migration that older code must not see", () => {
  test("is refused while an older worker is live on the file, and changes nothing", async () => {
    const old = await build();
    const workerId = await aWorker(old);
    await expect(build(BREAKS)).rejects.toMatchObject({
      code: "store_refused",
      message: expect.stringMatching(
        /app\.db cannot be migrated while worker "old one" \(process 77\) runs on it: .* up to version 1, and must not use the new ones\. Stop it/,
      ),
    });
    expect(old.connection.all("select version from holdfast_migrations")).toHaveLength(OLD.length);
    await old.store.workers.stop({ namespace: "default", workerId });
    await build(BREAKS);
  });

  test("does not wait for a worker whose lease has expired", async () => {
    await aWorker(await build());
    clock.ms += 10_001;
    await build(BREAKS);
  });

  test("refuses the next write of an older build that still has the file open, and it reads on", async () => {
    const old = await build();
    const { runs } = old.store;
    expect(await runs.count({ namespace: "default", atMost: 1 })).toBe(0);
    await build(BREAKS);
    await expect(aWorker(old)).rejects.toMatchObject({
      code: "store_unavailable",
      data: { lasting: true, version: OLD.length + 1, known: OLD.length },
      message: expect.stringMatching(/was migrated to version 2 by a newer version of Holdfast, and this program/),
    });
    expect(await runs.count({ namespace: "default", atMost: 1 })).toBe(0);
    await expect(build()).rejects.toMatchObject({ code: "store_refused" });
  });

  test("refuses what an older build does in a transaction of its application", async () => {
    const old = await build();
    await build(BREAKS);
    const db = await openDatabase(folder.file("app.db"));
    db.exec("begin immediate");
    const joined = (old.store as unknown as { join(db: unknown): import("holdfast/adapter").JoinedCalls }).join(db);
    await expect(joined.deliver({ messages: [], inboxMax: 1 })).rejects.toMatchObject({
      code: "transaction_failed",
      message: expect.stringContaining("may no longer write to it"),
    });
    db.exec("rollback");
    db.close();
  });
});

test("tables of the application that come and go meanwhile stop nobody", async () => {
  const old = await build();
  const db = await openDatabase(folder.file("app.db"));
  db.exec("create table orders (id integer)");
  await aWorker(old);
  db.exec("drop table orders");
  await aWorker(old);
  db.close();
});
