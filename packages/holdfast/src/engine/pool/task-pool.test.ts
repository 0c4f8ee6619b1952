import { expect, test } from "vitest";
import type { PortsBundle } from "../../calls/ports-bundle.ts";
import { jsonCodec } from "../../codec/json-codec.ts";
import type { Task } from "../../model/task.ts";
import { silentLogger } from "../../ports/logger.ts";
import type { PoolOrder, ProcessEvents } from "../../ports/task-processes.ts";
import { VirtualClock } from "../../testing/virtual-clock.ts";
import { TaskAttempt, type TaskEnd } from "../tasks/task-attempt.ts";
import { resolvePool, type TaskPoolOptions } from "./pool-options.ts";
import { TaskPool } from "./task-pool.ts";

interface FakeProcess extends ProcessEvents {
  readonly orders: PoolOrder[];
  /** Says that it has loaded its module. */
  ready(): void;
}

/** A pool whose processes do what the test says. */
class Stage {
  readonly clock = new VirtualClock();
  readonly started: FakeProcess[] = [];
  readonly pool: TaskPool;

  constructor(options: Partial<TaskPoolOptions> = {}) {
    const ports = {
      clock: this.clock,
      log: silentLogger,
      codec: jsonCodec,
      plainCodec: true,
    } as unknown as PortsBundle;
    this.pool = new TaskPool({
      ports,
      processes: { start: (_params, events) => this.#start(events) },
      workerName: "w",
      options: resolvePool({ module: "/tasks.js", processes: 1, ...options }),
      tasks: ["mail"],
      onFree: () => {},
    });
  }

  #start(events: ProcessEvents) {
    const orders: PoolOrder[] = [];
    const ready = (): void => events.said({ type: "ready", tasks: ["mail"], residentBytes: 1 });
    this.started.push({ ...events, orders, ready });
    return {
      pid: this.started.length,
      send: (order: PoolOrder) => void orders.push(order),
      leave: () => events.ended("exited with code 0"),
      kill: () => events.ended("was ended by SIGKILL"),
    };
  }

  process(n: number): FakeProcess {
    return this.started[n] as FakeProcess;
  }

  /** Started, with its first process ready. */
  async open(): Promise<void> {
    const started = this.pool.start();
    this.process(0).ready();
    await started;
  }

  run(): { readonly attempt: TaskAttempt; readonly ends: TaskEnd[] } {
    const ends: TaskEnd[] = [];
    const task = { name: "mail", op: "mail", input: null, details: null, failures: [], spec: null } as unknown as Task;
    const owner = { ended: (_: TaskAttempt, end: TaskEnd) => void ends.push(end), heard: () => Promise.resolve() };
    const attempt = new TaskAttempt(task, { clock: this.clock, codec: jsonCodec, log: silentLogger }, owner);
    this.pool.run(attempt);
    return { attempt, ends };
  }
}

test("processes that die one after the other are started with growing delays", async () => {
  const stage = new Stage();
  await stage.open();
  const startedAfter: number[] = [];
  for (let deaths = 0; deaths < 5; deaths++) {
    const count = stage.started.length;
    const diedAt = stage.clock.monotonic();
    stage.process(count - 1).ended("exited with code 1");
    while (stage.started.length === count) await stage.clock.advance("100ms");
    startedAfter.push(stage.clock.monotonic() - diedAt);
  }
  expect(startedAfter).toEqual([100, 200, 400, 800, 1600]);
});

test("a process that finishes tasks is replaced at once, however many have died before", async () => {
  const stage = new Stage();
  await stage.open();
  for (let deaths = 1; deaths <= 4; deaths++) {
    stage.run();
    stage.process(deaths - 1).said({ type: "done", id: 1, payload: null });
    stage.process(deaths - 1).ended("exited with code 1");
    await stage.clock.advance("1ms");
    expect(stage.started).toHaveLength(deaths + 1);
    stage.process(deaths).ready();
  }
});

test("a worker does not start with a process that does not load its module", async () => {
  const stage = new Stage();
  const refused = expect(stage.pool.start()).rejects.toThrow(
    "it was killed: it did not load its module within 30 seconds",
  );
  await stage.clock.advance("30s");
  await refused;
});

