import { type Context, signal, workflow } from "holdfast";
import { crashEverywhere, testEngine } from "holdfast/testing";
import { describe, expect, test } from "vitest";
import { openEngine, openFleet } from "../lab/fleet.ts";

const stop = signal<string>("stop");

const mailer = workflow("mailer", async (ctx) => {
  void ctx.step("send-mail", () => "sent");
  void ctx.sleep("a while", "1h");
  return "ok";
});

/** What is pending when a workflow returns, as the warning of a worker in production names it. */
async function warned(code: (ctx: Context) => Promise<unknown>): Promise<unknown> {
  const job = workflow("job", code);
  const fleet = openFleet();
  await fleet.worker({ workflows: [job] });
  const run = await fleet.client().start(job);
  await fleet.result(run).catch(() => {});
  const lines = fleet.lines.filter(({ level }) => level === "warn");
  expect(lines.length).toBeLessThanOrEqual(1);
  return (lines[0]?.fields as { ops?: unknown } | undefined)?.ops;
}

describe("a workflow that returns while ops are pending", () => {
  test("completes in production, with one warning that names them and says what to do", async () => {
    const fleet = openFleet();
    await fleet.worker({ workflows: [mailer] });
    const run = await fleet.client().start(mailer, undefined, { id: "m-1" });
    expect(await fleet.result(run)).toBe("ok");
    expect(fleet.lines.filter(({ level }) => level === "warn")).toEqual([
      {
        level: "warn",
        fields: { runId: run.runId, id: "m-1", workflow: "mailer", ops: ["send-mail", "a while"] },
        message: expect.stringMatching(/returned while .*step "send-mail", sleep "a while".*Await each/s),
      },
    ]);
  });

  test("fails in the test engine, with an error of its own that names the ops and where they were asked for", async () => {
    const t = await openEngine(mailer);
    const run = await t.client.start(mailer);
    const error = await run.result().catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      code: "forgotten_await",
      message: expect.stringMatching(
        /step "send-mail" \(.*forgotten-await\.test\.ts:9:\d+\).*sleep "a while" \(.*forgotten-await\.test\.ts:10:\d+\)/s,
      ),
      data: { ops: ["send-mail", "a while"] },
    });
    expect(await run.status()).toBe("failed");
    await expect(t.run(mailer)).rejects.toMatchObject({ code: "forgotten_await" });
  });

  test('completes in the test engine with onForgotten: "warn", and the warning is in its log', async () => {
    const lines: string[] = [];
    const quiet = (): void => {};
    const logger = {
      debug: quiet,
      info: quiet,
      error: quiet,
      warn: (_: object, line: string) => void lines.push(line),
    };
    const t = await testEngine({ workflows: [mailer], onForgotten: "warn", logger });
    expect(await t.run(mailer)).toBe("ok");
    expect(lines).toEqual([expect.stringContaining('step "send-mail"')]);
    await t.close();
  });

  test("is found by crashEverywhere, unless it is told to warn only", async () => {
    await expect(crashEverywhere(mailer, undefined)).rejects.toMatchObject({
      code: "forgotten_await",
      message: expect.stringMatching(/step "send-mail" \(.*forgotten-await\.test\.ts:9:\d+\)/),
    });
    expect(await crashEverywhere(mailer, undefined, { onForgotten: "warn" })).toMatchObject({ output: "ok" });
  });

  test("is told so about every kind of op, also one in a branch, and about the losers of a native Promise.race", async () => {
    expect(await warned(async (ctx) => void ctx.receive(stop))).toEqual(["receive:stop"]);
    expect(await warned((ctx) => Promise.race([ctx.step("work", () => 1), ctx.receive(stop)]))).toEqual([
      "receive:stop",
    ]);
    const inBranch = (ctx: Context): Promise<unknown> =>
      ctx.parallel([
        async (branch) => {
          void branch.sleep("nap", "1h");
        },
      ]);
    expect(await warned(inBranch)).toEqual(["nap"]);
  });

  test.for<{ name: string; code: (ctx: Context) => Promise<unknown> }>([
    {
      name: "the losers of ctx.race",
      code: (ctx) => ctx.race([() => ctx.step("a", () => 1), () => ctx.receive(stop)]),
    },
    {
      name: "a loser of ctx.race that is still being aborted, because it has a compensation",
      code: (ctx) =>
        ctx.race([
          async () => {
            await ctx.step("first", () => 1);
            await ctx.step("second", () => 1);
          },
          () => ctx.step("slow", () => new Promise(() => {}), { compensate: () => {}, timeout: "1h" }),
        ]),
    },
    {
      name: "what was canceled because another branch of ctx.parallel failed",
      code: (ctx) =>
        ctx
          .parallel([
            () => ctx.step("bad", () => Promise.reject(new Error("no")), { retry: "none" }),
            () => ctx.sleep("nap", "1h"),
          ])
          .catch(() => {}),
    },
    { name: "a step that is retired", code: async (ctx) => ctx.retired("gone") },
    {
      name: "what was pending when the function failed",
      code: (ctx) => Promise.all([ctx.sleep("nap", "1h"), Promise.reject(new Error("no"))]),
    },
  ])("is not blamed for $name", async ({ code }) => {
    expect(await warned(code)).toBeUndefined();
  });
});
