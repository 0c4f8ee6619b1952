/**
 * `ctx.receive`: the next signal of a name, from the buffer or from outside. Only its timeout is recorded, and it does not
 * bind: changed code may add a timeout or remove it.
 */
import { HoldfastError } from "../../errors/holdfast-error.ts";
import { checkedLater, checkOptions, requireDuration } from "../../errors/option-checks.ts";
import { shownValue } from "../../errors/shown-value.ts";
import type { Duration } from "../../model/duration.ts";
import { RECEIVE_PREFIX } from "../../model/ids.ts";
import { unreadable } from "../code/unreadable.ts";
import type { SignalDefinition } from "../context/context.ts";
import { requireListed } from "../context/offers.ts";
import type { Scope } from "../context/scope.ts";
import type { MachineInside } from "../machine-inside.ts";
import type { OpModule } from "../op.ts";
import { PLAIN_OP } from "./plain-op.ts";

const RECEIVE_OPTIONS = { timeout: checkedLater };

export const RECEIVE: OpModule = {
  ...PLAIN_OP,
  kind: "receive",
  events: { commands: ["timer_created"], notes: [], ends: ["timer_fired", "signal_received"] },
  prefix: RECEIVE_PREFIX,
  leavesRecord: false,
  rest: "waiting",

  asked(op, _name, { fireAt }, host) {
    if (fireAt !== undefined) host.createTimer(op, fireAt, false);
    host.waitForSignal(op);
  },

  // A signal has a name and is not for one particular receive: the buffer knows which of them is first.
  fits: ({ fireAt }, type) => type === "timer_fired" && fireAt !== undefined,
  settle: (op) => op.resolve(undefined),
  released: (op, host) => host.stopWaitingForSignal(op),
  shown: ({ fireAt }) => (fireAt === undefined ? "receive without a timeout" : "receive"),
};

export function askReceive(
  machine: MachineInside,
  scope: Scope,
  signal: SignalDefinition<unknown, unknown>,
  options: { readonly timeout: Duration } | undefined,
): Promise<unknown> {
  machine.assertInTurn("ctx.receive", signal?.name);
  if (signal?.kind !== "signal")
    throw new HoldfastError(
      "invalid_option",
      `ctx.receive: the first argument is ${shownValue(signal)}, not a signal. Make one with signal("approve").`,
    );
  const { name } = signal;
  requireListed(machine.code.offering, signal, "ctx.receive");
  if (options !== undefined) checkOptions(options, RECEIVE_OPTIONS, `receive "${name}"`);
  const timeout =
    options?.timeout === undefined ? undefined : requireDuration(options.timeout, `receive "${name}"`, "timeout");
  if (machine.signals.has(name)) {
    const receiver = machine.ownerOf(scope);
    if (receiver.cancellation() === null) return taken(machine, name, receiver);
  }
  const fireAt = timeout === undefined ? undefined : machine.timersFrom + timeout;
  return machine.ask(RECEIVE, name, scope, { signalName: name, fireAt });
}

function taken(machine: MachineInside, name: string, receiver: Scope): Promise<unknown> {
  try {
    return Promise.resolve(machine.signals.take(name, machine.codec, receiver));
  } catch (error) {
    return unreadable(machine, error);
  }
}
