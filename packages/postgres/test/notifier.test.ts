import type { Hint } from "holdfast/adapter";
import { VirtualClock } from "holdfast/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { claim, firstCommit, idOf, newRun, register, start } from "./sample-runs.ts";
import { TestDatabase } from "./test-database.ts";
import { TestProxy } from "./test-proxy.ts";
import { watchedLog } from "./watched-log.ts";

let database: TestDatabase;
const worker = idOf(1);

beforeEach(async () => {
  database = await TestDatabase.create();
});

afterEach(() => database.drop());

/** Collects hints; `until` resolves as soon as that many have arrived. */
class Listener {
  readonly hints: Hint[] = [];
  #wanted = Number.POSITIVE_INFINITY;
  #reached = (): void => {};

  readonly hear = (hint: Hint): void => {
    this.hints.push(hint);
    if (this.hints.length >= this.#wanted) this.#reached();
  };

  until(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#wanted = count;
      this.#reached = resolve;
      if (this.hints.length >= count) resolve();
    });
  }
}

async function listeners(): Promise<number[]> {
  const rows = await database.sql("select pid from pg_stat_activity where query = $1", [`listen "${database.schema}"`]);
  return rows.map(({ pid }) => pid as number);
}

describe("notifications", () => {
  test("of one call are one, and what this process did it tells itself once", async () => {
    const [here, there] = [await database.open(), await database.open()];
    const [own, other] = [new Listener(), new Listener()];
    here.notifier.subscribe(own.hear);
    there.notifier.subscribe(other.hear);
    await database.sql(`listen "${database.schema}"`);
    const payloads: string[] = [];
    const arrived = new Promise<void>((resolve) => {
      database.admin.on("notification", ({ payload }) => {
        payloads.push(payload ?? "");
        if (payloads.length === 2) resolve();
      });
    });
    await start(here.store, [newRun(10), newRun(11), newRun(12, { queue: "other" })]);
    await start(there.store, [newRun(13)]);
    await arrived;
    await own.until(3);
    await other.until(3);
    expect(payloads).toHaveLength(2);
    expect(own.hints.filter((hint) => hint.type === "due" && hint.queue === "default")).toHaveLength(2);
    expect(other.hints).toHaveLength(3);
    expect(own.hints).toHaveLength(3);
  });

  test("of a thousand ends keep to the size that the server allows, and name every run", async () => {
    const [here, there] = [await database.open(), await database.open()];
    const other = new Listener();
    there.notifier.subscribe(other.hear);
    await register(here.store, worker);
    const numbers = Array.from({ length: 1_000 }, (_, i) => 1_000 + i);
    await start(
      here.store,
      numbers.map((n) => newRun(n)),
      worker,
    );
    const output = { output: null, error: null, unlessBehind: true, compensation: null };
    const commits = numbers.map((n) => firstCommit(n, { transition: { type: "end", status: "completed", ...output } }));
    await here.store.runs.commit({ commits });
    await other.until(1_000);
    const ended = other.hints.flatMap((hint) => (hint.type === "ended" ? [hint.runId] : []));
    expect(new Set(ended)).toEqual(new Set(numbers.map(idOf)));
  });

  test("are not sent for what nobody can be waiting for", async () => {
    const [here, there] = [await database.open(), await database.open()];
    const other = new Listener();
    there.notifier.subscribe(other.hear);
    await register(here.store, worker);
    await start(here.store, [newRun(10)], worker); // held at once
    await here.store.runs.commit({ commits: [firstCommit(10)] }); // held on
    await start(here.store, [newRun(12)]);
    await other.until(1);
    expect(other.hints).toEqual([{ type: "due", namespace: "default", queue: "default" }]);
  });

  test("come again after the connection that listens was lost, by itself", async () => {
    const clock = new VirtualClock();
    const { log, next } = watchedLog();
    const here = await database.open();
    const there = await database.open({ clock, log });
    const other = new Listener();
    there.notifier.subscribe(other.hear);
    const [, pid] = (await listeners()).sort((a, b) => a - b);
    const before = await listeners();
    for (const process of before) await database.sql("select pg_terminate_backend($1)", [process]);
    expect(pid).toBeDefined();
    expect(await next()).toMatchObject({ reason: "the connection ended", retryInMs: 1_000 });
    await clock.advance("1s");
    await there.notifier.listening;
    await start(here.store, [newRun(10)]);
    await other.until(1);
    expect(other.hints).toMatchObject([{ type: "due" }]);
  });

  test("are asked for again after 1 s, 2 s, 4 s … 30 s while the server is away", async () => {
    const clock = new VirtualClock();
    const { log, next } = watchedLog();
    const proxy = await TestProxy.start();
    const { notifier } = await database.open({ clock, log, url: proxy.through(database.url()) });
    await notifier.listening;
    await proxy.down();
    const delays: unknown[] = [];
    for (let i = 0; i < 7; i++) {
      const { retryInMs } = await next();
      delays.push(retryInMs);
      if (i === 6) await proxy.up();
      await clock.advance({ milliseconds: retryInMs as number });
    }
    expect(delays).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    await notifier.listening;
    await proxy.close();
  });
});

describe.each([{ notify: "false" }, { pooler: "transaction" }])("without notifications (%o)", (parameters) => {
  test("nothing is sent or listened for, and everything is found by asking", async () => {
    const [here, there] = [await database.open({ parameters }), await database.open({ parameters })];
    const [own, other] = [new Listener(), new Listener()];
    here.notifier.subscribe(own.hear);
    there.notifier.subscribe(other.hear);
    expect(await listeners()).toEqual([]);
    await register(there.store, worker);
    await start(here.store, [newRun(10)]);
    await own.until(1); // within one process hints need no server
    expect((await claim(there.store, worker, idOf(100))).runs).toHaveLength(1);
    const message = { kind: "signal", name: "go", messageId: "m", payload: new Uint8Array(0) } as const;
    await here.store.inbox.deliver({
      messages: [{ to: { namespace: "default", runId: idOf(10) }, ...message }],
      inboxMax: 10,
    });
    const beat = await there.store.workers.heartbeat({
      namespace: "default",
      workerId: worker,
      leaseMs: 60_000,
      draining: false,
    });
    expect(beat.behind).toEqual([idOf(10)]);
    expect(other.hints).toEqual([]);
  });
});
