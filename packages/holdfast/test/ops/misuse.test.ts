import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Context, signal, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { askTransaction } from "../../src/replay/context/run-context.ts";
import { deferred } from "../lab/deferred.ts";
import { openEngine, openFleet } from "../lab/fleet.ts";

describe("ctx used after waiting for something that is not a ctx operation", () => {
  test("is refused by name and place, and the run is parked as soon as its worker has it again", async () => {
    const gate = deferred();
    const refusals: unknown[] = [];
    const calls: string[] = [];
    const bare = workflow("bare", async (ctx) => {
      const nap = ctx.sleep("nap", "1 day");
      await gate.promise;
      try {
        await ctx.step("after", () => calls.push("after"));
      } catch (error) {
        refusals.push(error);
        throw error;
      }
      await nap;
    });
    const fleet = openFleet();
    await fleet.worker({ workflows: [bare] });
    const run = await fleet.client().start(bare);
    await fleet.clock.settle();
    gate.resolve();
    await fleet.clock.settle();
    expect(refusals).toMatchObject([
      {
        code: "outside_turn",
        message: expect.stringMatching(/^ctx\.step\("after"\) was called after .*Put that work into ctx\.step/),
        data: { call: 'ctx.step("after")', location: expect.stringContaining("misuse.test.ts") },
      },
    ]);
    // At once, and not only when the run wakes: a person at the log sees what has happened when it happens.
    expect(fleet.lines.filter(({ level }) => level === "warn")).toEqual([
      {
        level: "warn",
        message: expect.stringMatching(/^ctx\.step\("after"\) was called after .*Put that work into ctx\.step/),
        fields: {
          ...{ runId: run.runId, id: run.id, workflow: "bare", call: 'ctx.step("after")' },
          location: expect.stringContaining("misuse.test.ts"),
        },
      },
    ]);
    await fleet.clock.advance("2 days");
    expect(await run.describe()).toMatchObject({ status: "parked", error: { code: "outside_turn" } });
    expect(calls).toEqual([]);
  });

  test("parks the run as soon as it waits for nothing else, without waiting for what is not an op", async () => {
    const never = workflow("never", () => new Promise<void>(() => {}));
    const fleet = openFleet();
    const worker = await fleet.worker({ workflows: [never] });
    const run = await fleet.client().start(never, undefined, { id: "n" });
    await fleet.clock.settle();
    const { status, error } = await run.describe();
    expect(status).toBe("parked");
    expect(error).toMatchObject({
      code: "foreign_await",
      message: expect.stringMatching(
        /^Workflow "never" is waiting for something that is not a ctx operation, or for nothing at all, before its first ctx operation \(the workflow at .*misuse\.test\.ts:\d+:\d+\)\. Put outside work into ctx\.step\.$/,
      ),
    });
    expect(worker.activeRuns).toBe(0);
  });

  test("names the place from where the code went on, once, and calls nothing from behind it again", async () => {
    const calls: string[] = [];
    const late = workflow("late", async (ctx) => {
      ctx.log.info({}, "begins");
      await ctx.step("first", () => 1);
      await ctx.sleep("nap", "1 day");
      const second = ctx.step("second", () => 2); // the place
      await second;
      calls.push("called");
      await new Promise(() => {});
    });
    const source = readFileSync(fileURLToPath(import.meta.url), "utf8").split("\n");
    const place = source.findIndex((text) => text.endsWith("// the place")) + 1;
    const fleet = openFleet();
    await fleet.worker({ workflows: [late] });
    const run = await fleet.client().start(late);
    await fleet.clock.advance("2 days");
    const { status, error } = await run.describe();
    expect([status, error?.code]).toEqual(["parked", "foreign_await"]);
    expect(error?.message).toMatch(new RegExp(`after "second" at .*misuse\\.test\\.ts:${place}:\\d+\\. Put`));
    expect(error?.data).toMatchObject({ location: expect.stringContaining(`misuse.test.ts:${place}:`) });
    expect(fleet.lines.filter(({ message }) => message === "begins")).toHaveLength(1);
    expect(calls).toEqual(["called"]);
  });

  test("names the signal or the end of the wait that came before, also when the code has ended outside", async () => {
    const go = signal<string>("go");
    const received = workflow("received", async (ctx) => {
      const [word] = await Promise.all([ctx.receive(go), ctx.sleep("nap", "1s")]);
      await ctx.receive(go);
      await new Promise((resolve) => setImmediate(resolve)); // tidy-allow: what the code must not wait for
      return word;
    });
    const t = await openEngine(received);
    const run = await t.client.start(received);
    await run.signal(go, "a");
    await t.clock.advance("2s");
    await run.signal(go, "b");
    await t.clock.advance("2s");
    const { error } = await run.describe();
    expect(error?.code).toBe("foreign_await");
    expect(error?.message).toMatch(/after "receive:go#2" at .*misuse\.test\.ts:\d+:\d+\. Put/);
  });

  test("is found again on resume, until the code is fixed", async () => {
    const bad = workflow("mixed", async () => {
      await new Promise<void>(() => {});
      return "not reached";
    });
    const good = workflow("mixed", (ctx) => ctx.step("work", () => "fixed"));
    const fleet = openFleet();
    const first = await fleet.worker({ workflows: [bad] });
    const run = await fleet.client().start(bad);
    await fleet.clock.settle();
    await run.resume();
    await fleet.clock.settle();
    expect(await run.status()).toBe("parked");
    await fleet.clock.until(first.stop());
    await fleet.worker({ workflows: [good] });
    await run.resume();
    expect(await fleet.result(run)).toBe("fixed");
  });
});

