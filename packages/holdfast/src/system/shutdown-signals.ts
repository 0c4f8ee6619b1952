/**
 * SIGTERM and SIGINT drain the workers that asked for it. They share one listener, because a signal is meant for all of
 * them, and because a second signal must be distinguished from an echo of the first: a terminal sends Ctrl-C to the whole
 * process group, and launchers such as npm forward it.
 */
import type { Clock } from "../ports/clock.ts";
import type { Logger } from "../ports/logger.ts";

const SIGNALS = ["SIGTERM", "SIGINT"] as const;
const ECHO_MS = 250;

export interface SignaledWorker {
  drain(): Promise<void>;
  stop(): Promise<void>;
  /** It has drained on a signal: the process must end. */
  leave(): void;
}

interface SignalPorts {
  readonly clock: Clock;
  readonly log: Logger;
}

const waiting = new Map<SignaledWorker, SignalPorts>();
const draining = new Set<SignaledWorker>();
let last: { readonly clock: Clock; readonly at: number } | undefined;
let listening = false;

/** Until the returned function is called. */
export function drainOnSignals(worker: SignaledWorker, ports: SignalPorts): () => void {
  waiting.set(worker, ports);
  if (!listening) for (const signal of SIGNALS) process.on(signal, onSignal);
  listening = true;
  return () => {
    waiting.delete(worker);
    draining.delete(worker);
    // A worker that drains quickly must not leave the process without a listener when the echo arrives.
    if (isEcho()) last?.clock.setTimer(ECHO_MS, forgetIfIdle).unref?.();
    else forgetIfIdle();
  };
}

/** Calls back each time nothing is left that keeps the process alive; the returned function cancels that. */
export function onIdleProcess(callback: () => void): () => void {
  process.on("beforeExit", callback);
  return () => void process.off("beforeExit", callback);
}

function onSignal(signal: NodeJS.Signals): void {
  if (waiting.size === 0) return onRepeated(signal);
  for (const [worker, { clock, log }] of waiting) {
    last = { clock, at: clock.monotonic() };
    draining.add(worker);
    const drained = worker.drain().then(() => worker.leave());
    drained.catch((error: unknown) => log.error({ signal, error: String(error) }, "draining failed"));
  }
  waiting.clear();
}

/** A second signal: the process ends as it would without us; if there are other listeners, only our part of it ends. */
function onRepeated(signal: NodeJS.Signals): void {
  if (isEcho()) return;
  if (process.listenerCount(signal) > 1) for (const worker of draining) void worker.stop().catch(() => {});
  else {
    forget();
    process.kill(process.pid, signal);
  }
}

function isEcho(): boolean {
  return last !== undefined && last.clock.monotonic() - last.at < ECHO_MS;
}

function forgetIfIdle(): void {
  if (waiting.size + draining.size === 0) forget();
}

function forget(): void {
  for (const signal of SIGNALS) process.off(signal, onSignal);
  listening = false;
  last = undefined;
}
