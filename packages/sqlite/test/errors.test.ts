import { chmodSync, closeSync, mkdirSync, openSync, statSync, truncateSync, writeFileSync, writeSync } from "node:fs";
import process from "node:process";
import { inspect } from "node:util";
import type { Store } from "holdfast/adapter";
import { VirtualClock } from "holdfast/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Connection } from "../src/database/connection.ts";
import { openDatabase } from "../src/database/driver.ts";
import { fileOf } from "../src/database/file-url.ts";
import { openParts } from "../src/open-store.ts";
import { newRandom, openFile, silent, temporaryFolder } from "./sqlite-under-test.ts";

const PAGE_BYTES = 4_096;
let folder: ReturnType<typeof temporaryFolder>;

beforeEach(() => {
  folder = temporaryFolder();
});

afterEach(() => folder.remove());

function runIdOf(n: number): string {
  return `01890000-0000-7000-8000-${n.toString().padStart(12, "0")}`;
}

/** Starts a run with an input of that size. */
function start(store: Store, n: number, bytes = 10): Promise<unknown> {
  const runId = runIdOf(n);
  const lane = { namespace: "default", workflow: "w", version: "1", queue: "q", priority: 0 };
  const run = { ...lane, runId, id: runId, seed: "s", attributes: {}, input: new Uint8Array(bytes).fill(n) };
  return store.runs.start({
    starts: [{ run, ifRunning: "fail", ifClosed: "fail", hold: false, pick: null }],
    holdBy: null,
    replaceError: { name: "Error", message: "replaced", kind: "Unknown" },
  });
}

describe("opening", () => {
  test("a path in a missing folder says which folder is missing", async () => {
    await expect(openFile(folder.file("no/such/app.db"))).rejects.toMatchObject({
      code: "store_unavailable",
      message: `SQLite: ${folder.file("no/such/app.db")} cannot be created: the folder ${folder.file("no/such")} does not exist. Create it, or correct the URL.`,
    });
  });

  test("a folder in place of the file", async () => {
    await expect(openFile(folder.path)).rejects.toMatchObject({
      code: "store_refused",
      message: expect.stringContaining(`${folder.path} is a folder. Name a file in it`),
    });
  });

  test("a file in place of the folder", async () => {
    writeFileSync(folder.file("plain"), "x");
    await expect(openFile(folder.file("plain/app.db"))).rejects.toMatchObject({
      code: "store_refused",
      message: expect.stringContaining(`${folder.file("plain")} is not a folder`),
    });
  });

  test("a file that is no database", async () => {
    writeFileSync(folder.file("notes.txt"), "These are my notes, and no database at all.\n".repeat(50));
    await expect(openFile(folder.file("notes.txt"))).rejects.toMatchObject({
      code: "store_refused",
      message: expect.stringContaining("notes.txt is not an SQLite database"),
    });
  });

  test("a file and a folder that may not be written", async () => {
    const writer = await openDatabase(folder.file("app.db"));
    writer.exec("create table orders (id integer primary key)");
    writer.close();
    mkdirSync(folder.file("closed"));
    chmodSync(folder.file("closed"), 0o555);
    chmodSync(folder.file("app.db"), 0o444);
    chmodSync(folder.path, 0o555);
    await asNobody(async () => {
      await expect(openFile(folder.file("app.db"))).rejects.toMatchObject({
        code: "store_refused",
        message: expect.stringContaining(`may not write ${folder.file("app.db")}. Allow it to write`),
      });
      await expect(openFile(folder.file("closed/app.db"))).rejects.toMatchObject({
        code: "store_refused",
        message: expect.stringContaining("closed/app.db cannot be opened. Allow this process"),
      });
    });
    chmodSync(folder.path, 0o755);
  });

  test("a file in write-ahead mode that may not be written, in a folder that may", async () => {
    await (await openFile(folder.file("app.db"))).store.close();
    chmodSync(folder.file("app.db"), 0o444);
    chmodSync(folder.path, 0o777);
    await asNobody(async () => {
      await expect(openFile(folder.file("app.db"))).rejects.toMatchObject({
        code: "store_refused",
        message: expect.stringContaining(`may not write ${folder.file("app.db")}. Allow it to write`),
      });
    });
  });

  test.each([
    ["the header", 0, 100],
    ["the schema", 100, 400],
    ["pages of tables and indexes", 2 * PAGE_BYTES, 6 * PAGE_BYTES],
    ["the second half", 0.5, 0.5],
  ])("a file in which %s is damaged", async (_, from, length) => {
    const first = await openFile(folder.file("app.db"));
    for (let n = 1; n <= 50; n++) await start(first.store, n, 3_000);
    await first.store.close();
    damage(folder.file("app.db"), from, length);
    // The clock stands still: a call that waited to try again would never return.
    await expect(openFile(folder.file("app.db"))).rejects.toMatchObject({
      code: "store_refused",
      message: expect.stringMatching(/app\.db is (?:damaged\. Stop every process|not an SQLite database)/),
    });
  });

  test("a file that was cut off", async () => {
    const first = await openFile(folder.file("app.db"));
    for (let n = 1; n <= 50; n++) await start(first.store, n, 3_000);
    await first.store.close();
    truncateSync(folder.file("app.db"), 3 * PAGE_BYTES);
    await expect(openFile(folder.file("app.db"))).rejects.toMatchObject({
      code: "store_refused",
      message: expect.stringContaining("app.db is damaged. Stop every process"),
    });
  });

  test.each([
    ["migrate", { migrate: "yes" }],
    ["durability", { durability: "none" }],
  ])("an option that %s cannot have", async (option, options) => {
    await expect(openFile(folder.file("app.db"), options as object)).rejects.toMatchObject({
      code: "invalid_option",
      message: expect.stringMatching(new RegExp(`connect: ${option} is ".*"; it may be ".*", ".*"\\.`)),
    });
  });
});

