import type { Logger } from "../ports/logger.ts";
import { anyTurnOpen } from "../replay/turn-loop.ts";

/**
 * Workflow code may let a chain fail and look at it later. Node calls that an unhandled rejection and ends the process,
 * and with it every run on this worker. A rejection that surfaces while a turn is open is workflow code's: it is logged and
 * left alone. Any other is treated exactly as Node would treat it without us.
 */
export function guardRejections(log: Logger): () => void {
  const listener = (reason: unknown): void => {
    if (anyTurnOpen()) {
      log.debug({ error: String(reason) }, "a promise of workflow code failed while nobody was waiting for it");
      return;
    }
    const alone = process.listeners("unhandledRejection").every((other) => guards.has(other));
    if (alone) throw reason;
  };
  guards.add(listener);
  process.on("unhandledRejection", listener);
  return () => {
    guards.delete(listener);
    process.off("unhandledRejection", listener);
  };
}

const guards = new Set<unknown>();
