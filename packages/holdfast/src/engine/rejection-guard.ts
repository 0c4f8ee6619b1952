import { isHoldfastError } from "../errors/holdfast-error.ts";
import { describeValue } from "../errors/safe-read.ts";
import type { Logger } from "../ports/logger.ts";
import { anyTurnOpen } from "../replay/turn-loop.ts";

const guards = new Set<{ readonly log: Logger }>();

/**
 * Workflow code may let a chain fail and look at it later. Node calls that an unhandled rejection and ends the process,
 * and with it every run on this worker. A rejection that surfaces while a turn is open is workflow code's, and so is the
 * refusal of a ctx call that came at the wrong time: it is logged and left alone, the run is dealt with elsewhere. Any other
 * is treated exactly as Node would treat it without us.
 */
export function guardRejections(log: Logger): () => void {
  const guard = { log };
  if (guards.size === 0) process.on("unhandledRejection", onUnhandledRejection);
  guards.add(guard);
  return () => {
    guards.delete(guard);
    if (guards.size === 0) process.off("unhandledRejection", onUnhandledRejection);
  };
}

function onUnhandledRejection(reason: unknown): void {
  if (anyTurnOpen() || isHoldfastError(reason, "outside_turn") || isHoldfastError(reason, "run_ended")) {
    const error = describeValue(reason);
    for (const { log } of guards)
      log.debug({ error }, "a promise of workflow code failed while nobody was waiting for it");
  } else if (process.listenerCount("unhandledRejection") === 1) throw reason;
}
