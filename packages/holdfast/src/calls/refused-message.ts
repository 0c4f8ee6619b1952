import { HoldfastError } from "../errors/holdfast-error.ts";
import type { RunStatus } from "../model/run.ts";

/** Why a run does not take a message, in the words of everybody who sends one. */
export function runNotFound(id: string, namespace: string): HoldfastError {
  const message = `There is no run "${id}" in namespace "${namespace}".`;
  return new HoldfastError("run_not_found", message, { data: { id, namespace } });
}

export function runClosed(id: string, status: RunStatus | null | undefined, more: object = {}): HoldfastError {
  const message = `Run "${id}" is ${status}; it accepts no more messages.`;
  return new HoldfastError("run_closed", message, { data: { id, status, ...more } });
}

export function inboxFull(id: string, more: object = {}): HoldfastError {
  const message = `Run "${id}" has too many messages that it has not received yet. Try again later.`;
  return new HoldfastError("too_many_signals", message, { data: { id, ...more } });
}
