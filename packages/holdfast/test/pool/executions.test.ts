// One pool for all tests: what goes into a process, and what comes out of it, as if the function were called here.
import { readFileSync } from "node:fs";
import { type AnyTask, jsonCodec, RunCanceledError, type RunFailedError } from "holdfast";
import { beforeAll, describe, expect, test } from "vitest";
import { linesOf, makeFile, openFolder, openPool, openSharedPool, type PoolLab, until } from "../lab/pool.ts";
import * as tasks from "./tasks.ts";

const { about, chatty, deaf, echo, final, hold, huge, late, later, limited, picky, polite, refuse, resumed, silent } =
  tasks;
const ALL = Object.values(tasks).filter((value): value is AnyTask => "kind" in value);

let pool: PoolLab;
beforeAll(async () => {
  pool = await openSharedPool(ALL, { processes: 4, cancelGrace: "1s" });
});

async function failureOf(task: AnyTask, input?: unknown): Promise<RunFailedError["cause"]> {
  return pool.run(task, input).then(
    (value) => expect.fail(`it returned ${String(value)}`),
    (error: RunFailedError) => error.cause,
  );
}

test("four processes execute four tasks at once", async () => {
  const folder = openFolder();
  const input = { says: folder.file("pids"), until: folder.file("go") };
  const runs = await Promise.all([1, 2, 3, 4].map(() => pool.start(hold, input)));
  const pids = await linesOf(input.says, 4);
  expect(new Set(pids).size).toBe(4);
  expect(pool.worker.pool?.processes.map(({ running }) => running)).toEqual([1, 1, 1, 1]);
  const fifth = pool.run(about);
  makeFile(input.until);
  const results = await Promise.all(runs.map((run) => run.result()));
  expect(results.map(String).sort()).toEqual(pids.sort());
  expect(await fifth).toMatchObject({ ppid: process.pid });
});

test("values survive the way, up to the largest", async () => {
  const value = { at: new Date(5), big: 10n, set: new Set(["a"]), bytes: new Uint8Array([1, 2]), nothing: undefined };
  expect(await pool.run(echo, value)).toEqual(value);
  expect(await pool.run(echo)).toBeUndefined();
  expect(await pool.run(huge, 1_000_000)).toHaveLength(1_000_000);
});

test("a result that is too large fails the task, which is not executed again", async () => {
  expect(await failureOf(huge, 3 * 1024 * 1024)).toMatchObject({ recordedCode: "payload_too_large", attempts: 1 });
});

describe("errors", () => {
  test("come with their name, code, stack and causes", async () => {
    const error = await failureOf(refuse);
    expect(error).toMatchObject({
      code: "task_failed",
      name: "Error",
      message: "no entry",
      kind: "Unauthorized",
      data: { status: 403 },
      attempts: 1,
      cause: { name: "TypeError", message: "the key is bent" },
    });
    expect(error?.stack).toContain("/tasks.mjs");
  });

  test("are judged where they were thrown: by class, and by what they ask for", async () => {
    expect(await failureOf(picky)).toMatchObject({ message: "attempt 2", attempts: 2 });
    expect(await failureOf(final)).toMatchObject({ message: "never again", attempts: 1 });
    const run = await pool.start(limited);
    await until(async () => (await pool.client.tasks.list({ name: "limited" })).tasks[0]?.attempt === 2);
    const { causes } = await pool.client.why(run.id);
    await run.terminate();
    expect(causes[0]?.at?.getTime()).toBeGreaterThan((await run.describe()).createdAt.getTime() + 80_000_000);
  });
});

test("heartbeats reach the worker: details survive a death, and silence is noticed", async () => {
  expect(await pool.run(resumed)).toEqual({ row: 7 });
  expect(await pool.run(silent)).toEqual({ row: 1 });
});

test("log lines reach the logger of the worker, with what they are about", async () => {
  const run = await pool.start(chatty);
  await run.result();
  const about = { runId: run.runId, task: "chatty", op: "chatty", attempt: 1 };
  expect(pool.lines).toContainEqual({
    level: "info",
    message: "counted",
    fields: expect.objectContaining({ ...about, lines: 3 }),
  });
  expect(pool.lines).toContainEqual({ level: "warn", message: "odd fields", fields: expect.objectContaining(about) });
});

test("a task may be completed later, by someone with its token", async () => {
  const file = openFolder().file("token");
  const run = await pool.start(later, file);
  await until(async () => (await pool.client.tasks.list({ status: "external" })).tasks.length === 1);
  await pool.client.tasks.complete(readFileSync(file, "utf8"), "by hand");
  expect(await run.result()).toBe("by hand");
});

describe("a cancel", () => {
  test.each([
    ["that the run must hear of", true],
    ["that nobody waits for", false],
  ])("aborts the signal of a function %s, whose process lives on", async (_which, undone) => {
    const says = openFolder().file("says");
    const run = await pool.start(polite, says, undone);
    const [pid] = await linesOf(says, 1);
    await run.cancel();
    await expect(run.result()).rejects.toBeInstanceOf(RunCanceledError);
    expect(await linesOf(says, 2)).toEqual([pid, "task_canceled"]);
    expect(pool.worker.pool?.processes.map((process) => String(process.pid))).toContain(pid);
  });

  test.each([true, false])(
    "that is ignored ends the process after the grace (the run must hear of it: %s)",
    async (undone) => {
      const says = openFolder().file("says");
      const run = await pool.start(deaf, says, undone);
      const [pid] = await linesOf(says, 1);
      await run.cancel();
      await expect(run.result()).rejects.toBeInstanceOf(RunCanceledError);
      await until(() => !pool.worker.pool?.processes.some((process) => String(process.pid) === pid));
      expect(pool.worker.pool?.restarts.killed).toBeGreaterThan(0);
    },
  );
});

test("a function that stops at its timeout keeps its process", async () => {
  const says = openFolder().file("says");
  expect(await failureOf(late, says)).toMatchObject({ code: "task_timeout" });
  const [line] = await linesOf(says, 1);
  const [pid, code] = line?.split(" ") ?? [];
  expect(code).toBe("task_timeout");
  expect(pool.worker.pool?.processes.map((process) => String(process.pid))).toContain(pid);
});

test("a codec of one's own stays in the worker: its processes need no key", async () => {
  const flip = (bytes: Uint8Array): Uint8Array => bytes.map((byte) => byte ^ 0xff);
  const codec = {
    name: "flipped",
    encode: (value: unknown, where: string) => flip(jsonCodec.encode(value, where)),
    decode: (bytes: Uint8Array) => jsonCodec.decode(flip(bytes)),
  };
  const flipped = await openPool([echo, resumed], {}, { codec });
  expect(await flipped.run(echo, { at: new Date(7) })).toEqual({ at: new Date(7) });
  expect(await flipped.run(resumed)).toEqual({ row: 7 });
});

test("the pool says how fast it is", async () => {
  const before = pool.worker.pool;
  await Promise.all(Array.from({ length: 20 }, (_, i) => pool.run(echo, i)));
  const { executed, perSecond, latency } = pool.worker.pool as NonNullable<typeof before>;
  expect(executed - (before?.executed ?? 0)).toBe(20);
  expect(perSecond).toBeGreaterThan(0);
  expect(latency?.p99Ms).toBeGreaterThanOrEqual(latency?.p50Ms ?? Number.POSITIVE_INFINITY);
});
