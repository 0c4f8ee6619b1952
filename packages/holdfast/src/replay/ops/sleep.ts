/** `ctx.sleep` and `ctx.sleepUntil`. History keeps the promised time, whatever the code says later. */
import { HoldfastError } from "../../errors/holdfast-error.ts";
import { requireDuration } from "../../errors/option-checks.ts";
import type { Duration } from "../../model/duration.ts";
import type { Scope } from "../context/scope.ts";
import type { MachineInside } from "../machine-inside.ts";
import type { OpModule } from "../op.ts";
import { PLAIN_OP } from "./plain-op.ts";

export const SLEEP: OpModule = {
  ...PLAIN_OP,
  kind: "sleep",
  events: { commands: ["timer_created"], notes: [], ends: ["timer_fired"] },
  rest: "sleeping",
  asked: (op, _name, { fireAt }, host) => host.createTimer(op, fireAt as number, true),
  fits: (_op, type) => type === "timer_fired",
  settle: (op) => op.resolve(undefined),
};

export function askSleep(machine: MachineInside, scope: Scope, name: string, duration: Duration): Promise<unknown> {
  machine.assertInTurn("ctx.sleep", name);
  const ms = requireDuration(duration, `sleep "${name}"`, "the duration");
  return machine.ask(SLEEP, name, scope, { fireAt: machine.timersFrom + ms });
}

export function askSleepUntil(machine: MachineInside, scope: Scope, name: string, date: Date): Promise<unknown> {
  machine.assertInTurn("ctx.sleepUntil", name);
  const time = date instanceof Date ? date.getTime() : Number.NaN;
  if (Number.isNaN(time))
    throw new HoldfastError(
      "invalid_option",
      `ctx.sleepUntil(${JSON.stringify(name)}): the second argument is not a valid Date.`,
    );
  return machine.ask(SLEEP, name, scope, { fireAt: time });
}
