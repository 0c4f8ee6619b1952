import { describe, expect, test } from "vitest";
import { signal, workflow } from "../../src/define/definitions.ts";
import type { Context } from "../../src/replay/context/context.ts";
import { Cluster, outcomeUnknown, unavailable, Valve } from "../lab/harness.ts";

const go = signal<string>("go");

/** What the store knew of a run when one of its steps started, and what the code had seen when it asked for it. */
interface Start {
  readonly op: string;
  readonly seen: number;
  readonly durable: number;
  readonly types: readonly string[];
}

function watcher(cluster: Cluster) {
  const starts: Start[] = [];
  const watched = <T>(ctx: Context, op: string, work: (attempt: number) => T) => {
    const { runId, historyLength: seen } = ctx.info;
    return ({ attempt }: { readonly attempt: number }): T => {
      const events = cluster.store.state.events.get(runId) ?? [];
      starts.push({ op, seen, durable: events.length, types: events.map((event) => `${event.type} ${event.op}`) });
      return work(attempt);
    };
  };
  return { starts, watched };
}

describe("a step's function", () => {
  test("never starts before everything that its code had seen is in the store, however slow the store is", async () => {
    const cluster = new Cluster();
    const { starts, watched } = watcher(cluster);
    const busy = workflow("busy", async (ctx) => {
      const side = async (name: string): Promise<void> => {
        for (let i = 0; i < 3; i++)
          await ctx.step(
            `${name}${i}`,
            watched(ctx, `${name}${i}`, () => i),
          );
      };
      ctx.set({ phase: "one" });
      ctx.sideEffect("flag", () => true);
      const flaky = watched(ctx, "flaky", (attempt) => {
        if (attempt < 3) throw new Error("again");
      });
      await Promise.all([side("a"), side("b"), ctx.step("flaky", flaky), ctx.sleep("nap", "2s")]);
      const word = await ctx.receive(go);
      ctx.set({ phase: word });
      await ctx.step(
        "last",
        watched(ctx, "last", () => word),
      );
    });
    const process = cluster.process("slow", async (method, _params, next) => {
      if (method === "runs.commit") await cluster.wait(70);
      const answer = await next();
      if (method === "runs.commit") await cluster.wait(70);
      return answer;
    });
    await process.worker({ workflows: [busy] });
    const run = await cluster.until(process.client.start(busy));
    await cluster.until(run.signal(go, "two"));
    await cluster.until(run.result());
    expect(starts.length).toBe(3 + 3 + 3 + 1);
    expect(starts.filter(({ seen, durable }) => durable < seen)).toEqual([]);
    expect(starts.at(-1)?.types).toContain("signal_received go");
  });

  test("starts another attempt only when the failure of the one before is in the store", async () => {
    const cluster = new Cluster();
    const { starts, watched } = watcher(cluster);
    const flaky = workflow("flaky", async (ctx) => {
      const work = watched(ctx, "try", (attempt) => {
        if (attempt < 3) throw new Error("again");
      });
      await ctx.step("try", work, { retry: { attempts: 3, fixed: "0ms" } });
    });
    const valve = new Valve("runs.commit", "calls");
    const process = cluster.process("p", valve.hook);
    await process.worker({ workflows: [flaky] });
    valve.shut();
    const run = await cluster.until(process.client.start(flaky));
    await cluster.clock.advance("5s");
    expect(starts).toHaveLength(1);
    valve.open();
    await cluster.until(run.result());
    expect(starts.map(({ durable }) => durable)).toEqual([0, 1, 2]);
  });

  test("with a compensation starts only when the store knows that it does, and its compensation when it knows why", async () => {
    const cluster = new Cluster();
    const { starts, watched } = watcher(cluster);
    const saga = workflow("saga", async (ctx) => {
      const undo = watched(ctx, "undo", () => {});
      const compensate = (): void => undo({ attempt: 1 });
      await ctx.step(
        "book",
        watched(ctx, "book", () => {}),
        { compensate },
      );
      await ctx.step(
        "bill",
        watched(ctx, "bill", () => Promise.reject(new Error("no money"))),
        { retry: "none" },
      );
    });
    const process = cluster.process("slow", async (method, _params, next) => {
      if (method === "runs.commit") await cluster.wait(50);
      return next();
    });
    await process.worker({ workflows: [saga] });
    const run = await cluster.until(process.client.start(saga));
    await expect(cluster.until(run.result())).rejects.toMatchObject({ code: "run_failed" });
    expect(starts.map(({ op, types }) => [op, types])).toEqual([
      ["book", ["step_started book"]],
      ["bill", ["step_started book", "step_completed book"]],
      ["undo", ["step_started book", "step_completed book", "step_failed bill"]],
    ]);
  });
});

test("the workflow runs ahead of the store, and only its next effect waits", async () => {
  const cluster = new Cluster();
  const reached: string[] = [];
  const ahead = workflow("ahead", async (ctx) => {
    await ctx.step("one", () => reached.push("one"));
    reached.push("code between");
    await ctx.step("two", () => reached.push("two"));
  });
  const valve = new Valve("runs.commit", "answers");
  const process = cluster.process("p", valve.hook);
  await process.worker({ workflows: [ahead] });
  valve.shut();
  const run = await cluster.until(process.client.start(ahead));
  await cluster.clock.advance("5s");
  expect(reached).toEqual(["one", "code between"]);
  valve.open();
  await cluster.until(run.result());
  expect(reached).toEqual(["one", "code between", "two"]);
});

describe("a caller", () => {
  const echo = workflow("echo", async (ctx) => ctx.step("say", () => "hello"));
  const wait = workflow("wait", async (ctx) => ctx.receive(go));

  test("hears of a result only when the store has it", async () => {
    const cluster = new Cluster();
    const valve = new Valve("runs.commit", "calls");
    const process = cluster.process("p", valve.hook);
    await process.worker({ workflows: [echo] });
    valve.shut();
    const run = await cluster.until(process.client.start(echo));
    let told = "nothing";
    const result = run.result().then((value) => {
      told = `${value}, and the store says ${cluster.run(run.runId).status}`;
    });
    await cluster.clock.advance("1s");
    expect(cluster.count(run.id, "say")).toBe(1);
    expect(told).toBe("nothing");
    valve.open();
    await cluster.until(result);
    expect(told).toBe("hello, and the store says completed");
  });

  test.each(["before", "after"] as const)(
    "whose start, signal or cancel fails %s it took effect hears of it only when it is in the store",
    async (moment) => {
      const cluster = new Cluster();
      const process = cluster.process();
      const failing = (method: string): void => {
        let failures = 3;
        cluster.store.fault = (at, called) =>
          called === method && at === moment && failures-- > 0
            ? moment === "before"
              ? unavailable()
              : outcomeUnknown()
            : undefined;
      };
      failing("runs.start");
      const started = process.client
        .start(wait, undefined, { id: "w" })
        .then(() => cluster.store.state.byId.has("default\nw"));
      expect(await cluster.until(started)).toBe(true);
      failing("inbox.deliver");
      const inbox = () => cluster.store.state.inbox.get(cluster.runOf("w").runId)?.map((message) => message.kind) ?? [];
      const handle = process.client.get("w");
      expect(await cluster.until(handle.signal(go, "x").then(inbox))).toEqual(["signal"]);
      failing("inbox.deliver");
      expect(await cluster.until(handle.cancel().then(inbox))).toEqual(["signal", "cancel"]);
      failing("runs.terminate");
      const terminated = handle.terminate().then(() => cluster.runOf("w").status);
      expect(await cluster.until(terminated)).toBe("terminated");
    },
  );
});
