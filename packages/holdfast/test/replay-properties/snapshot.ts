import type { Outcome } from "../../src/replay/machine.ts";
import type { Op } from "../../src/replay/op.ts";
import type { RunMachine } from "../../src/replay/run-machine.ts";
import { describeError } from "./interpreter.ts";

/** All that must be the same whenever a machine has seen the same events, whether live or on replay. */
export interface Snapshot {
  readonly seq: number;
  /** How many observations the code had made. The log only grows, so its length says which part to compare. */
  readonly observations: number;
  /** One line for each thing to compare. */
  readonly state: string;
}

export function snapshotOf(machine: RunMachine, log: readonly string[]): Snapshot {
  const { cancelCause, compensating, root, turnAt } = machine;
  const signals = machine.signals.unreceived(machine.codec).map(({ name, messageId }) => `${name} ${messageId}`);
  const state = [
    `now ${turnAt}`,
    `canceled ${cancelCause} ${root.canceled?.message}, compensating ${compensating}`,
    `signals not received: ${signals.join(", ")}`,
    `outcome ${machine.outcome ? describeOutcome(machine.outcome) : "none"}`,
    ...machine.ops.pending().map(describeOp),
  ];
  return { seq: machine.seenSeq, observations: log.length, state: state.join("\n") };
}

function describeOutcome(outcome: Outcome): string {
  switch (outcome.type) {
    case "completed":
      return `completed ${JSON.stringify(outcome.value)}`;
    case "continued":
      return `continued ${JSON.stringify(outcome.input)}`;
    case "retried":
      return `retried ${describeError(outcome.error)}, forgets ${outcome.forgets}`;
    case "failed":
      return `failed ${describeError(outcome.error)}, compensation ${outcome.compensation}`;
  }
}

/** In the order in which they were asked for: cancellation reaches them in that order. */
function describeOp(op: Op): string {
  const step = op.step
    ? ` attempts failed ${op.step.failedAttempts}, started ${op.step.startedAttempt}, retry ${op.step.retryAt}, closing ${op.step.closing}`
    : "";
  return `pending ${op.kind} ${op.id} due ${op.fireAt} signal ${op.signalName}${step}`;
}
