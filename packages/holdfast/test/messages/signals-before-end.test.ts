import { type Client, type Context, connect, isHoldfastError, signal, workflow } from "holdfast";
import type { CommitRunsParams } from "holdfast/adapter";
import { describe, expect, onTestFinished, test } from "vitest";
import { waylaid } from "../lab/waylaid.ts";
import { openWorld, type World } from "../lab/world.ts";

const word = signal<string>("word");
const noise = signal<string>("noise");

async function drain(ctx: Context): Promise<string[]> {
  const words: string[] = [];
  for (;;) {
    const next = await ctx.receive(word, { timeout: "0ms" });
    if (next === undefined) return words;
    words.push(next);
  }
}

describe("a signal that is accepted while the end of its run is on its way", () => {
  test("reaches code that has just looked for it in vain, once, and in order", async () => {
    const world = openWorld();
    const { run } = await waylaid(world, drain, async (handle, ends) => {
      if (ends > 3) return;
      await handle.signal(word, `${ends}a`);
      await handle.signal(word, `${ends}b`);
    });
    expect(await world.result(run)).toEqual(["1a", "1b", "2a", "2b", "3a", "3b"]);
    expect(world.row(run)).toMatchObject({ status: "completed", delivered: 6, consumed: 6 });
  });

  test("reaches it as often as one comes: however often that is, the run does not end without", async () => {
    const world = openWorld();
    const { run } = await waylaid(world, drain, (handle, ends) =>
      ends <= 50 ? handle.signal(word, `${ends}`) : undefined,
    );
    expect(await world.result(run)).toHaveLength(50);
  });

  test.for([1, 2, 3, 5, 7, 11])(
    "reaches it also when the store takes its time, with one every %i ms",
    async (everyMs) => {
      const world = openWorld();
      const commitRuns = async (_: CommitRunsParams, call: () => ReturnType<World["store"]["runs"]["commit"]>) => {
        await world.later(4);
        const answer = await call();
        await world.later(4);
        return answer;
      };
      const client = world.client({ hooks: { "runs.commit": commitRuns } });
      const outside = world.client();
      const steps: number[] = [];
      const job = workflow("job", async (ctx) => {
        await ctx.step("open", () => void steps.push(1));
        return drain(ctx);
      });
      await world.worker(client, { workflows: [job] });
      const run = await client.start(job, undefined, { id: "r" });
      const accepted: string[] = [];
      const send = async (): Promise<void> => {
        for (let n = 1; n <= 60; n++) {
          await outside.get("r").signal(word, `${n}`);
          accepted.push(`${n}`);
          await world.later(everyMs);
        }
      };
      const sent = send().catch((error: unknown) => expect(error).toMatchObject({ code: "run_closed" }));
      expect(await world.result(run)).toEqual(accepted);
      await world.clock.until(sent);
      expect(steps).toEqual([1]);
    },
  );

  test("comes before a timer that the code had set itself", async () => {
    const world = openWorld();
    const patient = (ctx: Context): Promise<unknown> =>
      ctx.race({ word: (c) => c.receive(word), timeout: (c) => c.sleep("patience", "1h") });
    const { run } = await waylaid(world, patient, (handle, ends) =>
      ends === 1 ? handle.signal(word, "just in time") : undefined,
    );
    expect(await world.result(run)).toEqual({ winner: "word", value: "just in time" });
  });

  test("makes no step run again, and keeps what the code has set and computed before", async () => {
    const world = openWorld();
    const steps: string[] = [];
    const code = async (ctx: Context): Promise<unknown> => {
      ctx.set({ stage: "first" });
      const a = await ctx.step("a", () => steps.push("a"));
      const words = await drain(ctx);
      const chance = [ctx.random(), ctx.uuid()];
      ctx.set({ heard: words.length });
      return { a, words, chance };
    };
    const seen: unknown[] = [];
    const { run, ends } = await waylaid(world, code, async (handle, count) => {
      seen.push((await handle.describe()).attributes);
      return count <= 2 ? handle.signal(word, `${count}`) : undefined;
    });
    expect(await world.result(run)).toMatchObject({ a: 1, words: ["1", "2"] });
    expect(ends()).toBe(3);
    expect(steps).toEqual(["a"]);
    expect((await run.describe()).attributes).toEqual({ stage: "first", heard: 2 });
    expect((await run.history()).map(({ type }) => type).filter((type) => type === "step_completed")).toHaveLength(1);
  });

  test("lets a step that was under way go on, which the code waits for after all", async () => {
    const world = openWorld();
    let calls = 0;
    let finish = (_: string): void => {};
    let aborted = false;
    const code = async (ctx: Context): Promise<unknown> => {
      const work = ctx.step("work", ({ signal: abort }) => {
        calls += 1;
        abort.addEventListener("abort", () => {
          aborted = true;
        });
        return new Promise<string>((resolve) => {
          finish = resolve;
        });
      });
      const first = await Promise.race([work, ctx.receive(word, { timeout: "1h" })]);
      return first === undefined ? "gave up" : [first, await work];
    };
    const { run } = await waylaid(world, code, (handle, ends) => {
      if (ends > 1) return undefined;
      return handle.signal(word, "wait!");
    });
    await world.clock.advance("2h");
    expect(await run.status()).toBe("running");
    finish("done");
    expect(await world.result(run)).toEqual(["wait!", "done"]);
    expect([calls, aborted]).toEqual([1, false]);
  });

  test("does not count as looked for by code that has ended because of another signal: order comes first", async () => {
    const world = openWorld();
    const two = async (ctx: Context): Promise<unknown> => [await ctx.receive(word), await ctx.receive(word)];
    const { run, ends } = await waylaid(world, two, (handle) => handle.signal(word, "too late"));
    await run.signal(word, "1");
    await run.signal(word, "2");
    expect(await world.result(run)).toEqual(["1", "2"]);
    expect(ends()).toBeLessThan(6);
  });

  test("does not keep a run from ending whose code does not look for it, however many come", async () => {
    const world = openWorld();
    const { run, ends } = await waylaid(
      world,
      (ctx) => ctx.step("work", () => "done"),
      (handle) => handle.signal(noise, "psst"),
    );
    expect(await world.result(run)).toBe("done");
    expect(ends()).toBeLessThan(6);
  });

  test("is kept apart from others: one of another name is in history, and the code has been told nothing of it", async () => {
    const world = openWorld();
    const { run } = await waylaid(world, drain, (handle, ends) =>
      ends <= 5 ? handle.signal(noise, `${ends}`) : undefined,
    );
    expect(await world.result(run)).toEqual([]);
    expect(world.row(run)).toMatchObject({ status: "completed", delivered: 5, consumed: 5 });
  });

  test("comes before a failure, too", async () => {
    const world = openWorld();
    const strict = async (ctx: Context): Promise<unknown> => {
      const approval = await ctx.receive(word, { timeout: "1h" });
      if (approval === undefined) throw new Error("not approved");
      return approval;
    };
    const { run } = await waylaid(world, strict, (handle, ends) =>
      ends === 1 ? handle.signal(word, "approved") : undefined,
    );
    expect(await world.result(run)).toBe("approved");
  });
});

