/**
 * The table of events, held against what runs really write. Each run here says its whole history; together they write every type
 * with every field, and no field that the table does not know.
 */
import {
  type AnyTask,
  type AnyWorkflow,
  type Context,
  type EventView,
  type RunHandle,
  type StepInfo,
  signal,
  task,
  update,
  workflow,
} from "holdfast";
import { askTransaction } from "holdfast/adapter";
import { describe, expect, test } from "vitest";
import { EVENT_TABLE, type EventType, eventCategory, eventRole, isMessage, OP_META } from "../src/model/event.ts";
import { deferred } from "./lab/deferred.ts";
import { type Fleet, openFleet } from "./lab/fleet.ts";

type Code = (ctx: Context, fleet: Fleet) => Promise<unknown>;

interface Case {
  readonly code: Code;
  /** Happens when the run has come to rest for the first time. */
  readonly meanwhile?: (run: RunHandle, fleet: Fleet) => Promise<void>;
  /** What the worker executes besides. */
  readonly tasks?: (fleet: Fleet) => readonly AnyTask[];
  /** The workflows of other runs. */
  readonly others?: readonly AnyWorkflow[];
  /** The code of the worker that takes over then. */
  readonly later?: Code;
  readonly options?: { readonly retry?: { readonly attempts: number }; readonly timeout?: "1m" };
}

const go = signal<number>("go");
const echo = workflow("echo", async (_ctx, n: number) => n);
const slow = workflow("slow", async (ctx) => ctx.sleep("long", "1 day"));
const undoing = workflow("undoing", async (ctx) => {
  await ctx.step("charge", () => 1, { compensate: () => {} });
  declined();
});
const written = new Map<EventType, EventView[]>();

/** Runs the code to its end, whatever that is, and says what was written. */
async function typesOf({ code, meanwhile, later, tasks, others = [], options = {} }: Case): Promise<string[]> {
  const fleet = openFleet();
  await fleet.worker({ workflows: [echo] }, { namespace: "theirs" });
  const job = (fn: Code) => workflow({ name: "job", ...options }, (ctx) => fn(ctx, fleet));
  const first = job(code);
  const worker = await fleet.worker({ workflows: [first, ...others], tasks: tasks?.(fleet) ?? [] });
  const run: RunHandle = await fleet.client().start(first);
  await fleet.clock.settle();
  await meanwhile?.(run, fleet);
  if (later) {
    await fleet.clock.until(worker.stop());
    await fleet.worker({ workflows: [job(later)] });
  }
  await fleet.result(run).catch(() => {});
  const history = await run.history();
  keep(history);
  return history.map(({ type }) => type);
}

function keep(history: readonly EventView[]): void {
  for (const event of history) written.set(event.type, [...(written.get(event.type) ?? []), event]);
}

/** Work that takes that long on the fleet's clock. */
function taking({ clock }: Fleet, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.setTimer(ms, resolve));
}

function declined(): never {
  throw new Error("declined");
}

