import { type HoldfastError, type RunHandle, type StepInfo, signal, task, update, workflow } from "holdfast";
import { replay } from "holdfast/testing";
import { describe, expect, test } from "vitest";
import { deferred } from "../lab/deferred.ts";
import { type Fleet, openEngine, openFleet } from "../lab/fleet.ts";

const approve = signal<string>("approve");

/** What the steps of all runs did, as `op of run`. */
function journal(): {
  readonly lines: string[];
  did(op: string): (s: StepInfo) => string;
  said<T>(op: string, value: T): () => T;
} {
  const lines: string[] = [];
  return {
    lines,
    said: (op, value) => () => {
      lines.push(op);
      return value;
    },
    did: (op) => (s) => {
      lines.push(op);
      return `${op} ${s.idempotencyKey.split(":")[0]?.slice(-3)}`;
    },
  };
}

async function typesOf(run: RunHandle): Promise<string[]> {
  return (await run.history()).map(({ type, op }) => (op === null ? type : `${type} ${op}`));
}

async function fleetWith(...workflows: Parameters<Fleet["forgetful"]>[0]["workflows"] & object[]): Promise<Fleet> {
  const fleet = openFleet();
  await fleet.forgetful({ workflows: workflows as never });
  return fleet;
}

describe("a fork", () => {
  test("begins with the events of its origin, executes nothing of them again, and goes on from there", async () => {
    const { lines, did, said } = journal();
    const order = workflow("order", async (ctx, amount: number) => {
      const a = await ctx.step("charge", said("charge", amount));
      const b = await ctx.step("reserve", said("reserve", a + 1));
      await ctx.step("ship", did("ship"));
      return a + b;
    });
    const fleet = await fleetWith(order);
    const run = await fleet.client().start(order, 5, { id: "o" });
    await fleet.result(run);
    const before = await run.history();
    const fork = await run.fork({ before: "reserve", id: "o again", by: "ana", reason: "once more" });
    expect(fork).toMatchObject({ id: "o again", created: true });
    expect(fork.runId).not.toBe(run.runId);
    expect(await fleet.result(fork)).toBe(11);
    expect(lines).toEqual(["charge", "reserve", "ship", "reserve", "ship"]);
    expect(await typesOf(fork)).toEqual([
      "run_started",
      "step_completed charge",
      "run_forked",
      "step_completed reserve",
      "step_completed ship",
      "run_completed",
    ]);
    const history = await fork.history();
    expect(history[1]).toEqual(before[1]);
    expect(history[2]).toMatchObject({
      forkedFrom: { id: "o", runId: run.runId },
      data: { by: "ana", reason: "once more" },
    });
    expect(await run.history()).toEqual(before);
    expect(await replay(order, history)).toEqual({ output: 11 });
  });

  test("knows its origin, has no parent, and can be found by it", async () => {
    const order = workflow("order", async (ctx) => ctx.step("charge", () => 1));
    const fleet = await fleetWith(order);
    const client = fleet.client();
    const run = await client.start(order, undefined, { id: "o" });
    await fleet.result(run);
    const first = await run.fork({ before: 1 });
    const second = await run.fork({ before: "charge" });
    await fleet.result(first);
    await fleet.result(second);
    const grandchild = await first.fork({ before: "charge" });
    expect(await first.describe()).toMatchObject({
      forkedFrom: { id: "o", runId: run.runId },
      parent: null,
      root: { id: first.id, runId: first.runId },
    });
    expect(await run.describe()).toMatchObject({ forkedFrom: null });
    const idsOf = async (forkedFrom: string): Promise<string[]> =>
      (await client.list({ forkedFrom })).runs.map(({ id }) => id).sort();
    expect(await idsOf(run.runId)).toEqual([first.id, second.id].sort());
    expect(await idsOf(first.runId)).toEqual([grandchild.id]);
    expect(await client.count({ forkedFrom: run.runId, status: "completed" })).toBe(2);
  });

  test("can be made of a run that is open, failed or parked, which stays as it is", async () => {
    let mood: "failing" | "buggy" | "well" = "well";
    const order = workflow("order", async (ctx) => {
      await ctx.step("charge", () => 1);
      if (mood === "buggy") (undefined as unknown as { fail(): void }).fail();
      const ship = (): number => {
        if (mood === "failing") throw new Error("no parcel");
        return 2;
      };
      await ctx.step("ship", ship, { retry: "none" });
      return ctx.receive(approve);
    });
    const fleet = await fleetWith(order);
    const client = fleet.client();
    const runs: [string, RunHandle<string>][] = [];
    for (const [status, its] of [
      ["waiting", "well"],
      ["failed", "failing"],
      ["parked", "buggy"],
    ] as const) {
      mood = its;
      const run = await client.start(order);
      await fleet.clock.settle();
      expect(await run.status()).toBe(status);
      runs.push([status, run]);
    }
    mood = "well";
    for (const [status, run] of runs) {
      const fork = await run.fork({ before: 2 });
      await fleet.clock.settle();
      await fork.signal(approve, "yes");
      expect(await fleet.result(fork)).toBe("yes");
      expect(await run.status()).toBe(status);
    }
  });

  test("has an inbox and ids of its own", async () => {
    const { did } = journal();
    const order = workflow("order", async (ctx) => {
      const first = await ctx.receive(approve);
      const key = await ctx.step("ship", did("ship"));
      return [first, key, await ctx.receive(approve)];
    });
    const fleet = await fleetWith(order);
    const run = await fleet.client().start(order);
    await run.signal(approve, "a", { id: "1" });
    await fleet.clock.settle();
    const fork = await run.fork({ before: "ship" });
    await run.signal(approve, "b", { id: "2" });
    await fork.signal(approve, "c", { id: "1" });
    expect(await fleet.result(fork)).toEqual(["a", `ship ${fork.runId.slice(-3)}`, "c"]);
    expect(await fleet.result(run)).toEqual(["a", `ship ${run.runId.slice(-3)}`, "b"]);
  });

  test("may have another input, if that leads to the same ops before the cut", async () => {
    const order = workflow("order", async (ctx, input: { readonly amount: number; readonly gift?: boolean }) => {
      await ctx.step("charge", () => input.amount);
      if (input.gift) await ctx.step("wrap", () => 1);
      return ctx.step("ship", () => input);
    });
    const fleet = await fleetWith(order);
    const run = await fleet.client().start(order, { amount: 1 });
    await fleet.result(run);
    const fork = await run.fork({ before: 2, input: { amount: 2, gift: true } });
    expect(await fleet.result(fork)).toEqual({ amount: 2, gift: true });
    expect(await typesOf(fork)).toContain("step_completed wrap");
    const wrong = await run.fork({ before: 3, input: { amount: 2, gift: true } });
    await fleet.clock.settle();
    const { error } = await wrong.describe();
    expect(error).toMatchObject({ code: "replay_divergence" });
    expect(error?.message).toContain(`copied from run "${run.id}", which this run is a fork of`);
  });

  test("keeps the attributes that were set before the cut, and forgets those that were set behind it", async () => {
    const order = workflow("order", async (ctx) => {
      ctx.set({ stage: "paid" });
      await ctx.step("charge", () => 1);
      ctx.set({ stage: "shipped", parcel: 7 });
      await ctx.step("ship", () => 1);
      await ctx.receive(approve);
    });
    const fleet = await fleetWith(order);
    const run = await fleet.client().start(order, undefined, { attributes: { customer: "c" } });
    await fleet.clock.settle();
    const worker = fleet.client();
    const fork = await worker.get(run.id).fork({ before: "charge" });
    expect((await fork.describe()).attributes).toEqual({ customer: "c", stage: "paid" });
    expect((await run.describe()).attributes).toEqual({ customer: "c", stage: "shipped", parcel: 7 });
  });

  test("draws the same before the cut, and something else from the first event behind it on", async () => {
    const order = workflow("order", async (ctx) => {
      const first = ctx.uuid();
      await ctx.step("a", () => 1);
      const second = ctx.uuid();
      await ctx.step("b", () => 1);
      const named = ctx.uuid("order");
      const third = ctx.uuid();
      await ctx.step("c", () => 1);
      return [first, second, named, third];
    });
    const fleet = await fleetWith(order);
    const run = await fleet.client().start(order);
    const drawn = await fleet.result(run);
    const fork = await run.fork({ before: "b" });
    const again = await fleet.result(fork);
    expect(again.slice(0, 3)).toEqual(drawn.slice(0, 3));
    expect(again[3]).not.toBe(drawn[3]);
    expect(await replay(order, await fork.history())).toEqual({ output: again });
  });

  test("of a fork has the history of both", async () => {
    const order = workflow("order", async (ctx) => {
      const draws: string[] = [];
      for (const op of ["a", "b", "c"]) {
        await ctx.step(op, () => 1);
        draws.push(ctx.uuid());
      }
      return draws;
    });
    const fleet = await fleetWith(order);
    const run = await fleet.client().start(order);
    const origin = await fleet.result(run);
    const first = await run.fork({ before: "b" });
    const middle = await fleet.result(first);
    const second = await first.fork({ before: "c" });
    const last = await fleet.result(second);
    expect(middle[0]).toBe(origin[0]);
    expect(middle[1]).not.toBe(origin[1]);
    expect(last.slice(0, 2)).toEqual(middle.slice(0, 2));
    expect(last[2]).not.toBe(middle[2]);
    expect((await typesOf(second)).filter((type) => type === "run_forked")).toHaveLength(2);
    expect(await replay(order, await second.history())).toEqual({ output: last });
  });

  test("is not paused because its origin was", async () => {
    const order = workflow("order", async (ctx) => {
      await ctx.step("a", () => 1);
      await ctx.receive(approve, { timeout: "1 day" });
      return ctx.step("b", () => 2);
    });
    const fleet = await fleetWith(order);
    const client = fleet.client();
    const run = await client.start(order);
    await fleet.clock.settle();
    await run.pause({ by: "ana" });
    await run.resume();
    await fleet.clock.settle();
    await run.pause({ by: "ana" });
    const { historyLength } = await run.describe();
    const fork = await run.fork({ before: historyLength });
    await fleet.clock.settle();
    expect(await fork.status()).toBe("waiting");
    expect((await client.why(fork.id)).reason).not.toContain("pause");
    expect(await fleet.result(fork)).toBe(2);
  });

  test("has a deadline of its own", async () => {
    const order = workflow({ name: "order", timeout: "1h" }, async (ctx) => {
      await ctx.step("a", () => 1);
      await ctx.receive(approve);
    });
    const fleet = await fleetWith(order);
    const run = await fleet.client().start(order);
    await fleet.clock.advance("30m");
    const fork = await run.fork({ before: 2 });
    const { createdAt, deadlineAt, startedAt } = await fork.describe();
    expect(deadlineAt?.getTime()).toBe(createdAt.getTime() + 3_600_000);
    expect(startedAt).toEqual((await run.describe()).startedAt);
    await fleet.clock.advance("45m");
    expect(await run.status()).toBe("timed_out");
    expect(await fork.status()).toBe("waiting");
  });
});