test("a cancel that comes when the code has ended changes nothing", async () => {
  const world = openWorld();
  const { run } = await waylaid(world, drain, (handle, ends) => (ends === 1 ? handle.cancel("too late") : undefined));
  expect(await world.result(run)).toEqual([]);
  expect(await run.status()).toBe("completed");
});

/** Many senders at once, until they are done or the run takes no more. Says which of their signals were accepted. */
async function storm(client: Client, id: string, senders: number): Promise<string[]> {
  const accepted: string[] = [];
  const send = async (sender: number): Promise<void> => {
    for (let n = 1; n <= 100; n++) {
      try {
        await client.get(id).signal(word, `${sender}.${n}`);
      } catch (error) {
        if (!isHoldfastError(error, "run_closed")) throw error;
        return;
      }
      accepted.push(`${sender}.${n}`);
    }
  };
  await Promise.all(Array.from({ length: senders }, (_, sender) => send(sender)));
  return accepted;
}

test("in a storm of signals each one is received, or its sender is told that the run is closed", async () => {
  const hf = await connect("memory:");
  onTestFinished(() => hf.close());
  const eager = workflow("eager", async (ctx) => {
    await ctx.step("open", () => {});
    const words = await drain(ctx);
    return words;
  });
  await hf.worker({ workflows: [eager] }).start();
  for (let round = 0; round < 20; round++) {
    const run = await hf.start(eager, undefined, { id: `r${round}` });
    const accepted = await storm(hf, run.id, 4);
    expect((await run.result()).toSorted()).toEqual(accepted.toSorted());
  }
});
