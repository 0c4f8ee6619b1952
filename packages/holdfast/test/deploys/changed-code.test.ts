import { type Context, type RunHandle, signal, type Worker, workflow } from "holdfast";
import { replay } from "holdfast/testing";
import { describe, expect, test } from "vitest";
import { type Fleet, openEngine, openFleet } from "../lab/fleet.ts";

type Code = (ctx: Context) => Promise<unknown>;

interface Deployment {
  readonly fleet: Fleet;
  readonly run: RunHandle;
  readonly worker: Worker;
}

/** Starts a run under the old code, lets it sleep, and brings it to a worker that has only the new code. */
async function deploy(before: Code, after: Code): Promise<Deployment> {
  const fleet = openFleet();
  const old = await fleet.worker({ workflows: [workflow("order", before)] });
  const run = await fleet.client().start("order", undefined, { id: "o-1" });
  await fleet.clock.settle();
  expect(await run.status()).toBe("sleeping");
  await fleet.clock.until(old.stop());
  const worker = await fleet.worker({ workflows: [workflow("order", after)] });
  return { fleet, run, worker };
}

/** A step that writes down that it was executed. */
function steps(log: string[]): (ctx: Context, name: string) => Promise<string> {
  return (ctx, name) =>
    ctx.step(name, () => {
      log.push(name);
      return name;
    });
}

const old: Code = async (ctx) => {
  const step = steps([]);
  await step(ctx, "charge");
  await step(ctx, "mail");
  await ctx.sleep("nap", "1h");
  return step(ctx, "ship");
};