/** Permissions do not bind root: drop root for a while. */
async function asNobody(work: () => Promise<void>): Promise<void> {
  const root = process.getuid?.() === 0;
  if (root) process.seteuid?.(65_534);
  try {
    await work();
  } finally {
    if (root) process.seteuid?.(0);
  }
}

describe("at work", () => {
  test("a file that is damaged meanwhile is named, with what to do, and asking again does not help", async () => {
    const { store, connection } = await openParts(`file:${folder.file("app.db")}`, {
      clock: new VirtualClock(),
      random: newRandom(),
      log: silent,
    });
    for (let n = 1; n <= 50; n++) await start(store, n, 3_000);
    connection.script("pragma wal_checkpoint(truncate); pragma cache_size = 0; pragma shrink_memory");
    damage(folder.file("app.db"), 0.5, 0.5);
    const runs = Array.from({ length: 50 }, (_, n) => ({ namespace: "default", runId: runIdOf(n + 1) }));
    await expect(store.runs.read({ runs })).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringMatching(/app\.db is damaged\. Stop every process .* sqlite3 ".*app\.db" \.recover/),
      data: { lasting: true },
    });
    await store.close();
  });

  test("on a full disk nothing is written, and work goes on when there is room again", async () => {
    const options = { clock: new VirtualClock(), random: newRandom(), log: silent };
    const { store, connection } = await openParts(`file:${folder.file("app.db")}`, options);
    await start(store, 1);
    connection.script("pragma max_page_count = 60");
    await expect(start(store, 2, 500_000)).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("app.db is full; nothing was written. Free some space"),
    });
    expect(await store.runs.count({ namespace: "default", atMost: null })).toBe(1);
    connection.script("pragma max_page_count = 100000");
    await start(store, 2, 500_000);
    expect(await store.runs.count({ namespace: "default", atMost: null })).toBe(2);
    await store.close();
  });

  test("what a table does not take is refused, with the driver's error as the cause", async () => {
    const { store } = await openFile(folder.file("app.db"));
    const worker = { namespace: "default", name: "w", queues: [], workflows: [], labels: {} };
    await expect(
      store.workers.register({ workerId: "01890000-0000-7000-8000-0000000000aa", ...worker, leaseMs: 1.5 }),
    ).rejects.toMatchObject({ code: "store_refused", cause: { errcode: expect.any(Number) } });
    await store.close();
  });

  test("tables that were dropped", async () => {
    const { store } = await openFile(folder.file("app.db"));
    const vandal = new Connection(await openDatabase(folder.file("app.db")));
    vandal.script("drop table holdfast_inbox");
    vandal.close();
    await expect(store.inbox.read({ runs: [] })).resolves.toEqual([]);
    await start(store, 1);
    await expect(
      store.inbox.read({ runs: [{ namespace: "default", runId: runIdOf(1), after: 0 }] }),
    ).rejects.toMatchObject({
      code: "store_refused",
      message: expect.stringMatching(/no such table: holdfast_inbox.* changed Holdfast's tables/),
    });
    await store.close();
  });

  test("a closed store says so", async () => {
    const { store } = await openFile(folder.file("app.db"));
    const last = start(store, 1);
    await store.close();
    await last;
    await expect(start(store, 2)).rejects.toMatchObject({ code: "client_closed" });
    await store.close();
  });
});

/** Overwrites a part of the file; numbers below 1 are fractions of its size. */
function damage(file: string, from: number, length: number): void {
  const { size } = statSync(file);
  const bytes = (part: number): number => Math.floor(part < 1 ? size * part : part);
  const descriptor = openSync(file, "r+");
  writeSync(descriptor, Buffer.alloc(bytes(length), 0xa5), 0, bytes(length), bytes(from));
  closeSync(descriptor);
}

describe("URLs", () => {
  test.each([
    ["file:app.db", `${process.cwd()}/app.db`],
    ["sqlite:app.db", `${process.cwd()}/app.db`],
    ["FILE:./data/../app.db", `${process.cwd()}/app.db`],
    ["file:/data/app.db", "/data/app.db"],
    ["file:///data/app.db", "/data/app.db"],
    ["sqlite:///data/my%20app.db", "/data/my app.db"],
    ["file:my%20app.db", `${process.cwd()}/my%20app.db`],
  ])("%s names %s", (url, file) => {
    expect(fileOf(url)).toBe(file);
  });

  test.each([
    ["file:", "names no file"],
    ["sqlite://", "names no file"],
    ["sqlite::memory:", "use memory:"],
    ["file:app.db?mode=ro", "has parameters"],
    ["file://server/app.db", "names a host"],
    ["file:a\0b", "NUL"],
    ["sqlite://bob:sesame@host/app.db", "seems to contain a user and a password"],
    ["file:bob:sesame@host/app.db", "seems to contain a user and a password"],
    ["sqlite://sesame%/app.db", "names a host"],
  ])("%s is refused", (url, what) => {
    expect(() => fileOf(url)).toThrow(
      expect.objectContaining({ code: "invalid_option", message: expect.stringContaining(what) }),
    );
    expect(inspect(refusal(url), { depth: 9, showHidden: true })).not.toContain("sesame");
  });
});

function refusal(url: string): unknown {
  try {
    return fileOf(url);
  } catch (error) {
    return error;
  }
}