describe("ctx used in a timer", () => {
  test.each<[string, (ctx: Context) => unknown]>([
    ["ctx.step", (ctx) => ctx.step("late", () => 1)],
    ["ctx.sleep", (ctx) => ctx.sleep("late", "1h")],
    ["ctx.random", (ctx) => ctx.random()],
    ["ctx.uuid", (ctx) => ctx.uuid()],
    ["ctx.sideEffect", (ctx) => ctx.sideEffect("late", () => 1)],
    ["ctx.set", (ctx) => ctx.set({ late: true })],
    ["ctx.patched", (ctx) => ctx.patched("late")],
    ["ctx.retired", (ctx) => ctx.retired("late")],
    ["ctx.compensate", (ctx) => ctx.compensate("late", () => {})],
    ["ctx.parallel", (ctx) => ctx.parallel([])],
    ["ctx.race", (ctx) => ctx.race([() => 1])],
    ["ctx.uncancelable", (ctx) => ctx.uncancelable(() => 1)],
    ["ctx.continueAsNew", (ctx) => ctx.continueAsNew()],
  ])("is refused at once: %s", async (call, use) => {
    const refusals: unknown[] = [];
    const fleet = openFleet();
    const late = workflow("late", async (ctx) => {
      fleet.clock.setTimer(1_000, () => {
        try {
          use(ctx);
        } catch (error) {
          refusals.push(error);
        }
      });
      await ctx.sleep("nap", "1h");
    });
    await fleet.worker({ workflows: [late] });
    const run = await fleet.client().start(late);
    await fleet.clock.advance("2h");
    expect(refusals).toMatchObject([{ code: "outside_turn", message: expect.stringContaining(call) }]);
    expect(await run.describe()).toMatchObject({ status: "parked", error: { code: "outside_turn" } });
  });
});

describe("ctx used inside a step", () => {
  const nested: [string, (ctx: Context) => unknown][] = [
    ["at once", (ctx) => ctx.step("inner", () => 1)],
    [
      "after an await",
      async (ctx) => {
        await Promise.resolve();
        return ctx.sleep("inner", "1h");
      },
    ],
  ];
  test.each(nested)(
    "%s is refused by name, fails the step without retries, and with it the run",
    async (_title, use) => {
      let attempts = 0;
      const outer = workflow("outer", (ctx) =>
        ctx.step("outer", async () => {
          attempts += 1;
          await use(ctx);
        }),
      );
      const t = await openEngine(outer);
      const run = await t.client.start(outer);
      await expect(run.result()).rejects.toMatchObject({
        cause: {
          recordedCode: "inside_step",
          op: "outer",
          message: expect.stringContaining(
            "was called inside a step. Steps do the work; call ctx from the workflow function",
          ),
        },
      });
      expect(attempts).toBe(1);
      expect(await run.status()).toBe("failed");
    },
  );
});

describe("ctx used inside a transaction", () => {
  test.each(["at once", "after an await"])("%s is refused as in any step", async (when) => {
    const nested = workflow("nested", (ctx) => {
      const fn = async (): Promise<void> => {
        if (when === "after an await") await Promise.resolve();
        await ctx.step("inner", () => 1);
      };
      return askTransaction(ctx, "move", { kind: "memory", fn });
    });
    const t = await openEngine(nested);
    const run = await t.client.start(nested);
    await expect(run.result()).rejects.toMatchObject({
      cause: {
        recordedCode: "inside_step",
        op: "move",
        message: expect.stringContaining('ctx.step("inner") was called inside a step. Steps do the work'),
      },
    });
  });

  test("is refused when the function does its work without a promise", async () => {
    const nested = workflow("nested", (ctx) =>
      askTransaction(ctx, "move", { kind: "memory", fn: () => void ctx.sleep("inner", "1h") }),
    );
    const t = await openEngine(nested);
    await expect(t.run(nested)).rejects.toMatchObject({ cause: { recordedCode: "inside_step", op: "move" } });
  });
});

describe("ctx used after the run has ended", () => {
  test("is refused by name, and the run stays as it ended", async () => {
    let kept: Context | undefined;
    const short = workflow("short", async (ctx) => {
      kept = ctx;
      return "done";
    });
    const t = await openEngine(short);
    const run = await t.client.start(short);
    expect(await run.result()).toBe("done");
    expect(() => kept?.step("late", () => 1)).toThrowError(
      expect.objectContaining({
        code: "run_ended",
        message: `ctx.step("late") was called after run ${run.runId} had ended.`,
      }),
    );
    expect(await run.describe()).toMatchObject({ status: "completed", output: "done" });
  });

  test("does not count for values that need no turn: now, info and uuid(name) still answer", async () => {
    let kept: Context | undefined;
    const short = workflow("short", async (ctx) => {
      kept = ctx;
      return ctx.uuid("a");
    });
    const t = await openEngine(short);
    const uuid = await t.run(short);
    expect(kept?.uuid("a")).toBe(uuid);
    expect(kept?.info.workflow).toBe("short");
    expect(kept?.now()).toBeInstanceOf(Date);
  });
});

describe("a chain that a workflow starts and forgets", () => {
  test("cannot take the process down: its run is parked or ends, and the others go on", async () => {
    const program = fileURLToPath(new URL("./forgotten-chain.ts", import.meta.url));
    const node = ["--conditions=holdfast-source", "--import", import.meta.resolve("tsx"), program];
    const { stdout } = await promisify(execFile)(process.execPath, node, { timeout: 20_000 });
    const warning = {
      error: "Error: nobody looks",
      place: expect.stringMatching(/forgotten-chain\.ts:\d+:\d+$/),
    };
    expect(JSON.parse(stdout)).toEqual(["unharmed", "ended all the same", "parked", [warning]]);
  });
});
