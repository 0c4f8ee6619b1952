// The classic ways in which replay goes wrong, one by one. Each run is replayed from everywhere, and crashes everywhere.
import { expect, test } from "vitest";
import { signal } from "../../src/define/definitions.ts";
import type { Context } from "../../src/replay/context/context.ts";
import { replayHistory } from "../../src/replay/replayer.ts";
import { immediate } from "./immediate.ts";
import { newMachine } from "./live-run.ts";
import { collectRejections } from "./rejections.ts";
import { playEverywhere } from "./scripted-run.ts";

const ping = signal<number>("ping");

test("two completions in one tick reach the code one after the other", async () => {
  const live = await playEverywhere(
    async (ctx, log) => {
      let last = "";
      const chain = async (name: string): Promise<void> => {
        last = await ctx.step(name, () => name);
        await undefined;
        log(`${name} sees ${last}`);
      };
      await Promise.all([chain("a"), chain("b")]);
    },
    [
      (run) => {
        run.complete("b", "b");
        run.complete("a", "a");
      },
    ],
  );
  expect(live.log).toEqual(["b sees b", "a sees a"]);
});

test("the loser of Promise.race completes later, and whoever still holds it sees that", async () => {
  const live = await playEverywhere(
    async (ctx, log) => {
      const fast = ctx.step("fast", () => "fast");
      const slow = ctx.step("slow", () => "slow");
      log(await Promise.race([fast, slow]));
      await ctx.sleep("nap", "1s");
      log(await slow);
    },
    [
      (run) => run.complete("fast", "fast"),
      (run) => run.complete("slow", "slow"),
      (run) => run.advanceTo(run.now + 1000),
    ],
  );
  expect(live.log).toEqual(["fast", "slow"]);
  expect(live.history.map((event) => event.type)).toEqual([
    "step_completed",
    "timer_created",
    "step_completed",
    "timer_fired",
  ]);
});

test("the loser of ctx.race is canceled: its completion in the same tick leaves no trace", async () => {
  const live = await playEverywhere(
    async (ctx, log) => {
      const { winner } = await ctx.race({ a: (b) => b.step("a", () => 1), b: (b) => b.step("b", () => 2) });
      log(winner);
      await ctx.step("after", () => 3);
    },
    [
      (run) => {
        run.complete("b", 2);
        run.complete("a", 1);
      },
      (run) => run.complete("after"),
    ],
  );
  expect(live.log).toEqual(["b"]);
  expect(live.history.map((event) => event.op)).toEqual(["b", "after"]);
});

test("an op that failed before anybody awaited it throws where it is awaited", async () => {
  const live = await playEverywhere(
    async (ctx, log) => {
      const early = ctx.step("early", () => 1);
      await ctx.step("other", () => 2);
      log("other is done");
      await early.catch((error: Error) => log(error.message));
    },
    [(run) => run.fail("early", new Error("too early")), (run) => run.complete("other")],
  );
  expect(live.log).toEqual(["other is done", "too early"]);
});

test("an op that nobody ever awaits may complete, fail or stay, and nothing comes of it", async () => {
  const { value: live, ofChains } = await collectRejections(() =>
    playEverywhere(
      async (ctx) => {
        for (const name of ["completes", "fails", "stays"]) void ctx.step(name, () => 1);
        return ctx.step("awaited", () => 2);
      },
      [(run) => run.fail("fails"), (run) => run.complete("completes"), (run) => run.complete("awaited", 2)],
    ),
  );
  expect(live.machine.outcome).toEqual({ type: "completed", value: 2, output: new TextEncoder().encode("2") });
  expect(ofChains).toEqual([]);
});

test("a chain that fails while nobody awaits it surfaces within the turn, and can still be joined", async () => {
  const { value: live, ofChains } = await collectRejections(() =>
    playEverywhere(
      async (ctx, log) => {
        const chain = (async () => {
          await ctx.step("doomed", () => 1);
        })();
        await ctx.sleep("nap", "1s");
        await chain.catch((error: Error) => log(error.message));
      },
      [(run) => run.fail("doomed", new Error("nobody listens")), (run) => run.advanceTo(run.now + 1000)],
    ),
  );
  expect(live.log).toEqual(["nobody listens"]);
  expect(ofChains.length).toBeGreaterThan(1);
  expect(new Set(ofChains.map((error) => (error as Error).message))).toEqual(new Set(["nobody listens"]));
});

test("two chains that share a counter lose the same update every time", async () => {
  const live = await playEverywhere(
    async (ctx, log) => {
      let counter = 0;
      const chain = async (name: string): Promise<void> => {
        for (let i = 0; i < 2; i++) {
          const before = counter;
          await ctx.step(name, () => 1);
          counter = before + 1;
          log(`${name} ${counter}`);
        }
      };
      await Promise.all([chain("a"), chain("b")]);
      return counter;
    },
    [
      (run) => run.complete("b"),
      (run) => run.complete("a"),
      (run) => run.complete("a#2"),
      (run) => run.complete("b#2"),
    ],
  );
  expect(live.log).toEqual(["b 1", "a 1", "a 2", "b 2"]);
  expect(live.machine.outcome).toEqual({ type: "completed", value: 2, output: new TextEncoder().encode("2") });
});

test("a signal and the timeout of its receive in one tick: the first one wins, a late signal is kept", async () => {
  const body = async (ctx: Context, log: (line: string) => void): Promise<void> => {
    log(`first ${await ctx.receive(ping, { timeout: "1s" })}`);
    log(`second ${await ctx.receive(ping, { timeout: "1s" })}`);
  };
  const inTime = await playEverywhere(body, [
    (run) => {
      run.signal("ping", 1);
      run.advanceTo(run.now + 1000);
    },
    (run) => run.advanceTo(run.now + 1000),
  ]);
  expect(inTime.log).toEqual(["first 1", "second undefined"]);
  const late = await playEverywhere(body, [
    (run) => {
      run.advanceTo(run.now + 1000);
      run.signal("ping", 1);
    },
  ]);
  expect(late.log).toEqual(["first undefined", "second 1"]);
});