describe("what was in flight at the cut", () => {
  test("a step runs again, from its first attempt, also one that may run at most once", async () => {
    const gate = deferred();
    const attempts: string[] = [];
    const order = workflow("order", async (ctx) => {
      const once = ctx.step(
        "once",
        ({ attempt }) => {
          attempts.push(`once ${attempt}`);
          return gate.promise;
        },
        {
          onCrash: "fail",
        },
      );
      const frail = ctx.step(
        "frail",
        ({ attempt }) => {
          attempts.push(`frail ${attempt}`);
          if (attempt === 1) throw new Error("not yet");
        },
        { retry: { attempts: 2, fixed: "1h" } },
      );
      await Promise.all([once, frail]);
      return "done";
    });
    const fleet = openFleet();
    await fleet.worker({ workflows: [order] });
    const run = await fleet.client().start(order);
    await fleet.clock.settle();
    const { historyLength } = await run.describe();
    expect(await typesOf(run)).toEqual(["run_started", "step_started once", "step_attempt_failed frail"]);
    const fork = await run.fork({ before: historyLength });
    await fleet.clock.settle();
    expect(attempts.sort()).toEqual(["frail 1", "frail 1", "once 1", "once 1"]);
    expect((await fork.steps()).map(({ op, status }) => `${op} ${status}`)).toEqual(["once running", "frail retrying"]);
    gate.resolve();
    expect(await fleet.result(fork)).toBe("done");
    expect(await fleet.result(run)).toBe("done");
  });

  test("a timer keeps its time, and one that is asked for behind the cut counts from the fork", async () => {
    const order = workflow("order", async (ctx) => {
      await ctx.sleep("long", "3h");
      const answer = await ctx.receive(approve, { timeout: "1h" });
      return answer ?? "nobody";
    });
    const fleet = await fleetWith(order);
    const begin = fleet.clock.now();
    const run = await fleet.client().start(order);
    await fleet.clock.advance("2h");
    const asleep = await run.fork({ before: 2 });
    expect(await fleet.result(asleep)).toBe("nobody");
    expect(fleet.clock.now() - begin).toBe(4 * 3_600_000);
    await fleet.clock.advance("20h");
    const late = await run.fork({ before: "receive:approve" });
    await fleet.clock.settle();
    expect(await late.status()).toBe("waiting");
    await fleet.clock.advance("30m");
    await late.signal(approve, "ana");
    expect(await fleet.result(late)).toBe("ana");
    expect(await replay(order, await late.history())).toEqual({ output: "ana" });
  });

  test("a task is scheduled again, for the fork", async () => {
    const approval = task<{ order: string }, string>({ name: "approval", external: true });
    const order = workflow("order", async (ctx) => {
      await ctx.step("a", () => 1);
      return ctx.task(approval, { order: "o" });
    });
    const fleet = openFleet();
    await fleet.forgetful({ workflows: [order] });
    const client = fleet.client();
    const run = await client.start(order);
    await fleet.clock.settle();
    const fork = await run.fork({ before: 3 });
    await fleet.clock.settle();
    const { tasks } = await client.tasks.list({ name: "approval" });
    expect(tasks.map(({ input }) => input)).toEqual([{ order: "o" }, { order: "o" }]);
    const mine = tasks.find(({ runId }) => runId === fork.runId);
    await client.tasks.complete(mine?.token as string, "yes");
    expect(await fleet.result(fork)).toBe("yes");
    expect(await typesOf(fork)).toEqual([
      "run_started",
      "step_completed a",
      "task_scheduled approval",
      "run_forked",
      "op_rescheduled approval",
      "task_completed approval",
      "run_completed",
    ]);
    expect(await run.status()).toBe("waiting");
  });

  test("a child is started again, as a child of the fork; one that has ended is not", async () => {
    const small = workflow("small", async (ctx) => {
      const answer = await ctx.receive(approve);
      return `${answer} ${ctx.info.runId}`;
    });
    const order = workflow("order", async (ctx) => {
      const first = await ctx.startChild(small);
      const ended = await first.result();
      const second = await ctx.startChild(small);
      await ctx.step("note", () => 1);
      return [first.runId, ended, second.runId, await second.result()];
    });
    const fleet = await fleetWith(order, small);
    const client = fleet.client();
    const run = await client.start(order);
    await fleet.clock.settle();
    const [first] = (await client.list({ parent: run.runId })).runs;
    await client.get(first?.id as string).signal(approve, "one");
    await fleet.clock.settle();
    const fork = await run.fork({ before: "note" });
    await fleet.clock.settle();
    const [second, ...others] = (await client.list({ parent: fork.runId })).runs;
    expect(others).toEqual([]);
    expect((await client.list({ parent: run.runId })).runs.map(({ runId }) => runId)).not.toContain(second?.runId);
    await client.get(second?.id as string).signal(approve, "two");
    const result = await fleet.result(fork);
    expect(result).toEqual([first?.runId, `one ${first?.runId}`, second?.runId, `two ${second?.runId}`]);
    expect(await run.status()).toBe("waiting");
    expect(await replay(order, await fork.history())).toEqual({ output: result });
  });

  test("an update that was accepted is handled again, and nobody gets its answer", async () => {
    const add = update<number, number>("add");
    const order = workflow("order", async (ctx) => {
      let sum = 0;
      ctx.on(add, async (n) => {
        await ctx.receive(approve);
        sum += n;
        return sum;
      });
      await ctx.until(() => sum > 1);
      return sum;
    });
    const fleet = await fleetWith(order);
    const run = await fleet.client().start(order);
    const answer = run.update(add, 2, { id: "u" });
    await fleet.clock.settle();
    const fork = await run.fork({ before: 2 });
    await fleet.clock.settle();
    await fork.signal(approve, "go");
    expect(await fleet.result(fork)).toBe(2);
    expect(await run.status()).toBe("waiting");
    await run.signal(approve, "go");
    expect(await fleet.clock.until(answer)).toBe(2);
  });
});