describe("code that does not match the history of a run", () => {
  const changes: [string, (ctx: Context, step: ReturnType<typeof steps>) => Promise<unknown>, string[]][] = [
    [
      "a step was renamed",
      async (ctx, step) => {
        await step(ctx, "charge card");
        await step(ctx, "mail");
        await ctx.sleep("nap", "1h");
      },
      ["recorded, not asked for: charge (step_completed", "asked for, not recorded: charge card (step) at "],
    ],
    [
      "a step was removed",
      async (ctx, step) => {
        await step(ctx, "charge");
        await ctx.sleep("nap", "1h");
        await step(ctx, "ship");
      },
      ["recorded, not asked for: mail (step_completed"],
    ],
    [
      "a step was added in the middle",
      async (ctx, step) => {
        await step(ctx, "charge");
        await step(ctx, "gift wrap");
        await step(ctx, "mail");
        await ctx.sleep("nap", "1h");
      },
      ["recorded, not asked for: mail (step_completed", "asked for, not recorded: gift wrap (step) at "],
    ],
    [
      "steps were reordered",
      async (ctx, step) => {
        await step(ctx, "mail");
        await step(ctx, "charge");
        await ctx.sleep("nap", "1h");
      },
      ["recorded, not asked for: charge (step_completed"],
    ],
    [
      "a step has become a sleep",
      async (ctx, step) => {
        await step(ctx, "charge");
        await ctx.sleep("mail", "1h");
        await ctx.sleep("nap", "1h");
      },
      ['the code asked for timer_created of "mail" where history has step_completed of "mail"'],
    ],
    [
      "a sleep was added",
      async (ctx, step) => {
        await ctx.sleep("first", "1h");
        await step(ctx, "charge");
      },
      ['the code asked for timer_created of "first" where history has step_completed of "charge"'],
    ],
    [
      "the code ends earlier than it did",
      async (ctx, step) => {
        await step(ctx, "charge");
        return "done";
      },
      ["the workflow function has ended, but its history continues", "recorded, not asked for: mail"],
    ],
  ];

  test.each(changes)(
    "parks the run when %s: nothing is executed, and both sides are named",
    async (_title, change, parts) => {
      const log: string[] = [];
      const { fleet, run, worker } = await deploy(old, (ctx) => change(ctx, steps(log)));
      await fleet.clock.advance("1 day");
      const { status, error } = await run.describe();
      expect(status).toBe("parked");
      expect(error).toMatchObject({ code: "replay_divergence" });
      for (const part of parts) expect(error?.message).toContain(part);
      if (parts.some((part) => part.endsWith(" at ")))
        expect(error?.message).toMatch(/at .*changed-code\.test\.ts:\d+:\d+/);
      expect(error?.message).toContain("Nothing was executed. Deploy code that matches");
      expect(log).toEqual([]);
      expect(worker.activeRuns).toBe(0);
      expect(fleet.lines).toContainEqual(
        expect.objectContaining({ level: "error", message: expect.stringContaining("run parked") }),
      );
    },
  );

  test("leaves the run to code that fits, which takes it up where it stood", async () => {
    const wrong: string[] = [];
    const { fleet, run, worker } = await deploy(old, async (ctx) => steps(wrong)(ctx, "charged"));
    await fleet.clock.advance("1 day");
    expect(await run.status()).toBe("parked");
    await fleet.clock.until(worker.stop());

    const right: string[] = [];
    const step = steps(right);
    const fixed: Code = async (ctx) => {
      await step(ctx, "charge");
      await step(ctx, "mail");
      await ctx.sleep("nap", "1h");
      return step(ctx, "ship");
    };
    await fleet.worker({ workflows: [workflow("order", fixed)] });
    expect(await fleet.clock.until(run.result({ onParked: "wait" }))).toBe("ship");
    expect([wrong, right]).toEqual([[], ["ship"]]);
    expect((await run.describe()).error).toBeNull();
  });

  test("is found again after a resume without a repair, and the run takes no harm", async () => {
    const log: string[] = [];
    const { fleet, run } = await deploy(old, async (ctx) => steps(log)(ctx, "charged"));
    await fleet.clock.advance("1 day");
    const events = (await run.describe()).historyLength;
    for (let i = 1; i <= 3; i++) {
      await run.resume();
      await fleet.clock.settle();
      // That it was resumed and parked again, and nothing else.
      expect(await run.describe()).toMatchObject({ status: "parked", historyLength: events + 2 * i });
    }
    expect(log).toEqual([]);
    await expect(fleet.clock.until(run.result({ timeout: "1s", onParked: "wait" }))).rejects.toMatchObject({
      code: "result_timeout",
      message: expect.stringContaining("it is parked: The workflow code does not match its history"),
    });
  });

  test("is found in a test, before it is deployed, by replay() of a recorded history", async () => {
    const order = workflow("order", old);
    const t = await openEngine(order);
    const run = await t.client.start(order);
    await run.result();
    const history = JSON.parse(JSON.stringify(await run.history()));
    expect(await replay(order, history)).toEqual({ output: "ship" });
    const renamed = workflow("order", async (ctx) => ctx.step("pay", () => 1));
    await expect(replay(renamed, history)).rejects.toMatchObject({
      code: "replay_divergence",
      message: expect.stringContaining("recorded, not asked for: charge"),
    });
  });
});

describe("changes that need no declaration", () => {
  test("new steps behind what has happened, and other code inside a step", async () => {
    const log: string[] = [];
    const step = steps(log);
    const { fleet, run } = await deploy(old, async (ctx) => {
      await ctx.step("charge", () => log.push("charged otherwise"));
      await step(ctx, "mail");
      await ctx.sleep("nap", "1h");
      await step(ctx, "ship");
      return step(ctx, "survey");
    });
    expect(await fleet.result(run)).toBe("survey");
    expect(log).toEqual(["ship", "survey"]);
  });

  test("the order in which parallel steps are asked for", async () => {
    const log: string[] = [];
    const fan =
      (names: string[]): Code =>
      async (ctx) => {
        const step = steps(log);
        await Promise.all(names.map((name) => step(ctx, name)));
        await ctx.sleep("nap", "1h");
        return names;
      };
    const { fleet, run } = await deploy(fan(["a", "b", "c"]), fan(["c", "a", "b"]));
    expect(await fleet.result(run)).toEqual(["c", "a", "b"]);
    expect(log).toEqual(["a", "b", "c"]);
  });
});

