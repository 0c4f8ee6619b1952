/**
 * `ctx.receive`: the next signal of a name, from the buffer or from outside. Only its timeout is recorded, and it does not
 * bind: changed code may add a timeout or remove it.
 *
 * Receives of a signal are numbered as the code asks for them. A signal that nobody waits for yet takes the number of the receive
 * that will get it, so its event can say which one that is.
 */
import { HoldfastError } from "../../errors/holdfast-error.ts";
import { checkedLater, checkOptions, requireDuration } from "../../errors/option-checks.ts";
import { shownValue } from "../../errors/shown-value.ts";
import type { Duration } from "../../model/duration.ts";
import { type EventDraft, type HistoryEvent, opOf } from "../../model/event.ts";
import { opNumber, RECEIVE_PREFIX, receiveId } from "../../model/ids.ts";
import { EMPTY_PAYLOAD } from "../../model/payload.ts";
import { unreadable } from "../code/unreadable.ts";
import type { SignalDefinition } from "../context/context.ts";
import { requireListed } from "../context/offers.ts";
import type { Scope } from "../context/scope.ts";
import type { MachineInside } from "../machine-inside.ts";
import type { Op, OpModule } from "../op.ts";
import { PLAIN_OP } from "./plain-op.ts";
import { receivedValue, type SignalWitness } from "./signal-buffer.ts";

type Receiving = Pick<MachineInside, "signals" | "ops" | "edits">;

/** What comes now is recorded behind every fork. */
const NOW = Number.POSITIVE_INFINITY;

const RECEIVE_OPTIONS = { timeout: checkedLater };

export const RECEIVE: OpModule = {
  ...PLAIN_OP,
  kind: "receive",
  events: { commands: ["timer_created", "signal_handed_on"], notes: [], ends: ["timer_fired", "signal_received"] },
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
  const number = machine.signals.firstNumber(name);
  if (number !== undefined && number < machine.ops.nextNumber(RECEIVE_PREFIX + name)) {
    const receiver = machine.ownerOf(scope);
    if (receiver.cancellation() === null) return taken(machine, name, receiver);
  }
  const fireAt = timeout === undefined ? undefined : machine.timersFrom + timeout;
  return machine.ask(RECEIVE, name, scope, { signalName: name, fireAt });
}

/** A signal says which receive gets it: the first that waits, or the next that the code asks for. */
export function addressed(machine: Receiving, draft: EventDraft): EventDraft {
  if (draft.type !== "signal_received" || draft.meta?.edited) return draft;
  const name = draft.op as string;
  const waiting = machine.signals.firstWaiting(name);
  const receive = waiting
    ? opNumber(waiting.id)
    : machine.ops.peekReserved(RECEIVE_PREFIX + name, (id) => isDecided(machine, id, NOW));
  return receive === 1 ? draft : { ...draft, meta: { ...draft.meta, receive } };
}

/**
 * A signal has come. It goes to that receive, or is kept for it if the code has not asked for it yet. What whoever forked the run
 * has decided is for one receive, whatever else waits.
 */
export function receiveSignal(
  machine: Receiving & SignalWitness,
  event: HistoryEvent,
): { readonly op: Op | undefined; readonly id: string } {
  const { signals, ops } = machine;
  if (event.meta?.edited) return { op: ops.get(opOf(event)), id: opOf(event) as string };
  const name = event.op as string;
  const op = signals.firstWaiting(name);
  const number = op ? opNumber(op.id) : ops.reserve(RECEIVE_PREFIX + name, (id) => isDecided(machine, id, event.seq));
  signals.receive(event, number, machine);
  return { op, id: receiveId(name, number) };
}

/** What the receive resolves with that a signal has come for. */
export function valueFor({ scope }: Op, { op, meta, payload }: HistoryEvent, machine: MachineInside): unknown {
  if (meta?.edited) return receivedValue(payload ?? EMPTY_PAYLOAD, machine.codec);
  return machine.signals.take(op as string, machine.codec, scope);
}

/**
 * Signals that were given back go to receives that wait for them, in the turn in which that happened. Which it is follows from
 * history: its event is for people, and replay does not need it.
 */
export function handOn(machine: MachineInside): void {
  for (const op of machine.signals.waitingInVain()) {
    const name = op.signalName as string;
    const number = machine.signals.firstNumber(name);
    // A signal that has a later number is kept for that receive, because those before it are decided.
    if (number === undefined || number >= machine.ops.nextNumber(RECEIVE_PREFIX + name)) continue;
    if (isDecided(machine, op.id, machine.seenSeq)) continue;
    machine.release(op);
    noteHandedOn(machine, op, number);
    op.resolve(taken(machine, name, op.scope));
  }
}

/** Code that has ended does nothing any more, and nothing may stand behind its end. */
function noteHandedOn(machine: MachineInside, { id, scope }: Op, number: number): void {
  if (machine.outcome) return;
  machine.command({
    type: "signal_handed_on",
    op: id,
    meta: { ...(number === 1 ? {} : { receive: number }), ...scope.branch },
  });
}

/** Whoever forked the run had decided how it ends when that event was recorded: no signal is for it. */
function isDecided({ edits }: Receiving, id: string, seq: number): boolean {
  return edits?.decides(id, seq) ?? false;
}

function taken(machine: MachineInside, name: string, receiver: Scope): Promise<unknown> {
  try {
    return Promise.resolve(machine.signals.take(name, machine.codec, receiver));
  } catch (error) {
    return unreadable(machine, error);
  }
}
