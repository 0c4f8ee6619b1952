/**
 * `ctx.withLock`: a function that runs while the run holds a lock. The commit with the request puts it in line; that it is granted
 * is an event, and so is that the code has left. What happens in between is ordinary workflow code.
 */
import { HoldfastError } from "../../errors/holdfast-error.ts";
import { checkedLater, checkOptions, isFunction, requireDuration, wholeNumber } from "../../errors/option-checks.ts";
import type { Duration } from "../../model/duration.ts";
import type { EventMeta } from "../../model/event.ts";
import { LOCK_PREFIX } from "../../model/ids.ts";
import { LOCK_LIMIT_MAX } from "../../model/lock.ts";
import type { HeldLock, LockOptions } from "../context/context.ts";
import type { Scope } from "../context/scope.ts";
import type { MachineInside } from "../machine-inside.ts";
import { type OpModule, quiet, rejectOp } from "../op.ts";
import { LockWork } from "./lock-work.ts";
import { PLAIN_OP } from "./plain-op.ts";

const LOCK_OPTIONS = { limit: wholeNumber(1, LOCK_LIMIT_MAX), timeout: checkedLater };

export const LOCK: OpModule = {
  ...PLAIN_OP,
  kind: "lock",
  events: {
    commands: ["lock_requested", "lock_released"],
    notes: ["op_rescheduled"],
    ends: ["lock_granted", "timer_fired"],
  },
  prefix: LOCK_PREFIX,
  rest: "waiting",

  asked(op, _name, { fireAt }, host) {
    const work = op.lock as LockWork;
    const meta: EventMeta = { limit: work.limit, ...(fireAt === undefined ? {} : { fireAt }), ...op.scope.branch };
    const event = host.command({ type: "lock_requested", op: op.id, meta });
    // None if the code has diverged: then nothing happens any more.
    if (!event) return;
    work.requested(event, op.scope);
    host.locks.add(work);
    // History keeps the promised time, whatever the code says now.
    if (event.meta?.fireAt !== undefined) host.addTimer(op, event.meta.fireAt);
  },

  fits: ({ fireAt }, type) => type === "lock_granted" || (type === "timer_fired" && fireAt !== undefined),

  settle(op, { type, meta }) {
    const { name } = op.lock as LockWork;
    if (type === "timer_fired")
      return rejectOp(op, new HoldfastError("lock_timeout", timeoutText(name), { data: { name } }));
    op.lock?.granted(meta?.fence ?? 0);
    op.resolve(undefined);
  },

  shown: ({ fireAt }) => (fireAt === undefined ? "lock without a timeout" : "lock"),
};

export function runWithLock(
  machine: MachineInside,
  scope: Scope,
  name: string,
  options: LockOptions | undefined,
  fn: (lock: HeldLock) => unknown,
): Promise<unknown> {
  machine.assertInTurn("ctx.withLock", name);
  const where = `ctx.withLock(${JSON.stringify(name)})`;
  if (options !== undefined) checkOptions(options, LOCK_OPTIONS, where);
  isFunction(fn, where, "the last argument");
  const timeout =
    options?.timeout === undefined ? undefined : requireDuration(options.timeout as Duration, where, "timeout");
  const around = machine.locks.around(name, machine.ownerOf(scope));
  if (around) return quiet(Promise.reject(heldError(name, around)));
  const lock = new LockWork(name, options?.limit ?? 1);
  const fireAt = timeout === undefined ? undefined : machine.timersFrom + timeout;
  return quiet(inside(machine, lock, machine.ask(LOCK, name, scope, { lock, fireAt }), fn));
}

async function inside(
  machine: MachineInside,
  lock: LockWork,
  granted: Promise<unknown>,
  fn: (lock: HeldLock) => unknown,
): Promise<unknown> {
  try {
    await granted;
    return await fn(handleOf(lock));
  } finally {
    leave(machine, lock);
  }
}

/** The fence is read when it is needed: a lock that was regained has another one. */
function handleOf(lock: LockWork): HeldLock {
  return {
    get fence() {
      return lock.fence;
    },
  };
}

/** With its end a run gives back all of its locks. */
function leave(machine: MachineInside, lock: LockWork): void {
  if (!machine.locks.remove(lock) || machine.outcome || machine.divergence) return;
  machine.assertInTurn("the end of ctx.withLock", lock.name);
  machine.command({ type: "lock_released", op: lock.op, meta: { request: lock.seq } });
}

function heldError(name: string, { entered, op }: LockWork): HoldfastError {
  const state = entered ? "holds lock" : "already waits for lock";
  const message = `This part of the run ${state} "${name}" (op "${op}"), and would wait for itself forever. Leave the first ctx.withLock before the second, or run them in separate branches of ctx.parallel.`;
  return new HoldfastError("lock_held", message, { data: { name, op } });
}

function timeoutText(name: string): string {
  return `Lock "${name}" was not granted in time. Try again later, or look at who holds it with hf.locks.list("${name}").`;
}