describe("a run writes", () => {
  test("the results of its steps, and what is known of their attempts", async () => {
    const flaky = async (fleet: Fleet, attempt: number): Promise<string> => {
      await taking(fleet, 1_500);
      return attempt === 1 ? declined() : "done";
    };
    const code: Code = (ctx, fleet) => ctx.step("work", ({ attempt }) => flaky(fleet, attempt));
    expect(await typesOf({ code })).toEqual([
      "run_started",
      "step_started",
      "step_attempt_failed",
      "step_started",
      "step_completed",
      "run_completed",
    ]);
  });

  test("the outcome of a transaction, which comes from the inbox", async () => {
    const code: Code = (ctx) => askTransaction(ctx, "move", { kind: "memory", fn: () => "moved" });
    expect(await typesOf({ code })).toEqual(["run_started", "step_completed", "run_completed"]);
  });

  test("that a step has failed for good, and what it does not know of it", async () => {
    const options = { retry: "none", timeout: "2s" } as const;
    const code: Code = (ctx, fleet) => ctx.step("slow", () => taking(fleet, 60_000), options);
    expect(await typesOf({ code })).toEqual(["run_started", "step_started", "step_failed", "run_failed"]);
  });

  test("that a step never began, although its start was written down", async () => {
    const code: Code = (ctx) =>
      Promise.all([
        ctx.step("charge", () => 1, { compensate: () => {} }),
        ctx.step("fail", declined, { retry: "none" }),
      ]);
    expect(await typesOf({ code })).toEqual([
      "run_started",
      "step_started",
      "step_failed",
      "step_failed",
      "run_failed",
    ]);
  });

  test("which runs its steps have started, however those ended", async () => {
    const code: Code = async (ctx) => {
      const start = async (s: StepInfo): Promise<void> => {
        await s.start(echo, 1);
        if (s.attempt === 1) declined();
      };
      await ctx.step("twice", start);
      await ctx.step("once", start, { retry: "none" });
    };
    expect(await typesOf({ code, others: [echo] })).toEqual([
      "run_started",
      "step_attempt_failed",
      "step_completed",
      "step_failed",
      "run_failed",
    ]);
  });

  test("its timers, and the signals that it was sent", async () => {
    const code: Code = async (ctx) => {
      await ctx.sleep("nap", "1h");
      return [await ctx.receive(go), await ctx.receive(go)];
    };
    const meanwhile = async (run: RunHandle): Promise<void> => {
      for (const value of [7, 8]) await run.signal(go, value);
    };
    expect(await typesOf({ code, meanwhile })).toEqual([
      "run_started",
      "timer_created",
      "signal_received",
      "signal_received",
      "timer_fired",
      "run_completed",
    ]);
  });

  test("that a receive has got a signal that another one had", async () => {
    const code: Code = async (ctx) => {
      await ctx.receive(go);
      const taken = deferred();
      const loser = (c: Context): Promise<unknown> =>
        c.receive(go).then(() => {
          taken.resolve();
          return c.sleep("long", "1 day");
        });
      await ctx.parallel([(c) => c.race([loser, () => taken.promise]), (c) => c.receive(go)]);
    };
    const meanwhile = async (run: RunHandle): Promise<void> => {
      for (const value of [7, 8]) await run.signal(go, value);
    };
    expect(await typesOf({ code, meanwhile })).toEqual([
      "run_started",
      "signal_received",
      "signal_received",
      "timer_created",
      "signal_handed_on",
      "run_completed",
    ]);
  });

  test("what its code computes and sets", async () => {
    const code: Code = async (ctx) => {
      ctx.sideEffect("flag", () => true);
      expect(() => ctx.sideEffect("broken", declined)).toThrow("declined");
      ctx.set({ stage: "new" });
    };
    expect(await typesOf({ code })).toEqual([
      "run_started",
      "side_effect",
      "side_effect",
      "attributes_set",
      "run_completed",
    ]);
  });

  test("from which call on its code is new", async () => {
    const loop =
      (patched: boolean): Code =>
      async (ctx) => {
        for (let i = 0; i < 2; i++) {
          if (patched) ctx.patched("check");
          await ctx.sleep("nap", "1h");
        }
      };
    expect(await typesOf({ code: loop(false), later: loop(true) })).toEqual([
      "run_started",
      "timer_created",
      "timer_fired",
      "patched",
      "timer_created",
      "timer_fired",
      "run_completed",
    ]);
  });

  test("that its code goes on without an op", async () => {
    const code: Code = async (ctx) => ctx.retired("mail");
    expect(await typesOf({ code })).toEqual(["run_started", "op_retired", "run_completed"]);
  });

  test("that it is tried again as a whole", async () => {
    const code: Code = (ctx) => ctx.step("fail", declined, { retry: "none" });
    expect(await typesOf({ code, options: { retry: { attempts: 2 } } })).toEqual([
      "run_started",
      "step_failed",
      "run_retried",
      "step_failed",
      "run_failed",
    ]);
  });

  test("that it was canceled, and why", async () => {
    const code: Code = (ctx) => ctx.sleep("nap", "1h");
    const meanwhile = (run: RunHandle): Promise<void> => run.cancel({ by: "ana", reason: "out of stock" });
    expect(await typesOf({ code, meanwhile })).toEqual([
      "run_started",
      "timer_created",
      "cancel_requested",
      "run_canceled",
    ]);
  });

  test("that it was ended before its code was called", async () => {
    const fleet = openFleet();
    const idle = workflow({ name: "idle", timeout: "1m" }, async () => {});
    const client = fleet.client();
    const canceled = await client.start(idle);
    await canceled.cancel();
    const late = await client.start(idle);
    await fleet.clock.advance("2 minutes");
    await fleet.worker({ workflows: [idle] });
    for (const [run, cause] of [
      [canceled, "cancel_requested"],
      [late, "deadline_reached"],
    ] as const) {
      await fleet.result(run as RunHandle).catch(() => {});
      const history = await run.history();
      keep(history);
      expect(history.map(({ type }) => type)).toContain(cause);
    }
  });

  test("that it was terminated", async () => {
    const code: Code = (ctx) => ctx.receive(go);
    const meanwhile = (run: RunHandle): Promise<void> => run.terminate({ by: "ana", reason: "gone wild" });
    expect(await typesOf({ code, meanwhile })).toEqual(["run_started", "run_terminated"]);
  });

  test("that it has moved to another store, and who had it moved", async () => {
    const code: Code = (ctx) => ctx.receive(go);
    const meanwhile = async (_run: RunHandle, fleet: Fleet): Promise<void> =>
      void (await fleet.client().move({ to: openFleet().client(), by: "ana", reason: "growth" }));
    expect(await typesOf({ code, meanwhile })).toEqual(["run_started", "run_moved"]);
  });

  test("that its time was over", async () => {
    const code: Code = (ctx) => ctx.receive(go);
    expect(await typesOf({ code, options: { timeout: "1m" } })).toEqual([
      "run_started",
      "deadline_reached",
      "run_timed_out",
    ]);
  });

  test("what it has scheduled, and the results of its tasks", async () => {
    const work = (fleet: Fleet) =>
      task("work", async (ms: number, { attempt }) => {
        if (ms > 0) await taking(fleet, ms);
        else if (attempt === 1) declined();
      });
    const code: Code = async (ctx, fleet) => {
      await ctx.task(work(fleet), 20);
      await ctx.task(work(fleet), 0);
    };
    expect(await typesOf({ code, tasks: (fleet) => [work(fleet)] })).toEqual([
      "run_started",
      "task_scheduled",
      "task_completed",
      "task_scheduled",
      "task_completed",
      "run_completed",
    ]);
  });

  test("what someone with a token says about its tasks", async () => {
    const approval = task<undefined, string>({ name: "approval", external: true, retry: "none" });
    const code: Code = async (ctx) => {
      await ctx.task(approval);
      await ctx.task(approval).catch(() => {});
    };
    const meanwhile = async (_run: RunHandle, fleet: Fleet): Promise<void> => {
      const { tasks } = fleet.client();
      const token = async (): Promise<string> => (await tasks.list({ status: "external" })).tasks[0]?.token as string;
      await tasks.complete(await token(), "yes");
      await fleet.clock.settle();
      await tasks.fail(await token(), new Error("no"));
    };
    expect(await typesOf({ code, meanwhile })).toEqual([
      "run_started",
      "task_scheduled",
      "task_completed",
      "task_scheduled",
      "task_failed",
      "run_completed",
    ]);
  });

  test("that a task was taken back, or exists again", async () => {
    let broken = true;
    const ship = (fleet: Fleet) =>
      task({ name: "ship", retry: "none" }, async () => {
        await taking(fleet, 10);
        if (broken) declined();
      });
    const lonely = task("lonely", () => {});
    const code: Code = async (ctx, fleet) => {
      await ctx.race([(c) => c.task(lonely), (c) => c.sleep("wait", "1s")]);
      await ctx.task(ship(fleet));
    };
    const meanwhile = async (run: RunHandle, fleet: Fleet): Promise<void> => {
      await fleet.result(run).catch(() => {});
      broken = false;
      await run.retry({ by: "ana", reason: "mended" });
    };
    expect(await typesOf({ code, meanwhile, tasks: (fleet) => [ship(fleet)] })).toEqual([
      "run_started",
      "task_scheduled",
      "timer_created",
      "timer_fired",
      "task_scheduled",
      "op_canceled",
      "task_failed",
      "run_retried",
      "op_rescheduled",
      "task_completed",
      "run_completed",
    ]);
  });

  test("what became of a task that may have to be undone", async () => {
    const never = new Promise<never>(() => {});
    const deaf = task("deaf", () => never);
    const lonely = task("lonely", () => {});
    const code: Code = async (ctx) => {
      const compensate = (): void => {};
      await Promise.all([ctx.task(deaf, undefined, { compensate }), ctx.task(lonely, undefined, { compensate })]);
    };
    const meanwhile = (run: RunHandle): Promise<void> => run.cancel();
    expect(await typesOf({ code, meanwhile, tasks: () => [deaf] })).toEqual([
      "run_started",
      "task_scheduled",
      "task_scheduled",
      "cancel_requested",
      "task_failed",
      "task_failed",
      "step_completed",
      "run_canceled",
    ]);
  });

  test("which runs it has started, and how they have ended", async () => {
    const code: Code = async (ctx) => {
      await ctx.child(echo, 1);
      await ctx.child(undoing).catch(() => {});
      await ctx.race([(c) => c.child(slow), (c) => c.sleep("wait", "1s")]);
    };
    expect(await typesOf({ code, others: [echo, slow, undoing] })).toEqual([
      "run_started",
      "child_started",
      "child_completed",
      "child_started",
      "child_failed",
      "timer_created",
      "child_started",
      "timer_fired",
      "run_completed",
    ]);
  });

  test("that it has given up a child, goes on with it, or with another one in its place", async () => {
    let broken = true;
    const code: Code = async (ctx) => {
      await ctx.race([(c) => c.child(slow), (c) => c.sleep("wait", "1s")]);
      await ctx.sleep("on", "1h");
      await ctx.child(slow, undefined, { id: "kid" });
    };
    const meanwhile = async (run: RunHandle, fleet: Fleet): Promise<void> => {
      await fleet.clock.advance("2h");
      if (broken) await fleet.client().get("kid").terminate();
      broken = false;
      await fleet.result(run).catch(() => {});
      await run.retry();
    };
    expect(await typesOf({ code, meanwhile, others: [slow] })).toEqual([
      "run_started",
      "timer_created",
      "child_started",
      "timer_fired",
      "timer_created",
      "op_canceled",
      "timer_fired",
      "child_started",
      "child_failed",
      "run_retried",
      "op_rescheduled",
      "child_started",
      "child_completed",
      "run_completed",
    ]);
  });

  test("why a child is closed whose parent is canceled", async () => {
    const code: Code = async (ctx) => {
      await ctx.child(slow).catch(() => {});
      await ctx.uncancelable((c) => c.sleep("clean up", "1h"));
    };
    const meanwhile = (run: RunHandle): Promise<void> => run.cancel("enough");
    expect(await typesOf({ code, meanwhile, others: [slow] })).toEqual([
      "run_started",
      "child_started",
      "cancel_requested",
      "timer_created",
      "op_canceled",
      "timer_fired",
      "run_completed",
    ]);
  });

  test("what became of a child that may have to be undone", async () => {
    const compensate = (): void => {};
    const code: Code = async (ctx) => {
      ctx.child(slow, undefined, { compensate }).catch(() => {});
      await ctx.step("first", () => 1);
      ctx.child(echo, 1, { compensate }).catch(() => {});
      declined();
    };
    expect(await typesOf({ code, others: [slow, echo] })).toEqual([
      "run_started",
      "step_completed",
      "child_failed",
      "child_started",
      "child_failed",
      "step_completed",
      "run_failed",
    ]);
  });

  test("what it has sent to other runs, and what came of it", async () => {
    const code: Code = async (ctx) => {
      await ctx.cancel("nobody").catch(() => {});
      await ctx.resultOf("gone").catch(() => {});
      await ctx.signal({ namespace: "theirs", id: "e" }, go, 1).catch(() => {});
      await ctx.sleep("until allowed", "1h");
      await ctx.resultOf({ namespace: "theirs", id: "e" });
    };
    const meanwhile = async (_run: RunHandle, fleet: Fleet): Promise<void> => {
      const theirs = fleet.client({ namespace: "theirs" });
      await theirs.start(echo, 1, { id: "e" });
      await theirs.namespaces.allow("default");
    };
    const first: Case = { code: async (ctx) => void (await ctx.startChild(undoing, undefined, { id: "gone" })) };
    await typesOf({ ...first, others: [undoing] });
    const watching: Code = async (ctx, fleet) => {
      await ctx.startChild(undoing, undefined, { id: "gone" });
      return code(ctx, fleet);
    };
    expect(await typesOf({ code: watching, meanwhile, others: [undoing] })).toEqual([
      "run_started",
      "child_started",
      "message_failed",
      "child_failed",
      "message_failed",
      "message_failed",
      "timer_created",
      "timer_fired",
      "message_sent",
      "run_completed",
    ]);
  });

  test("which batch has done something to it", async () => {
    let bad = true;
    const code: Code = async (ctx) => {
      await ctx.step("work", () => (bad ? declined() : 1), { retry: "none" });
      await ctx.sleep("long", "1 day");
    };
    const meanwhile: Case["meanwhile"] = async (_run, fleet) => {
      const all = fleet.client().batch({});
      bad = false;
      for (const action of ["retry", "pause", "resume", "terminate"] as const) {
        await fleet.clock.until(all[action]());
        await fleet.clock.settle();
      }
    };
    expect(await typesOf({ code, meanwhile })).toEqual([
      "run_started",
      "step_failed",
      "run_retried",
      "step_completed",
      "timer_created",
      "run_parked",
      "run_resumed",
      "run_terminated",
    ]);
  });

  test("that it was paused, while a worker held it and while none did, and resumed", async () => {
    const gate = deferred();
    const code: Code = async (ctx) => {
      await ctx.step("work", () => gate.promise);
      await ctx.sleep("nap", "1h");
    };
    const meanwhile = async (run: RunHandle, { clock }: Fleet): Promise<void> => {
      const who = { by: "ana", reason: "a break" };
      await run.pause(who);
      await clock.settle();
      await run.resume(who);
      await clock.settle();
      gate.resolve();
      await clock.settle();
      await run.pause(who);
      await run.resume(who);
    };
    expect(await typesOf({ code, meanwhile })).toEqual([
      "run_started",
      "pause_requested",
      "run_resumed",
      "step_completed",
      "timer_created",
      "run_parked",
      "run_resumed",
      "timer_fired",
      "run_completed",
    ]);
  });

  test("when it began, if it was paused before", async () => {
    const fleet = openFleet();
    const later = workflow("later", async () => 1);
    const run = await fleet.client().start(later);
    await run.pause();
    await fleet.clock.advance("1h");
    await run.resume();
    await fleet.worker({ workflows: [later] });
    await fleet.result(run);
    const history = await run.history();
    keep(history);
    expect(history.map(({ type }) => type)).toEqual(["run_started", "run_parked", "run_resumed", "run_completed"]);
  });

  test("that a watchdog has restarted it, and ended an attempt of its task", async () => {
    const never = new Promise<never>(() => {});
    let [steps, attempts] = [0, 0];
    const mail = task("mail", async () => (++attempts === 1 ? never : "sent"));
    const code: Code = async (ctx) => {
      await ctx.step("work", () => (++steps === 1 ? never : "done"));
      await ctx.task(mail, undefined);
    };
    const meanwhile = async (_run: RunHandle, fleet: Fleet): Promise<void> => {
      const rules = [
        { detect: "stalled_run", after: "1m", action: "restart" },
        { detect: "stalled_task", after: "1m", action: "timeout_task" },
      ] as const;
      await fleet.worker({ watchdog: { every: "10s", rules } });
      await fleet.clock.advance("5m");
    };
    expect(await typesOf({ code, meanwhile, tasks: () => [mail] })).toEqual([
      "run_started",
      "step_started",
      "run_restarted",
      "step_completed",
      "task_scheduled",
      "run_noted",
      "task_completed",
      "run_completed",
    ]);
  });

  test("which locks it has requested, held and given back, and that one was regained", async () => {
    let tries = 0;
    const code: Code = async (ctx) => {
      await ctx.withLock("room", { limit: 2, timeout: "1 minute" }, () =>
        ctx.step("flaky", () => (++tries === 1 ? declined() : "ok"), { retry: "none" }),
      );
    };
    expect(await typesOf({ code, options: { retry: { attempts: 2 } } })).toEqual([
      "run_started",
      "lock_requested",
      "lock_granted",
      "step_failed",
      "lock_released",
      "run_retried",
      "op_rescheduled",
      "lock_granted",
      "step_completed",
      "lock_released",
      "run_completed",
    ]);
  });

  test("that a task had to wait until a lock was regained", async () => {
    const fleet = openFleet();
    const mail = task("mail", () => {});
    const job = workflow("job", (ctx) =>
      ctx.withLock("room", async () => {
        await ctx.task(mail, undefined);
        await ctx.sleep("stay", "1 hour");
      }),
    );
    await fleet.worker({ workflows: [job], tasks: [mail] });
    const run = await fleet.client().start(job);
    await fleet.clock.settle();
    const fork = await run.fork({ before: "mail", id: "fork" });
    await fleet.result(fork);
    const history = await fork.history();
    keep(history);
    expect(history.map(({ type, later }) => `${type}${later ? "!" : ""}`)).toEqual([
      ...["run_started", "lock_requested", "lock_granted", "run_forked", "task_scheduled!", "op_rescheduled"],
      ...["lock_granted", "op_rescheduled", "task_completed"],
      ...["timer_created", "timer_fired", "lock_released", "run_completed"],
    ]);
  });

  test("that it goes on as a new one", async () => {
    let runs = 0;
    const code: Code = async (ctx) => (runs++ === 0 ? ctx.continueAsNew() : runs);
    expect(await typesOf({ code })).toEqual(["run_started", "run_continued"]);
  });
});