describe("a compensation in a fork", () => {
  test("undoes what its origin did before the cut, under the key that it was done with", async () => {
    const keys: string[] = [];
    const order = workflow("order", async (ctx) => {
      const note = (_: unknown, { idempotencyKey }: { readonly idempotencyKey: string }): void => {
        keys.push(`undo ${idempotencyKey}`);
      };
      const done = (s: StepInfo): void => void keys.push(`do ${s.idempotencyKey}`);
      await ctx.step("charge", done, { compensate: note });
      await ctx.step("reserve", done, { compensate: note });
      await ctx.receive(approve);
    });
    const fleet = await fleetWith(order);
    const run = await fleet.client().start(order);
    await fleet.clock.settle();
    const fork = await run.fork({ before: "reserve" });
    await fleet.clock.settle();
    await fork.cancel();
    await expect(fleet.result(fork)).rejects.toMatchObject({ code: "run_canceled" });
    expect(keys).toEqual([
      `do ${run.runId}:charge`,
      `do ${run.runId}:reserve`,
      `do ${fork.runId}:reserve`,
      `undo ${fork.runId}:reserve`,
      `undo ${run.runId}:charge`,
    ]);
  });

  test("does not undo a step that only its origin had begun", async () => {
    const gate = deferred();
    const undone: string[] = [];
    const order = workflow("order", async (ctx) => {
      await Promise.all([
        ctx.step("charge", () => gate.promise, { compensate: () => void undone.push("charge") }),
        ctx.step("other", () => 1),
      ]);
    });
    const fleet = openFleet();
    const worker = await fleet.worker({ workflows: [order] });
    const run = await fleet.client().start(order);
    await fleet.clock.settle();
    const { historyLength } = await run.describe();
    await fleet.clock.until(worker.stop());
    const fork = await run.fork({ before: historyLength });
    await fork.cancel();
    gate.resolve();
    await fleet.forgetful({ workflows: [order] });
    await expect(fleet.result(fork)).rejects.toMatchObject({ code: "run_canceled" });
    expect(undone).toEqual([]);
  });
});

