import { type HoldfastError, type ReplayedRun, signal, task, update, workflow } from "holdfast";
import { encrypted } from "holdfast/codecs";
import { describe, expect, test } from "vitest";
import { type Fleet, openFleet } from "../lab/fleet.ts";

type WorkerOptions = Parameters<Fleet["worker"]>[0];

const add = update<string, number>("add");
const go = signal<string>("go");

interface Found {
  readonly error: HoldfastError;
  readonly run: ReplayedRun;
}

/** A fleet whose worker checks what ends on it, and what it has found and counted. */
async function checking(options: WorkerOptions, of: Parameters<Fleet["worker"]>[1] = {}, sample = 1) {
  const fleet = openFleet();
  const found: Found[] = [];
  const counted: string[] = [];
  const telemetry = {
    count(metric: string, times: number, labels: Readonly<Record<string, string>>): void {
      if (metric === "replays_verified") counted.push(`${labels.workflow} ${labels.outcome} ${times}`);
    },
    duration(): void {},
  };
  const onDivergence = (error: HoldfastError, run: ReplayedRun): void => void found.push({ error, run });
  const worker = await fleet.worker({ ...options, verifyReplay: { sample, onDivergence } }, { ...of, telemetry });
  const drained = (): Promise<void> => fleet.clock.until(worker.drain());
  return { fleet, found, counted, drained };
}

describe("a worker that verifies replays finds", () => {
  test("code that takes another way the second time", async () => {
    let calls = 0;
    const main = workflow("main", async (ctx) => {
      calls += 1;
      return ctx.step(`step ${calls}`, () => "done");
    });
    const { fleet, found, counted, drained } = await checking({ workflows: [main] });
    const run = await fleet.clock.until(fleet.client().start(main));
    expect(await fleet.result(run)).toBe("done");
    const before = [await fleet.clock.until(run.describe()), await fleet.clock.until(run.history())];
    await drained();
    expect(found).toMatchObject([
      {
        error: { code: "replay_divergence", message: expect.stringContaining("step 1") },
        run: { id: run.id, runId: run.runId, workflow: "main", version: "1" },
      },
    ]);
    expect(counted).toEqual(["main diverged 1"]);
    const errors = fleet.lines.filter(({ level }) => level === "error");
    expect(errors).toMatchObject([
      { message: expect.stringContaining("does not replay"), fields: { runId: run.runId, error: expect.any(String) } },
    ]);
    // The run is as it was.
    expect([await fleet.clock.until(run.describe()), await fleet.clock.until(run.history())]).toEqual(before);
  });

  test("an output that is another one the second time", async () => {
    let calls = 0;
    const main = workflow("main", async () => ++calls);
    const { fleet, found, drained } = await checking({ workflows: [main] });
    expect(await fleet.result(await fleet.clock.until(fleet.client().start(main)))).toBe(1);
    await drained();
    expect(found).toMatchObject([{ error: { message: expect.stringContaining("returns another output") } }]);
  });

  test("code that does not come to its end the second time, or to another one", async () => {
    let calls = 0;
    const waits = workflow("waits", async (ctx) => {
      calls += 1;
      return calls === 1 ? "done" : ctx.receive(go);
    });
    const fails = workflow("fails", async () => {
      calls += 1;
      if (calls > 3) throw new Error("only now");
    });
    const { fleet, found, drained } = await checking({ workflows: [waits, fails] });
    await fleet.result(await fleet.clock.until(fleet.client().start(waits)));
    await fleet.clock.until(
      fleet
        .client()
        .start(fails)
        .then((run) => run.result()),
    );
    await drained();
    expect(found.map(({ error }) => error.message)).toEqual([
      expect.stringContaining("the run completed; when it is replayed, its code is waiting for"),
      expect.stringContaining("the run completed; when it is replayed, its code is failed"),
    ]);
  });
});

