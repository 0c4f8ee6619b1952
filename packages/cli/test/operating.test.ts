// Everything but runs: schedules, queues, workers, versions, tasks, health, what is kept.
import { existsSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually, KINDS, newStore, run, StoreUnderTest } from "./command-under-test.ts";
import { allowed } from "./sample-code.ts";

describe.each(KINDS)("on %s", (kind) => {
  let store: StoreUnderTest;
  beforeAll(async () => {
    allowed.clear();
    store = await StoreUnderTest.open(kind);
  });
  afterAll(() => store.close());

  test("a schedule is created, shown, changed, paused, resumed, triggered and deleted", async () => {
    const { json, holdfast } = store;
    const created = await json(
      "schedule",
      "create",
      "nightly",
      "--workflow",
      "double",
      "--cron",
      "0 3 * * *",
      "--timezone",
      "Europe/Berlin",
      "--input",
      '{"n":1}',
    );
    expect(created.records).toMatchObject([
      { id: "nightly", workflow: "double", paused: false, nextAt: expect.any(String) },
    ]);
    expect((await json("schedule", "create", "nightly", "--workflow", "double", "--every", "1h")).code).toBe(6);
    expect((await json("schedule", "create", "bad", "--workflow", "double", "--cron", "0 99 * * *")).error.code).toBe(
      "invalid_schedule",
    );
    expect((await json("schedule", "list")).records).toMatchObject([{ id: "nightly", status: "scheduled" }]);
    expect((await holdfast("schedule", "list")).out).toContain("0 3 * * * (Europe/Berlin)");
    expect((await json("schedule", "upcoming", "nightly", "--count", "2")).records).toHaveLength(2);
    expect((await json("schedule", "pause", "nightly", "--note", "holidays", "--by", "ann")).records).toMatchObject([
      { paused: true, nextAt: null },
    ]);
    expect((await json("schedule", "describe", "nightly")).records).toMatchObject([
      { note: "holidays", by: "ann", input: { n: 1 } },
    ]);
    const over = ["--cron", "0 3 * * *", "--until", "2026-01-01"];
    expect((await holdfast("schedule", "create", "over", "--workflow", "double", ...over)).out).toContain(
      "it has no further times",
    );
    expect((await holdfast("schedule", "list")).out).toMatch(/over.*ended/);
    expect((await holdfast("schedule", "describe", "over")).out).toMatch(/ended[\s\S]*never: it has no further times/);
    expect((await json("schedule", "delete", "over", "--yes")).code).toBe(0);
    const triggered = await json("schedule", "trigger", "nightly");
    expect(triggered.records).toMatchObject([{ schedule: "nightly", id: expect.stringMatching(/^nightly!/) }]);
    expect((await json("schedule", "resume", "nightly")).records).toMatchObject([{ paused: false }]);
    expect((await json("schedule", "update", "nightly", "--cron", "0 4 * * *")).code).toBe(0);
    expect((await holdfast("schedule", "describe", "nightly")).out).toMatch(/0 4 \* \* \*[\s\S]*it was triggered/);
    await eventually(async () =>
      (await json("schedule", "runs", "nightly")).records.map(({ status }) => status),
    ).toEqual(["completed"]);
    expect((await json("schedule", "delete", "nightly")).code).toBe(2);
    expect((await json("schedule", "delete", "nightly", "--yes")).records).toEqual([{ id: "nightly", deleted: true }]);
    expect((await json("schedule", "describe", "nightly")).code).toBe(3);
  });

  test("a backfill starts what was due", async () => {
    await store.json(
      "schedule",
      "create",
      "hourly",
      "--workflow",
      "double",
      "--every",
      "1h",
      "--input",
      '{"n":2}',
      "--paused",
      "--overlap",
      "allow",
    );
    const { records } = await store.json("schedule", "backfill", "hourly", "--from", "3h");
    expect(records).toMatchObject([{ id: "hourly", times: 3, started: 3 }]);
  });

  test("limits of a queue are set, shown and removed", async () => {
    const { json } = store;
    const { records } = await json(
      "queue",
      "set",
      "mail",
      "--concurrency",
      "20",
      "--rate",
      "100/1m",
      "--per-key-concurrency",
      "2",
      "--weight",
      "vip=3",
    );
    expect(records).toMatchObject([
      {
        name: "mail",
        limits: { concurrency: 20, rate: { limit: 100 }, perKey: { concurrency: 2 }, weights: { vip: 3 } },
      },
    ]);
    expect((await store.holdfast("queue", "list")).out).toContain("20 at once, 100 per 1m");
    expect((await json("queue", "list")).records).toContainEqual(expect.objectContaining({ name: "mail" }));
    expect((await json("queue", "set", "mail")).records).toEqual([{ name: "mail", limits: {} }]);
    expect((await json("queue", "set", "mail", "--rate", "fast")).code).toBe(2);
  });

  test("workers are listed with what has happened to them, and asked to drain", async () => {
    const [row] = (await store.json("workers", "list")).records;
    expect(row).toMatchObject({ name: "tests", status: "online", workerId: expect.any(String) });
    expect((await store.holdfast("workers", "list")).out).toMatch(/tests +online/);
    expect((await store.json("workers", "events", "--limit", "1")).records).toMatchObject([
      { name: "tests", type: "started" },
    ]);
    expect((await store.json("workers", "drain", "no-such")).error).toMatchObject({ code: "worker_not_found" });
    const other = store.hf.worker({ workflows: [], queues: ["other"], name: "drained" } as never);
    await other.start();
    expect((await store.json("workers", "drain", "drained")).records).toEqual([
      { workerId: other.workerId, drainAsked: true },
    ]);
    await other.stop();
  });

  test("versions are listed, made the default, and deprecated", async () => {
    expect((await store.json("versions", "set-default", "double", "1")).code).toBe(0);
    expect((await store.json("versions", "deprecate", "double", "1")).code).toBe(0);
    expect((await store.json("versions", "list", "double")).records).toMatchObject([
      { workflow: "double", version: "1", isDefault: true, deprecated: true },
    ]);
    expect((await store.json("versions", "deprecate", "double", "1", "--undo")).code).toBe(0);
    expect((await store.holdfast("versions", "list")).out).toMatch(/double +1 +yes/);
    expect((await store.json("versions", "set-default", "double", "99")).code).toBe(3);
  });

  test("a task is completed or failed by its token, and a dead letter is taken up again", async () => {
    const { json } = store;
    await json("workflow", "start", "asking", "--id", "ask-1");
    await json("workflow", "start", "asking", "--id", "ask-2");
    const external = async () =>
      (await json("tasks", "list", "--status", "external")).records as { token: string; name: string }[];
    await eventually(async () => (await external()).length).toBe(2);
    const [first, second] = await external();
    expect((await json("tasks", "get", first?.token ?? "")).records).toMatchObject([
      { name: "approval", status: "external" },
    ]);
    expect((await json("tasks", "complete", first?.token ?? "", "--input", '{"by":"ann"}')).code).toBe(0);
    expect((await json("tasks", "complete", first?.token ?? "")).error.code).toBe("task_closed");
    expect((await json("tasks", "fail", second?.token ?? "", "--message", "no", "--non-retryable")).code).toBe(0);
    const ends = async () => [await store.hf.get("ask-1").status(), await store.hf.get("ask-2").status()];
    await eventually(ends).toEqual(["completed", "failed"]);

    expect(
      (await json("workflow", "start", "mailing", "--id", "mail-1", "--input", '{"to":"nobody"}', "--wait")).code,
    ).toBe(1);
    const dead = (await json("tasks", "list", "--status", "dead", "--name", "send-mail")).records as {
      token?: string;
    }[];
    expect((await store.holdfast("tasks", "list", "--status", "dead")).out).toMatch(/send-mail +dead.*no such address/);
    allowed.add("nobody");
    expect((await json("tasks", "retry", dead[0]?.token ?? "")).records).toEqual([{ retried: true }]);
    expect((await store.holdfast("workflow", "result", "mail-1")).out).toBe('"sent to nobody"\n');
  });

  test("health and top show workers, queues and runs", async () => {
    const health = await store.json("health");
    expect(health.code).toBe(0);
    expect(health.records).toMatchObject([
      { status: expect.any(String), store: { status: "healthy" }, workers: [{ name: "tests" }] },
    ]);
    expect((await store.holdfast("health")).out).toContain("tests");
    const [top] = (await store.json("top")).records;
    expect(Object.keys(top ?? {})).toEqual(["at", "open", "rates", "queues", "workers", "slowest", "failing"]);
    expect((await store.holdfast("top")).out).toMatch(/Workers\n[\s\S]*tests[\s\S]*Queues\n/);
  });

  test("ended runs are kept as long as retention says, and purged by hand", async () => {
    const kept = await store.json("retention", "set", "--completed", "30 days", "--timed-out", "1 day");
    expect(kept.records).toEqual([{ completed: "30d", timed_out: "1d" }]);
    expect((await store.holdfast("retention", "get")).out).toMatch(/failed +forever/);
    await store.json("workflow", "start", "double", "--id", "old", "--input", '{"n":1}', "--wait");
    expect((await store.json("purge", "--older-than", "1h", "--dry-run")).records).toEqual([
      { matched: 0, dryRun: true },
    ]);
    expect((await store.json("purge", "--older-than", "0s")).code).toBe(2);
    const { records } = await store.json("purge", "--older-than", "0s", "--yes");
    expect((records[0] as { purged: number }).purged).toBeGreaterThan(0);
    expect((await store.json("workflow", "describe", "old")).code).toBe(3);
  });

  test("a store without tables is not changed by a check, and is created by migrate", async () => {
    if (kind === "a server") {
      const { code, error } = await store.json("migrate");
      expect([code, error.message]).toEqual([2, expect.stringContaining("not through a server")]);
      return;
    }
    const { url, remove } = newStore(kind);
    try {
      const check = await run(["--url", url, "--json", "migrate", "--check"]);
      expect([check.code, check.error.code]).toEqual(kind === "SQLite" ? [3, "store_not_found"] : [6, "store_refused"]);
      if (kind === "SQLite") expect(existsSync(url.slice("file:".length))).toBe(false);
      expect((await run(["--url", url, "--json", "workflow", "list"])).code).toBe(check.code);
      expect((await run(["--url", url, "--json", "migrate"])).records).toMatchObject([{ upToDate: true }]);
      expect((await run(["--url", url, "--json", "migrate", "--check"])).code).toBe(0);
      expect((await run(["--url", url, "--json", "workflow", "count"])).records).toEqual([{ count: 0 }]);
    } finally {
      await remove();
    }
  });

  test("namespaces do not see each other", async () => {
    await store.json("--namespace", "other", "workflow", "start", "double", "--id", "there", "--input", '{"n":1}');
    expect((await store.json("--namespace", "other", "workflow", "count")).records).toEqual([{ count: 1 }]);
    expect((await store.json("workflow", "describe", "there")).code).toBe(3);
  });
});

test("the times of a schedule that does not exist are shown without a store", async () => {
  const { code, records } = await run(["--json", "schedule", "preview", "--cron", "0 9 * * 1-5", "--count", "3"]);
  expect(code).toBe(0);
  expect(records).toHaveLength(3);
});

test("a database that does not answer is exit code 4", async () => {
  const { code, error } = await run(["--url", "postgres://nobody@127.0.0.1:1/app", "--json", "workflow", "list"]);
  expect([code, error.code]).toEqual([4, "store_unavailable"]);
});
