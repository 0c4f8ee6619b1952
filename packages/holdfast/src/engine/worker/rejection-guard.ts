/**
 * Workflow code may let a chain fail and look at it later. Node calls that an unhandled rejection and ends the process, and
 * with it every run on this worker. A rejection that surfaces during a turn belongs to workflow code, and so does the
 * refusal of a ctx call that came at the wrong time: the guard ignores both, and the run is handled elsewhere. Node's own
 * rules apply to any other rejection.
 *
 * A chain that is never awaited was forgotten, and its error with it. So it is logged: not at once, since the code may still
 * await it, but once it has remained unhandled from one report to the next; and only once for each place in the code.
 */
import { isHoldfastError } from "../../errors/holdfast-error.ts";
import { describeValue, isInstance, readText } from "../../errors/safe-read.ts";
import type { Logger } from "../../ports/logger.ts";
import { placeIn } from "../../replay/code/call-site.ts";
import { ContinueAsNew } from "../../replay/context/context.ts";
import { anyTurnOpen } from "../../replay/turn-loop.ts";

/** At most this many forgotten chains, and places of them, are remembered. */
const REMEMBERED_MAX = 1_000;

/** Refusals and cancellations, which the run itself reports. */
const TOLD_ELSEWHERE = ["outside_turn", "run_ended", "run_canceled", "run_timed_out", "op_canceled"];

interface Loose {
  readonly error: string;
  readonly place: string | undefined;
  /** The guard that has seen it unhandled before. */
  seenBy: Guard | undefined;
}

/** By their promises. */
const loose = new Map<Promise<unknown>, Loose>();
const told = new Set<string>();
/** Weak: a worker that is no longer referenced, like those of a simulated crash, never stops. */
const guards = new Set<WeakRef<Guard>>();

/** Keeps the rejections of workflow code from ending the process, until the guard is ended. One per worker. */
export class Guard {
  readonly #log: Logger;
  readonly #ref = new WeakRef<Guard>(this);

  constructor(log: Logger) {
    this.#log = log;
    if (guards.size === 0) {
      process.on("unhandledRejection", onUnhandledRejection);
      process.on("rejectionHandled", onRejectionHandled);
    }
    guards.add(this.#ref);
  }

  /** Logs what has remained unhandled since the last report. */
  report(): void {
    for (const [promise, one] of loose) {
      if (one.seenBy === this) this.#tell(promise, one);
      else one.seenBy ??= this;
    }
  }

  end(): void {
    guards.delete(this.#ref);
    for (const [promise, one] of loose) {
      if (guards.size === 0) this.#tell(promise, one);
      else if (one.seenBy === this) one.seenBy = undefined;
    }
    if (guards.size > 0) return;
    process.off("unhandledRejection", onUnhandledRejection);
    process.off("rejectionHandled", onRejectionHandled);
  }

  debug(error: string): void {
    this.#log.debug({ error }, "a promise of workflow code failed while no code was waiting for it");
  }

  #tell(promise: Promise<unknown>, { error, place }: Loose): void {
    loose.delete(promise);
    const key = place ?? error;
    if (told.has(key) || told.size >= REMEMBERED_MAX) return;
    told.add(key);
    const at = place === undefined ? "" : ` (${place})`;
    this.#log.warn(
      { error, ...(place === undefined ? {} : { place }) },
      `Workflow code called something that failed, and never awaited it: ${error}${at}. Await the call, or handle its error.`,
    );
  }
}

function onUnhandledRejection(reason: unknown, promise: Promise<unknown>): void {
  const code = isHoldfastError(reason) ? reason.code : undefined;
  if (!anyTurnOpen() && code !== "outside_turn" && code !== "run_ended") {
    if (process.listenerCount("unhandledRejection") === 1) throw reason;
    return;
  }
  const error = describeValue(reason);
  for (const ref of guards) {
    const guard = ref.deref();
    if (guard) guard.debug(error);
    else guards.delete(ref);
  }
  const expected = (code !== undefined && TOLD_ELSEWHERE.includes(code)) || isInstance(reason, ContinueAsNew);
  if (expected || loose.size >= REMEMBERED_MAX) return;
  const stack = readText(reason, "stack");
  loose.set(promise, { error, place: stack === undefined ? undefined : placeIn(stack), seenBy: undefined });
}

function onRejectionHandled(promise: Promise<unknown>): void {
  loose.delete(promise);
}