describe("ctx.patched", () => {
  const patchedCode =
    (log: string[]): Code =>
    async (ctx) => {
      const step = steps(log);
      await step(ctx, "charge");
      if (ctx.patched("gift wrap")) await step(ctx, "gift wrap");
      await step(ctx, "mail");
      await ctx.sleep("nap", "1h");
      return step(ctx, "ship");
    };

  test("is false in a run whose history was written without it, and true in new runs, on every replay", async () => {
    const log: string[] = [];
    const { fleet, run, worker } = await deploy(old, patchedCode(log));
    expect(await fleet.result(run)).toBe("ship");
    expect(log).toEqual(["ship"]);
    log.length = 0;
    await fleet.clock.until(worker.stop());
    await fleet.forgetful({ workflows: [workflow("order", patchedCode(log))] });
    expect(await fleet.result(await fleet.client().start("order"))).toBe("ship");
    expect(log).toEqual(["charge", "gift wrap", "mail", "ship"]);
  });

  test("is true for the code behind the point that a run has reached", async () => {
    const log: string[] = [];
    const step = steps(log);
    const { fleet, run } = await deploy(old, async (ctx) => {
      await step(ctx, "charge");
      await step(ctx, "mail");
      await ctx.sleep("nap", "1h");
      return ctx.patched("by ship") ? step(ctx, "ship by ship") : step(ctx, "ship");
    });
    expect(await fleet.result(run)).toBe("ship by ship");
    expect(log).toEqual(["ship by ship"]);
  });

  test("is asked per place: a pair of changes goes by one answer, kept in a variable, on every replay", async () => {
    const log: string[] = [];
    const paired: Code = async (ctx) => {
      const step = steps(log);
      const locked = ctx.patched("lock");
      if (locked) await step(ctx, "lock");
      await step(ctx, "charge");
      await step(ctx, "mail");
      await ctx.sleep("nap", "1h");
      const shipped = await step(ctx, "ship");
      if (locked) await step(ctx, "unlock");
      return shipped;
    };
    const { fleet, run, worker } = await deploy(old, paired);
    expect(await fleet.result(run)).toBe("ship");
    expect(log).toEqual(["ship"]);
    log.length = 0;
    await fleet.clock.until(worker.stop());
    await fleet.forgetful({ workflows: [workflow("order", paired)] });
    expect(await fleet.result(await fleet.client().start("order"))).toBe("ship");
    expect(log).toEqual(["lock", "charge", "mail", "ship", "unlock"]);
  });

  test("in a loop stays exact: the rounds done under old code stay as they were", async () => {
    const round =
      (patched: boolean, log: string[]): Code =>
      async (ctx) => {
        const step = steps(log);
        for (let i = 0; i < 4; i++) {
          if (patched && ctx.patched("check")) await step(ctx, "check");
          await step(ctx, `round ${i}`);
          if (i === 1) await ctx.sleep("nap", "1h");
        }
        return "done";
      };
    const log: string[] = [];
    const { fleet, run, worker } = await deploy(round(false, []), round(true, log));
    await fleet.clock.advance("30m");
    expect(await run.status()).toBe("sleeping");
    expect(await fleet.result(run)).toBe("done");
    expect(log).toEqual(["check", "round 2", "check", "round 3"]);
    expect(worker.activeRuns).toBe(0);
  });

  test("may be taken out again once its last old run has ended: the marker in history is passed over", async () => {
    const log: string[] = [];
    const step = steps(log);
    const { fleet, run } = await deploy(patchedCode([]), async (ctx) => {
      await step(ctx, "charge");
      await step(ctx, "gift wrap");
      await step(ctx, "mail");
      await ctx.sleep("nap", "1h");
      return step(ctx, "ship");
    });
    expect(await fleet.result(run)).toBe("ship");
    expect(log).toEqual(["ship"]);
  });
});