test("a fork writes where it comes from, and which outcomes whoever forked the run has decided", async () => {
  const fleet = openFleet();
  const work = task("work", () => 1);
  const job = workflow("job", async (ctx) => {
    ctx.sideEffect("flag", () => 1);
    await ctx.sleep("nap", "1h");
    await ctx.receive(go, { timeout: "1h" });
    await ctx.step("done", () => 1);
    await ctx.step("failed", () => 1).catch(() => {});
    await ctx.task(work, undefined);
    await ctx.task(work, undefined).catch(() => {});
    await ctx.child(echo, 1);
    await ctx.child(echo, 1).catch(() => {});
    await ctx.resultOf("nobody");
    await ctx.resultOf("nobody").catch(() => {});
  });
  await fleet.worker({ workflows: [job, echo], tasks: [work] });
  const run = await fleet.client().start(job);
  await fleet.clock.settle();
  const [result, error] = [{ result: 2 }, { error: new Error("no") }];
  const edit = {
    ...{ flag: result, nap: result, "receive:go": result, done: result, failed: error, work: result, "work#2": error },
    ...{ echo: result, "echo#2": error, "result:nobody": result, "result:nobody#2": error },
  };
  const fork = await run.fork({ before: 1, edit, by: "ana", reason: "what if" });
  await fleet.result(fork);
  const history = await fork.history();
  keep(history);
  expect(history.map(({ type, edited }) => `${type}${edited ? "!" : ""}`)).toEqual([
    "run_started",
    "run_forked",
    "side_effect!",
    "timer_created",
    "timer_fired!",
    "timer_created",
    "signal_received!",
    "step_completed!",
    "step_failed!",
    "task_scheduled",
    "task_completed!",
    "task_scheduled",
    "task_failed!",
    "child_completed!",
    "child_failed!",
    "message_sent!",
    "message_failed!",
    "run_completed",
  ]);
});

