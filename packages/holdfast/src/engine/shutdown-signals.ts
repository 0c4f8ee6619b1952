import type { Logger } from "../ports/logger.ts";

const SIGNALS = ["SIGTERM", "SIGINT"] as const;

/** Drains on the first SIGTERM or SIGINT; a second one ends the process the way it would without us. */
export function drainOnSignals(drain: () => Promise<void>, log: Logger): () => void {
  const onSignal = (signal: NodeJS.Signals): void => {
    stopListening();
    log.info({ signal }, "draining");
    drain().then(
      () => log.info({ signal }, "drained"),
      (error) => log.error({ signal, error: String(error) }, "draining failed"),
    );
  };
  const stopListening = (): void => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return stopListening;
}
