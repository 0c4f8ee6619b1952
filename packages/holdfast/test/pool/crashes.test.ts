// Real processes: what happens to them happens to nobody else.
import { RunFailedError } from "holdfast";
import { describe, expect, test } from "vitest";
import { isAlive, linesOf, makeFile, openFolder, openPool } from "../lab/pool.ts";
import { about, block, die, dieOnce, echo, hold } from "./tasks.ts";

describe.each(["exit", "abort", "throw"] as const)("a task that ends its process (%s)", (how) => {
  test("is executed again, which is not another attempt, and its neighbors notice nothing", async () => {
    const pool = await openPool([die, about, echo], { processes: 2 });
    const { pid } = (await pool.run(about)) as { pid: number };
    expect(pid).not.toBe(process.pid);
    const file = openFolder().file("deaths");
    const dying = pool.run(die, { file, times: 1, how });
    const others = await Promise.all(Array.from({ length: 20 }, (_, i) => pool.run(echo, i)));
    expect(others).toEqual(Array.from({ length: 20 }, (_, i) => i));
    expect(await dying).toBe(1);
    expect(pool.worker.pool?.restarts).toMatchObject({ crashed: 1, killed: 0 });
  });

  test("fails with task_crashed after its third death", async () => {
    const pool = await openPool([die, echo]);
    const run = await pool.start(die, { file: openFolder().file("deaths"), times: 9, how });
    const error = (await run.result().catch((thrown: unknown) => thrown)) as RunFailedError;
    expect(error).toBeInstanceOf(RunFailedError);
    const said = { exit: "exited with code 7", abort: "SIGABRT", throw: "RangeError: out of nowhere" }[how];
    expect(error.cause).toMatchObject({ code: "task_crashed", attempts: 1, message: expect.stringContaining(said) });
    expect(await pool.run(echo, "still here")).toBe("still here");
  });
});

test("a task with onCrash fail is executed once", async () => {
  const pool = await openPool([dieOnce]);
  const file = openFolder().file("deaths");
  const error = (await pool
    .run(dieOnce, { file, times: 9, how: "exit" })
    .catch((thrown: unknown) => thrown)) as RunFailedError;
  expect(error.cause).toMatchObject({ code: "task_crashed" });
  expect(pool.worker.pool?.restarts.crashed).toBe(1);
});

test.each(["oom", "grow"] as const)(
  "a task that takes too much memory (%s) loses its process, and nothing else",
  async (how) => {
    const pool = await openPool([die, echo], { memory: "320 MiB", processes: 2 });
    const dying = pool.run(die, { file: openFolder().file("deaths"), times: 1, how });
    expect(await pool.run(echo, 1)).toBe(1);
    expect(await dying).toBe(1);
    const why = pool.lines
      .filter(({ message }) => message.includes("has died"))
      .map(({ fields }) => (fields as { why: string }).why);
    expect(why).toHaveLength(1);
    if (how === "grow") expect(why[0]).toMatch(/it used \d+ MiB, more than its limit of 320 MiB/);
  },
);

test("a neighbor in the same process is executed again, without a death of its own", async () => {
  const pool = await openPool([block, hold], { perProcess: 2 });
  const folder = openFolder();
  const input = { says: folder.file("holding"), until: folder.file("go") };
  const held = await pool.start(hold, input);
  const [pid] = await linesOf(input.says, 1);
  const says = folder.file("blocking");
  const run = await pool.start(block, says);
  expect(await linesOf(says, 1)).toEqual([pid]);
  await expect(run.result()).rejects.toMatchObject({ cause: { code: "task_timeout" } });
  const [, next] = await linesOf(input.says, 2);
  expect(next).not.toBe(pid);
  const [task] = (await pool.client.tasks.list({ name: "hold" })).tasks;
  expect(task).toMatchObject({ attempt: 1, status: "held" });
  makeFile(input.until);
  expect(String(await held.result())).toBe(next);
});

test("a timeout ends a function that blocks its process", async () => {
  const pool = await openPool([block, echo], { processes: 2 });
  const says = openFolder().file("pid");
  const run = await pool.start(block, says);
  const [pid] = await linesOf(says, 1);
  expect(await pool.run(echo, "meanwhile")).toBe("meanwhile");
  const error = (await run.result().catch((thrown: unknown) => thrown)) as RunFailedError;
  expect(error.cause).toMatchObject({ code: "task_timeout" });
  expect(isAlive(Number(pid))).toBe(false);
  expect(pool.worker.pool?.restarts).toMatchObject({ killed: 1, crashed: 0 });
  expect(await pool.run(echo, "again")).toBe("again");
});