describe("a worker that verifies replays is quiet about", () => {
  test("code that does the same again, however its run ended", async () => {
    const job = task("job", (text: string) => `${text} done`);
    const child = workflow("child", async (_ctx, text: string) => new Map([[text, new Date(0)]]));
    let sideEffects = 0;
    const main = workflow("main", async (ctx, how: string): Promise<unknown> => {
      const random = [ctx.random(), ctx.uuid(), ctx.now(), ctx.sideEffect("side", () => ++sideEffects)];
      ctx.compensate("undo", () => {});
      const results = await ctx.parallel([(c) => c.task(job, "task"), (c) => c.child(child, "child")]);
      await ctx.sleep("nap", "1 minute");
      if (how === "fail") throw new Error("wanted");
      if (how === "again") return ctx.continueAsNew("end");
      if (how === "wait") await ctx.receive(go);
      return { random, results };
    });
    let attempts = 0;
    const retried = workflow({ name: "retried", retry: { attempts: 3, initial: "1s" } }, async (ctx) => {
      const fails = (): number => {
        attempts += 1;
        if (attempts < 3) throw new Error("not yet");
        return attempts;
      };
      const heard: string[] = [];
      ctx.on(add, (word) => heard.push(word));
      const step = await ctx.step("fails", fails, { retry: { attempts: 1 } });
      await ctx.until(() => heard.length > 0);
      return [step, ...heard];
    });
    const codec = encrypted({ current: "k", keys: { k: new Uint8Array(32).fill(7) } });
    const { fleet, found, counted, drained } = await checking(
      { workflows: [main, child, retried], tasks: [job] },
      { codec },
    );
    const client = fleet.client({ codec });
    for (const how of ["end", "fail", "again", "wait"]) await fleet.clock.until(client.start(main, how, { id: how }));
    await fleet.clock.until(client.start(main, "wait", { id: "late", timeout: "1 hour" }));
    await fleet.clock.until(client.get("again").result());
    await fleet.clock.until(client.get("wait").cancel());
    const again = await fleet.clock.until(client.start(retried));
    await fleet.clock.until(again.update(add, "word"));
    expect(await fleet.result(again)).toEqual([3, "word"]);
    const ends = ["end", "fail", "again", "wait", "late"].map((id) =>
      client
        .get(id)
        .result()
        .catch(() => {}),
    );
    await fleet.clock.until(Promise.all(ends));
    await drained();
    expect(found).toEqual([]);
    expect(counted.filter((line) => line === "main same 1")).toHaveLength(6);
    expect(counted).toContain("retried same 1");
    expect(fleet.lines.filter(({ level, message }) => level === "error" && message.includes("replay"))).toEqual([]);
  });

  test("a run whose code was never called", async () => {
    const main = workflow("main", async () => {});
    const { fleet, found, counted, drained } = await checking({ workflows: [main] });
    const run = await fleet.clock.until(fleet.client().start(main, undefined, { delay: "1 hour" }));
    await fleet.clock.until(run.cancel());
    await fleet.clock.until(run.result().catch(() => {}));
    await drained();
    expect([found, counted]).toEqual([[], []]);
  });
});

test("a sample of the runs is checked", async () => {
  const main = workflow("main", async (_ctx, n: number) => n);
  const { fleet, counted, drained } = await checking({ workflows: [main] }, {}, 0.2);
  const client = fleet.client();
  for (let n = 0; n < 100; n++) await fleet.clock.until(client.run(main, n));
  await drained();
  expect(counted.length).toBeGreaterThan(5);
  expect(counted.length).toBeLessThan(40);
});

test("nothing is read or replayed by a worker that does not verify", async () => {
  let calls = 0;
  const main = workflow("main", async () => ++calls);
  const fleet = openFleet();
  const worker = await fleet.worker({ workflows: [main] });
  await fleet.result(await fleet.clock.until(fleet.client().start(main)));
  await fleet.clock.until(worker.drain());
  expect(calls).toBe(1);
  expect(fleet.store.calls["histories.read"]).toBeUndefined();
});

test("a callback that throws is reported, and changes nothing", async () => {
  let calls = 0;
  const main = workflow("main", async () => ++calls);
  const fleet = openFleet();
  const onDivergence = (): void => {
    throw new Error("of my own");
  };
  const worker = await fleet.worker({ workflows: [main], verifyReplay: { onDivergence } });
  await fleet.result(await fleet.clock.until(fleet.client().start(main)));
  await fleet.clock.until(worker.drain());
  expect(fleet.lines).toContainEqual(
    expect.objectContaining({ level: "warn", message: "verifyReplay.onDivergence has thrown an error" }),
  );
});

test.each([0, 1.5, -1, Number.NaN, "all"])("a sample of %s is refused", async (sample) => {
  const main = workflow("main", async () => {});
  const client = openFleet().client();
  expect(() => client.worker({ workflows: [main], verifyReplay: { sample: sample as number } })).toThrow(
    expect.objectContaining({ code: "invalid_option", message: expect.stringContaining("above 0, up to 1") }),
  );
});