test("a run writes the updates that it accepts and rejects, and its answers", async () => {
  const put = update<number, number>("put");
  const code: Code = async (ctx) => {
    let sum = 0;
    ctx.on(put, {
      validate: (n) => {
        if (n < 0) declined();
      },
      handle: (n) => {
        sum += n;
        return n === 2 ? declined() : sum;
      },
    });
    await ctx.until(() => sum > 2);
  };
  const meanwhile = async (run: RunHandle, { clock }: Fleet): Promise<void> => {
    for (const n of [-1, 1, 2]) await clock.until(run.update(put, n, { id: `u${n}` })).catch(() => {});
  };
  expect(await typesOf({ code, meanwhile })).toEqual([
    "run_started",
    "update_rejected",
    "update_accepted",
    "update_completed",
    "update_accepted",
    "update_completed",
    "run_completed",
  ]);
});

describe("the table of events", () => {
  test("has the types that these runs have written, in the order of their codes", () => {
    expect(EVENT_TABLE.map(({ type }) => type)).toMatchInlineSnapshot(`
      [
        "run_started",
        "run_completed",
        "run_failed",
        "run_canceled",
        "run_terminated",
        "run_timed_out",
        "run_continued",
        "step_started",
        "step_attempt_failed",
        "step_completed",
        "step_failed",
        "timer_created",
        "timer_fired",
        "signal_received",
        "cancel_requested",
        "deadline_reached",
        "side_effect",
        "patched",
        "attributes_set",
        "run_retried",
        "op_retired",
        "task_scheduled",
        "task_completed",
        "task_failed",
        "op_canceled",
        "op_rescheduled",
        "child_started",
        "child_completed",
        "child_failed",
        "message_sent",
        "message_failed",
        "update_accepted",
        "update_rejected",
        "update_completed",
        "pause_requested",
        "run_parked",
        "run_resumed",
        "run_forked",
        "lock_requested",
        "lock_granted",
        "lock_released",
        "run_restarted",
        "run_noted",
        "run_moved",
        "signal_handed_on",
      ]
    `);
    expect(new Set(written.keys())).toEqual(new Set(EVENT_TABLE.map(({ type }) => type)));
  });

  test.each(EVENT_TABLE)("says what a $type carries", ({ type, op, payload, meta }) => {
    const events = written.get(type) ?? [];
    const fields = new Set<string>();
    for (const event of events) {
      const { seq: _seq, type: _type, category: _category, op: about, at: _at, value: _value, data, ...rest } = event;
      if (data) expect(rest).toMatchObject(data);
      expect(about === null).toBe(op === null);
      for (const field of Object.keys(rest)) fields.add(field);
    }
    if (op === "op") for (const field of OP_META) fields.delete(field);
    expect([...fields].sort()).toEqual([...meta].sort());
    expect(events.some((event) => "value" in event)).toBe(payload !== null);
  });

  test.each(EVENT_TABLE)("says where a $type belongs", ({ type, role, category }) => {
    expect(eventRole(type)).toBe(role);
    expect(eventCategory(type)).toBe(category);
    expect(isMessage({ type })).toBe(
      ["signal_received", "cancel_requested", "deadline_reached", "update_accepted"].includes(type),
    );
  });
});