describe("an edited outcome", () => {
  test("is delivered when the code asks for its op, which is not executed", async () => {
    const { lines, did, said } = journal();
    const order = workflow("order", async (ctx) => {
      const charged = await ctx.step("charge", did("charge"));
      const reserved = await ctx.step("reserve", did("reserve"));
      return ctx.step("ship", said("ship", [charged, reserved]));
    });
    const fleet = await fleetWith(order);
    const run = await fleet.client().start(order);
    await fleet.result(run);
    lines.length = 0;
    const fork = await run.fork({
      before: "charge",
      edit: { charge: { result: "paid by hand" }, reserve: { result: undefined } },
    });
    expect(await fleet.result(fork)).toEqual(["paid by hand", undefined]);
    expect(lines).toEqual(["ship"]);
    const steps = await fork.steps();
    expect(steps.map(({ op, edited, output }) => [op, edited, output])).toEqual([
      ["charge", true, "paid by hand"],
      ["reserve", true, undefined],
      ["ship", undefined, ["paid by hand", undefined]],
    ]);
    expect((await fork.history())[1]).toMatchObject({
      type: "run_forked",
      value: { charge: { result: "paid by hand" }, reserve: {} },
    });
    expect((await replay(order, await fork.history())) as unknown).toMatchObject({
      output: ["paid by hand", undefined],
    });
  });

  test("may be an error, which a retry of the run takes back: then the op is executed", async () => {
    const order = workflow("order", async (ctx) => {
      await ctx.step("charge", () => 1);
      return ctx.step("ship", () => 2, { retry: "none" });
    });
    const fleet = await fleetWith(order);
    const run = await fleet.client().start(order);
    await fleet.result(run);
    const fork = await run.fork({ before: "ship", edit: { ship: { error: new Error("no parcel") } } });
    await expect(fleet.result(fork)).rejects.toMatchObject({ code: "run_failed", cause: { message: "no parcel" } });
    await fork.retry();
    expect(await fleet.result(fork)).toBe(2);
    expect(await replay(order, await fork.history())).toEqual({ output: 2 });
  });

  test("may be that of a task, a child, a sleep, a receive, a message or a side effect", async () => {
    const executed: string[] = [];
    const small = workflow("small", async () => void executed.push("small"));
    const work = task("work", () => void executed.push("work"));
    const order = workflow("order", async (ctx) => {
      const flag = ctx.sideEffect("flag", () => executed.push("flag"));
      await ctx.sleep("nap", "100 days");
      const answer = await ctx.receive(approve, { timeout: "100 days" });
      const child = await ctx.child(small);
      const handle = await ctx.startChild(small);
      const other = await handle.result();
      const done = await ctx.task(work, undefined);
      const sent = await ctx.resultOf("nobody");
      const failed = await ctx.task(work, undefined).catch((error: HoldfastError) => `${error.code} ${error.message}`);
      const lost = await ctx.child(small).catch((error: Error) => error.name);
      return [flag, answer, child, other, done, sent, failed, lost];
    });
    const fleet = openFleet();
    await fleet.forgetful({ workflows: [order, small], tasks: [work] });
    const begin = fleet.clock.now();
    const run = await fleet.client().start(order);
    await fleet.clock.settle();
    executed.length = 0;
    const fork = await run.fork({
      before: 1,
      edit: {
        flag: { result: 2 },
        nap: { result: undefined },
        "receive:approve": { result: "ana" },
        small: { result: "a" },
        "small#2": { result: "b" },
        work: { result: "c" },
        "result:nobody": { result: "d" },
        "work#2": { error: new Error("e") },
        "small#3": { error: new Error("f") },
      },
    });
    const output = await fleet.result(fork);
    expect(output).toEqual([2, "ana", "a", "b", "c", "d", "task_failed e", "RunFailedError"]);
    expect(fleet.clock.now()).toBe(begin);
    expect(executed).toEqual([]);
    expect((await fleet.client().tasks.list({ runId: fork.runId })).tasks).toEqual([]);
    expect(await replay(order, await fork.history())).toEqual({ output });
  });

  test("is not handed on to a fork of the fork, which executes the op", async () => {
    const order = workflow("order", async (ctx) => {
      await ctx.step("charge", () => 1);
      return ctx.step("ship", () => "executed");
    });
    const fleet = openFleet();
    await fleet.worker({ workflows: [order] });
    const run = await fleet.client().start(order);
    await fleet.result(run);
    const fork = await run.fork({ before: "ship", edit: { ship: { result: "by hand" } } });
    expect(await fleet.result(fork)).toBe("by hand");
    const again = await fork.fork({ before: "ship" });
    expect(await fleet.result(again)).toBe("executed");
    const whole = await fork.fork({ before: (await fork.describe()).historyLength - 1 });
    expect(await fleet.result(whole)).toBe("by hand");
  });

  test("may be that of an op that was in flight at the cut", async () => {
    const gate = deferred();
    const approval = task<undefined, string>({ name: "approval", external: true });
    const order = workflow("order", async (ctx) => {
      const step = ctx.step("slow", () => gate.promise.then(() => "late"), { onCrash: "fail" });
      return Promise.all([step, ctx.task(approval, undefined)]);
    });
    const fleet = openFleet();
    await fleet.worker({ workflows: [order] });
    const run = await fleet.client().start(order);
    await fleet.clock.settle();
    const { historyLength } = await run.describe();
    const edit = { slow: { result: "now" }, approval: { result: "yes" } };
    const fork = await run.fork({ before: historyLength, edit });
    expect(await fleet.result(fork)).toEqual(["now", "yes"]);
    gate.resolve();
  });

  test("that its op cannot have parks the fork, and nothing is executed", async () => {
    const { lines, did } = journal();
    const order = workflow("order", async (ctx, long: boolean) => {
      await ctx.step("charge", () => 1);
      if (long) await ctx.sleep("nap", "1h");
      await ctx.step("ship", did("ship"));
    });
    const fleet = await fleetWith(order);
    const run = await fleet.client().start(order, false);
    await fleet.result(run);
    lines.length = 0;
    const fork = await run.fork({ before: 2, input: true, edit: { nap: { error: new Error("no") } } });
    await fleet.clock.settle();
    expect(await fork.describe()).toMatchObject({ status: "parked", error: { code: "fork_refused" } });
    expect(lines).toEqual([]);
  });
});

