import { type RunHandle, signal, workflow } from "holdfast";
import { testEngine } from "holdfast/testing";
import { expect, onTestFinished, test } from "vitest";

const go = signal<string>("go");

const echo = workflow("echo", (ctx) => ctx.receive(go));
const buggy = workflow("buggy", async (ctx) => {
  const said = await ctx.receive(go);
  return (said as unknown as { a: { b: string } }).a.b;
});

const STATES: Record<string, (run: RunHandle) => Promise<void>> = {
  waiting: async () => {},
  completed: (run) => run.signal(go, "now"),
  canceled: (run) => run.cancel(),
  terminated: (run) => run.terminate(),
  parked: (run) => run.signal(go, "now"),
};

test.each(Object.entries(STATES))(
  "retry() of a run that is %s is refused with run_not_failed",
  async (state, bring) => {
    const t = await testEngine({ workflows: [echo, buggy] });
    onTestFinished(() => t.close());
    const run = await t.client.start(state === "parked" ? buggy : echo, undefined, { id: "r" });
    await bring(run);
    await t.clock.advance("1s");
    await expect(run.retry()).rejects.toMatchObject({
      code: "run_not_failed",
      message: expect.stringContaining(`Run "r" cannot be retried: it is ${state}, not failed`),
      data: { id: "r", status: state },
    });
    expect(await run.status()).toBe(state);
  },
);