describe("ctx.retired", () => {
  test("stands for a step that is gone: old runs pass over its record, new runs never do it", async () => {
    const log: string[] = [];
    const step = steps(log);
    const retired: Code = async (ctx) => {
      await step(ctx, "charge");
      ctx.retired("mail");
      await ctx.sleep("nap", "1h");
      return step(ctx, "ship");
    };
    const { fleet, run } = await deploy(old, retired);
    expect(await fleet.result(run)).toBe("ship");
    expect(log).toEqual(["ship"]);
    log.length = 0;
    expect(await fleet.result(await fleet.client().start("order"))).toBe("ship");
    expect(log).toEqual(["charge", "ship"]);
  });

  test("is nothing that replay() lists as pending", async () => {
    const { run } = await deploy(old, old);
    const retired = workflow("order", async (ctx) => {
      await steps([])(ctx, "charge");
      ctx.retired("mail");
      ctx.retired("never there");
      await ctx.sleep("nap", "1h");
    });
    expect(await replay(retired, await run.history())).toEqual({ pending: ["nap"] });
  });

  test("may stand at the end, and before commands that were recorded behind it", async () => {
    const before: Code = async (ctx) => {
      const step = steps([]);
      const beside = step(ctx, "beside");
      await step(ctx, "mail");
      ctx.set({ mailed: true });
      const flag = ctx.sideEffect("flag", () => "old flag");
      await ctx.sleep("nap", "1h");
      await step(ctx, "survey");
      return [flag, await beside];
    };
    const after: Code = async (ctx) => {
      const beside = steps([])(ctx, "beside");
      ctx.retired("mail");
      ctx.set({ mailed: false });
      const flag = ctx.sideEffect("flag", () => "new flag");
      await ctx.sleep("nap", "1h");
      ctx.retired("survey");
      return [flag, await beside];
    };
    const { fleet, run } = await deploy(before, after);
    expect(await fleet.result(run)).toEqual(["old flag", "beside"]);
    const finished = await openEngine(workflow("order", before));
    const old = await finished.client.start("order");
    await old.result();
    const history = (await old.history()).filter((event) => event.type !== "run_completed");
    expect(await replay(workflow("order", after), history)).toEqual({ output: ["old flag", "beside"] });
  });

  test("hides no divergence: what was recorded before it must still be asked for in its turn", async () => {
    const log: string[] = [];
    const step = steps(log);
    const { fleet, run } = await deploy(old, async (ctx) => {
      await ctx.sleep("nap", "1h");
      await step(ctx, "charge");
      ctx.retired("mail");
    });
    await fleet.clock.advance("1 day");
    expect(await run.describe()).toMatchObject({ status: "parked", error: { code: "replay_divergence" } });
    expect(log).toEqual([]);
  });

  test("stands for a sleep, a side effect and a step in backoff as well", async () => {
    const before: Code = async (ctx) => {
      ctx.sideEffect("flag", () => true);
      await ctx.sleep("short", "1s").then(() => {});
      await ctx.step("flaky", () => Promise.reject(new Error("down")), { retry: { attempts: 9, fixed: "1 day" } });
    };
    const fleet = openFleet();
    const first = await fleet.worker({ workflows: [workflow("order", before)] });
    const run = await fleet.client().start("order");
    await fleet.clock.advance("1h");
    expect(await run.describe()).toMatchObject({ status: "sleeping", waitingFor: ["flaky"] });
    await fleet.clock.until(first.stop());
    const after: Code = async (ctx) => {
      ctx.retired("flag");
      ctx.retired("short");
      ctx.retired("flaky");
      return ctx.step("new", () => "new");
    };
    await fleet.worker({ workflows: [workflow("order", after)] });
    expect(await fleet.result(run)).toBe("new");
  });
});

