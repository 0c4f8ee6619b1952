import { expect, test } from "vitest";
import { newMachine } from "../replay-properties/live-run.ts";

test("a sleep is never recorded to have ended early, even when the estimate of the store's clock has just been set back", () => {
  const machine = newMachine((ctx) => ctx.sleep("nap", "60ms"), []);
  machine.start();
  machine.close();
  const fireAt = machine.fresh[0]?.meta?.fireAt as number;
  machine.deliverLive({ type: "timer_fired", op: "nap" }, fireAt - 14);
  expect(machine.fresh.at(-1)).toMatchObject({ type: "timer_fired", at: fireAt });
  expect(machine.context.now().getTime()).toBe(fireAt);
});
