/**
 * `ctx.until`: waits until a predicate about the state of the code is true. Predicates are called when the code has come to
 * rest, in the order of asking; the first that is true resolves, the code runs on in the same turn, and they are called
 * again. So a turn ends only when none is true, and replay, which rests at the same points, comes to the same answers. Only
 * the timeout is recorded, and like that of a receive it does not bind.
 */
import { checkedLater, checkOptions, isFunction, requireDuration } from "../../errors/option-checks.ts";
import type { Duration } from "../../model/duration.ts";
import { UNTIL_PREFIX } from "../../model/ids.ts";
import type { Scope } from "../context/scope.ts";
import type { MachineInside } from "../machine-inside.ts";
import { type Op, type OpModule, rejectOp } from "../op.ts";
import { PLAIN_OP } from "./plain-op.ts";

const UNTIL_OPTIONS = { timeout: checkedLater };

/** They have no names of their own: `until:condition`, `until:condition#2`. */
const NAME = "condition";

export type Predicate = () => unknown;

export const CONDITION: OpModule = {
  ...PLAIN_OP,
  kind: "condition",
  events: { commands: ["timer_created"], notes: [], ends: ["timer_fired"] },
  prefix: UNTIL_PREFIX,
  leavesRecord: false,
  rest: "waiting",

  asked(op, _name, { fireAt, predicate }, host) {
    if (fireAt !== undefined) host.createTimer(op, fireAt, false);
    host.addCondition(op, predicate as Predicate);
  },

  fits: ({ fireAt }, type) => type === "timer_fired" && fireAt !== undefined,
  settle: (op) => op.resolve(false),
  released: (op, host) => host.dropCondition(op),
  shown: ({ fireAt }) => (fireAt === undefined ? "until without a timeout" : "until"),
};

export function askUntil(
  machine: MachineInside,
  scope: Scope,
  predicate: Predicate,
  options: { readonly timeout?: Duration } | undefined,
): Promise<unknown> {
  machine.assertInTurn("ctx.until");
  isFunction(predicate, "ctx.until", "the first argument");
  if (options !== undefined) checkOptions(options, UNTIL_OPTIONS, "ctx.until");
  const timeout = options?.timeout === undefined ? undefined : requireDuration(options.timeout, "ctx.until", "timeout");
  const fireAt = timeout === undefined ? undefined : machine.timersFrom + timeout;
  return machine.ask(CONDITION, NAME, scope, { predicate, fireAt });
}

/** The pending conditions of a run, in the order of asking. */
export type Conditions = Map<Op, Predicate>;

/** Whether any of them is no longer false, although the code has not run since it came to rest. */
export function hasChanged(conditions: Conditions, call: (predicate: Predicate) => unknown): boolean {
  for (const predicate of conditions.values()) {
    try {
      if (call(predicate)) return true;
    } catch {
      return true;
    }
  }
  return false;
}

/** The code has come to rest: resolves the first condition that is true, or rejects the first that throws. */
export function settleFirst(
  conditions: Conditions,
  call: (predicate: Predicate) => unknown,
  release: (op: Op) => void,
): boolean {
  for (const [op, predicate] of conditions) {
    try {
      if (!call(predicate)) continue;
      release(op);
      op.resolve(true);
    } catch (error) {
      release(op);
      rejectOp(op, error);
    }
    return true;
  }
  return false;
}