test("what was sent before anyone waited is received in order, wherever the crash was", async () => {
  const live = await playEverywhere(
    async (ctx, log) => {
      await ctx.step("slow", () => 1);
      for (let i = 0; i < 3; i++) log(`got ${await ctx.receive(ping)}`);
    },
    [
      (run) => run.signal("ping", 1),
      (run) => run.signal("ping", 2),
      (run) => run.complete("slow"),
      (run) => run.signal("ping", 3),
    ],
  );
  expect(live.log).toEqual(["got 1", "got 2", "got 3"]);
});

test("a cancel in the middle lets the cleanup go on and refuses everything else", async () => {
  const live = await playEverywhere(
    async (ctx, log) => {
      try {
        await ctx.step("work", () => 1);
      } finally {
        await ctx.step("not any more", () => 2).catch((error: { code: string }) => log(error.code));
        await ctx.uncancelable(async (shielded) => log(`cleanup ${await shielded.step("cleanup", () => 3)}`));
      }
    },
    [(run) => run.cancel("enough"), (run) => run.complete("cleanup", 3)],
  );
  expect(live.log).toEqual(["run_canceled", "cleanup 3"]);
  expect(live.machine.outcome).toMatchObject({ type: "failed", error: { code: "run_canceled" } });
});

test("a step that had begun when the run failed is undone with what became of it", async () => {
  const told: string[] = [];
  const live = await playEverywhere(
    async (ctx) => {
      void ctx.step("charge", () => "c-1", {
        compensate: (result, c) => void told.push(`${c.outcome} ${result}`),
      });
      await ctx.step("ship", () => 1, { retry: "none" });
    },
    [
      (run) => void run.noteStart(run.op("charge")),
      (run) => run.fail("ship", new Error("no truck")),
      (run) => run.complete("charge", "c-1"),
      (run) => run.execute(run.op("compensate:charge")),
    ],
  );
  expect(new Set(told)).toEqual(new Set(["completed c-1"]));
  expect(live.machine.outcome).toMatchObject({
    type: "failed",
    error: { message: "no truck" },
    compensation: "compensated",
  });
});

test("time, randomness and ids of a turn are those of the first time", async () => {
  const live = await playEverywhere(
    async (ctx, log) => {
      const look = (): void => log([ctx.now().getTime(), ctx.random(), ctx.uuid(), ctx.info.historyLength].join(" "));
      look();
      const nap = ctx.sleep("nap", "1s");
      await ctx.step("a", () => 1);
      look();
      await nap;
      look();
    },
    [(run) => run.complete("a"), (run) => run.advanceTo(run.now + 5000)],
  );
  expect(live.log.map((line) => line.split(" ").at(-1))).toEqual(["0", "2", "3"]);
});

test("an attribute set last before a crash is not written again", async () => {
  await playEverywhere(
    async (ctx) => {
      ctx.set({ phase: "waiting" });
      await ctx.step("a", () => 1);
      ctx.set({ phase: "done" });
    },
    [(run) => run.complete("a")],
  );
});

test("a line of the last turn before a crash is not written to the log again", async () => {
  const live = await playEverywhere(
    async (ctx) => {
      await ctx.step("a", () => 1);
      ctx.log.info({}, "a is done");
      await ctx.step("b", () => 1);
    },
    [(run) => run.complete("a")],
  );
  expect(live.lines).toEqual(["a is done"]);
});

test("a message that came after the end is in history and changes nothing", async () => {
  const live = await playEverywhere(
    async (ctx) => ctx.step("a", () => 1),
    [
      (run) => {
        run.complete("a", 1);
        run.signal("ping", 1);
        run.cancel("too late");
      },
    ],
  );
  expect(live.history.map((event) => event.type)).toEqual(["step_completed", "signal_received", "cancel_requested"]);
  expect(live.machine.outcome).toEqual({ type: "completed", value: 1, output: new TextEncoder().encode("1") });
});

test("a timer keeps the time that was promised, whatever the code says now", async () => {
  const live = await playEverywhere(async (ctx) => ctx.sleep("nap", "1 day"), []);
  const body = async (ctx: Context): Promise<void> => ctx.sleep("nap", "1 minute");
  const machine = await replayHistory(newMachine(body, live.history), immediate);
  expect(machine.ops.pending().map((op) => op.fireAt)).toEqual([live.op("nap").fireAt]);
});

test("a step that has become a receive of the same id is found out", async () => {
  const live = await playEverywhere(
    async (ctx) => ctx.step("receive:ping", () => 1),
    [(run) => run.complete("receive:ping", 1)],
  );
  const body = async (ctx: Context): Promise<number> => ctx.receive(ping);
  const machine = await replayHistory(newMachine(body, live.history), immediate);
  expect(machine.divergence).toMatchObject({ seq: 1, fault: expect.stringContaining("as a receive") });
  expect(machine.outcome).toBeUndefined();
});

test("a compensation learns on replay that nobody knows what became of its step", async () => {
  const told: string[] = [];
  await playEverywhere(
    async (ctx) => {
      await ctx.step("charge", () => "c-1", { compensate: (_, c) => void told.push(c.outcome), onCrash: "fail" });
    },
    [(run) => void run.cutOff(run.op("charge")), (run) => run.execute(run.op("compensate:charge"))],
  );
  expect(new Set(told)).toEqual(new Set(["unknown"]));
});