describe("ctx.retired for a step that was in flight when its code was replaced", () => {
  const go = signal<string>("go");

  /** A run whose step never ends gets a signal; then other code takes over, several times, and forgets everything in between. */
  async function takenOver(after: Code, ...later: Code[]): Promise<{ fleet: Fleet; run: RunHandle }> {
    const fleet = openFleet();
    const before: Code = async (ctx) => {
      await ctx.step("mail", () => new Promise(() => {}));
      await ctx.sleep("never", "1h");
    };
    const first = await fleet.worker({ workflows: [workflow("order", before)] });
    const run = await fleet.client().start("order");
    await fleet.clock.settle();
    await run.signal(go, "sent");
    await fleet.clock.settle();
    expect(await run.history()).toMatchObject([{ type: "run_started" }, { type: "signal_received" }]);
    await fleet.clock.until(first.stop());
    for (const code of [after, ...later]) {
      const worker = await fleet.forgetful({ workflows: [workflow("order", code)] });
      await fleet.clock.settle();
      if (code !== [after, ...later].at(-1)) await fleet.clock.until(worker.stop());
    }
    return { fleet, run };
  }

  const retired: Code = async (ctx) => {
    ctx.retired("mail");
    const flag = ctx.sideEffect("flag", () => "computed");
    ctx.set({ stage: "new" });
    await ctx.sleep("nap", "1h");
    const said = await ctx.receive(go);
    await ctx.sleep("rest", "1h");
    return [flag, said];
  };

  test("lets the run go on: history says where, and what the new code did in turns of the old one", async () => {
    const { fleet, run } = await takenOver(retired, retired, retired);
    expect(await fleet.result(run)).toEqual(["computed", "sent"]);
    const history = await run.history();
    expect(history.map(({ type, op }) => `${type} ${op}`)).toEqual([
      "run_started null",
      "signal_received go",
      "op_retired mail",
      "side_effect flag",
      "attributes_set null",
      "timer_created nap",
      "timer_fired nap",
      "timer_created rest",
      "timer_fired rest",
      "run_completed null",
    ]);
    expect(await run.describe()).toMatchObject({ attributes: { stage: "new" } });
    expect(await replay(workflow("order", retired), history)).toEqual({ output: ["computed", "sent"] });
  });

  test("also where the new code goes on in the turn of the message itself", async () => {
    const code: Code = async (ctx) => {
      ctx.retired("mail");
      const said = await ctx.receive(go);
      await ctx.sleep("rest", "1h");
      return said;
    };
    const { fleet, run } = await takenOver(code, code);
    expect(await fleet.result(run)).toBe("sent");
    const history = await run.history();
    expect(history.slice(2, 4)).toMatchObject([{ type: "op_retired" }, { type: "timer_created", op: "rest" }]);
    expect(await replay(workflow("order", code), history)).toEqual({ output: "sent" });
  });

  test("hides no divergence once that is written down", async () => {
    const { fleet, run } = await takenOver(retired, async (ctx) => {
      ctx.retired("mail");
      await ctx.sleep("another", "1h");
    });
    await fleet.clock.advance("1 day");
    expect(await run.describe()).toMatchObject({ status: "parked", error: { code: "replay_divergence" } });
  });

  test("may be taken out of the code again when no run needs it", async () => {
    const fleet = openFleet();
    const code: Code = async (ctx) => {
      ctx.retired("mail");
      await ctx.sleep("nap", "1h");
      return "done";
    };
    const first = await fleet.worker({ workflows: [workflow("order", code)] });
    const run = await fleet.client().start("order");
    await fleet.clock.settle();
    await fleet.clock.until(first.stop());
    await fleet.worker({
      workflows: [
        workflow("order", async (ctx) => {
          await ctx.sleep("nap", "1h");
          return "cleaned up";
        }),
      ],
    });
    expect(await fleet.result(run)).toBe("cleaned up");
    expect((await run.history()).map(({ type }) => type)).toContain("op_retired");
  });
});