test("a process gets tasks until its successor is ready, and none from then on", async () => {
  const stage = new Stage({ recycleAfter: 1, perProcess: 9 });
  await stage.open();
  stage.run();
  stage.run();
  expect(stage.started).toHaveLength(2);
  expect(stage.process(0).orders).toHaveLength(2);
  stage.process(1).ready();
  stage.run();
  expect(stage.process(0).orders).toHaveLength(2);
  expect(stage.process(1).orders).toHaveLength(1);
  expect(stage.pool.status().processes.map(({ state }) => state)).toEqual(["retiring", "ready", "starting"]);
});

test("a successor that dies is started again, and its predecessor goes on", async () => {
  const stage = new Stage({ recycleAfter: 1, perProcess: 9 });
  await stage.open();
  stage.run();
  stage.process(1).ended("exited with code 1");
  await stage.clock.advance("1ms");
  expect(stage.pool.status().processes.map(({ state }) => state)).toEqual(["ready", "starting"]);
  stage.process(2).ready();
  expect(stage.pool.status().processes.map(({ state }) => state)).toEqual(["retiring", "ready"]);
});

test("a process that keeps growing has one successor at a time, however often that one dies", async () => {
  const stage = new Stage({ memory: "100 MiB" });
  await stage.open();
  stage.run();
  for (let second = 0; second < 60; second++) {
    stage.process(0).measured(90 * 1024 * 1024);
    for (const { ended } of stage.started.slice(1)) ended("exited with code 1");
    await stage.clock.advance("1s");
  }
  expect(stage.started.length).toBeLessThan(15);
  stage.process(0).ended("exited with code 1");
  await stage.clock.advance("29s");
  stage.process(stage.started.length - 1).ready();
  await stage.clock.advance("1m");
  expect(stage.pool.status().processes.map(({ state }) => state)).toEqual(["ready"]);
});

test("a process that cannot load its module is started with growing delays, although others finish tasks", async () => {
  const stage = new Stage({ processes: 2 });
  await stage.open();
  stage.process(1).ready();
  stage.process(1).ended("exited with code 1");
  for (let second = 0; second < 60; second++) {
    await stage.clock.advance("1s");
    stage.run();
    stage.process(0).said({ type: "done", id: second + 1, payload: null });
    for (const { ended } of stage.started.slice(2)) ended("exited with code 1");
  }
  expect(stage.started.length).toBeLessThan(15);
});

test("attempts that no process will execute soon are given back, for none has begun", async () => {
  const stage = new Stage();
  await stage.open();
  stage.process(0).ended("exited with code 1");
  await stage.clock.advance("1ms");
  const { ends } = stage.run();
  expect(ends).toEqual([]);
  stage.process(1).ended("exited with code 1");
  await stage.clock.advance("1ms");
  expect(ends).toMatchObject([{ ok: false, died: { begun: false } }]);
});

test("a heartbeat is answered also if its task has ended meanwhile: its process would wait for ever", async () => {
  const stage = new Stage();
  await stage.open();
  stage.run();
  stage.process(0).said({ type: "beat", id: 1, beat: 7, details: null });
  stage.process(0).said({ type: "done", id: 1, payload: null });
  await stage.clock.settle();
  expect(stage.process(0).orders.at(-1)).toEqual({ type: "heard", id: 1, beat: 7 });
});

test("an attempt that is given up while it waits for a process never begins", async () => {
  const stage = new Stage();
  await stage.open();
  stage.run();
  const { attempt, ends } = stage.run();
  attempt.abort(new Error("not wanted"));
  expect(ends).toEqual([{ ok: false, error: new Error("not wanted") }]);
  stage.process(0).said({ type: "done", id: 1, payload: null });
  expect(stage.process(0).orders).toHaveLength(1);
});

test("a pool that is stopped starts nothing more, and can be started again", async () => {
  const stage = new Stage();
  await stage.open();
  stage.process(0).ended("exited with code 1");
  await stage.pool.stop();
  const started = stage.pool.start();
  await stage.clock.advance("1s");
  expect(stage.started).toHaveLength(2);
  stage.process(1).ready();
  await started;
});