describe("a fork is refused", () => {
  async function failedSaga(): Promise<{ readonly fleet: Fleet; readonly run: RunHandle }> {
    const saga = workflow("saga", async (ctx) => {
      await ctx.step("look", () => 1);
      await ctx.step("charge", () => 1, { compensate: () => {} });
      await ctx.step("reserve", () => 1, { compensate: () => {} });
      await ctx.step(
        "ship",
        () => {
          throw new Error("no parcel");
        },
        { retry: "none" },
      );
    });
    const fleet = await fleetWith(saga);
    const run = await fleet.client().start(saga, undefined, { id: "s" });
    await fleet.result(run).catch(() => {});
    return { fleet, run };
  }

  test("behind the first op that was undone, and not before it", async () => {
    const { fleet, run } = await failedSaga();
    for (const before of ["ship", "reserve", "compensate:reserve"])
      await expect(run.fork({ before })).rejects.toMatchObject({
        code: "fork_refused",
        message:
          'Run "s" cannot be forked in that way: "charge" comes before that, and was undone by a compensation; before: 2 is the last place where it can be forked.',
      });
    const fork = await run.fork({ before: "charge" });
    await expect(fleet.result(fork)).rejects.toMatchObject({ code: "run_failed" });
    expect((await typesOf(fork)).slice(0, 4)).toEqual([
      "run_started",
      "step_completed look",
      "run_forked",
      "step_started charge",
    ]);
  });

  test("while a run is undoing what it has done", async () => {
    const gate = deferred();
    const saga = workflow("saga", async (ctx) => {
      await ctx.step("charge", () => 1, { compensate: () => gate.promise });
      await ctx.receive(approve);
    });
    const fleet = openFleet();
    await fleet.worker({ workflows: [saga] });
    const run = await fleet.client().start(saga);
    await fleet.clock.settle();
    await run.cancel();
    await fleet.clock.settle();
    await expect(run.fork({ before: "charge" })).rejects.toMatchObject({ code: "fork_refused" });
    gate.resolve();
    await fleet.result(run).catch(() => {});
    await run.fork({ before: "charge" });
  });

  test.each([
    [{ before: "shop" }, 'its history has nothing of op "shop": did you mean "ship"?'],
    [{ before: "receive:other" }, "steps() shows its ops; to fork where its history ends, pass before: 3"],
    [{ before: 9 }, "before is 9, and may be 1 to 3"],
    [{ before: "ship", edit: { charge: { result: 1 } } }, 'op "charge" has ended before that (event 1)'],
    [{ before: 1, edit: { "lock:x": { result: 1 } } }, "none whose outcome can be replaced"],
    [{ before: 1, edit: { "until:condition": { result: 1 } } }, "none whose outcome can be replaced"],
    [{ before: 1, edit: { "receive:x": { error: new Error() } } }, "cannot fail"],
  ])("with %j", async (options, words) => {
    const order = workflow("order", async (ctx) => {
      await ctx.step("charge", () => 1);
      await ctx.step("ship", () => 1);
    });
    const fleet = await fleetWith(order);
    const run = await fleet.client().start(order);
    await fleet.result(run);
    await expect(run.fork(options)).rejects.toMatchObject({
      code: "fork_refused",
      message: expect.stringContaining(words),
    });
    expect(await fleet.client().count()).toBe(1);
  });

  test.each([
    [undefined, "the options are missing"],
    [{}, "before is missing"],
    [{ before: 0 }, "before is 0; it must be a whole number from 1 up"],
    [{ before: "" }, "before is empty"],
    [{ before: true }, "before is neither an op id nor a number"],
    [{ before: 1, edit: { a: {} } }, 'edit["a"] is neither { result } nor { error }'],
    [{ before: 1, edits: {} }, "Did you mean `edit`?"],
  ])("as a mistake of the caller, with %j", async (options, words) => {
    const order = workflow("order", async () => 1);
    const fleet = await fleetWith(order);
    const run = await fleet.client().start(order);
    await expect(run.fork(options as never)).rejects.toMatchObject({
      code: "invalid_option",
      message: expect.stringContaining(words),
    });
  });

  test("if there is no such run", async () => {
    const fleet = openFleet();
    await expect(fleet.client().get("nobody").fork({ before: 1 })).rejects.toMatchObject({ code: "run_not_found" });
  });
});

test("on the test engine, a fork is awaited on the virtual clock", async () => {
  const order = workflow("order", async (ctx, days: number) => {
    await ctx.step("charge", () => 1);
    await ctx.sleep("nap", { days });
    return days;
  });
  const engine = await openEngine(order);
  const run = await engine.client.start(order, 3);
  expect(await run.result()).toBe(3);
  const before = engine.clock.now();
  const fork = await run.fork({ before: "nap", input: 30 });
  expect(await fork.result()).toBe(30);
  expect(engine.clock.now() - before).toBe(30 * 24 * 3_600_000);
});
