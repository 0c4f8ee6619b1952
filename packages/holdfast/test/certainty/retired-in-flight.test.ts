import { expect, test } from "vitest";
import { signal, workflow } from "../../src/define/definitions.ts";
import { replay } from "../../src/testing/replay.ts";

const go = signal<string>("go");
const at = "2026-01-04T08:00:00.000Z";
const started = { seq: 0, type: "run_started", category: "workflow", op: null, at, value: undefined } as const;
const sent = (seq: number, messageId: string) =>
  ({ seq, type: "signal_received", category: "signal", op: "go", at, value: messageId, messageId }) as const;

test("a step that was running when it was retired does not park a run that had got a signal meanwhile", async () => {
  const code = workflow("parcel", async (ctx) => {
    ctx.retired("pack"); // the step that stood here was running, so history knows nothing of it
    await ctx.sleep("rest", "1 hour");
    return ctx.receive(go);
  });
  expect(await replay(code, [started, sent(1, "m1")])).toEqual({ pending: ["pack", "rest"] });
});

test("code that no longer waits for a retired step may wait for a signal that came while the step ran", async () => {
  const code = workflow("parcel", async (ctx) => {
    ctx.retired("pack");
    return ctx.receive(go, { timeout: "1 hour" });
  });
  // With the step in place the signal had come before anybody waited for it: no timer was made.
  const packed = { seq: 2, type: "step_completed", category: "step", op: "pack", at } as const;
  expect(await replay(code, [started, sent(1, "m1"), packed])).toEqual({ output: "m1" });
});
