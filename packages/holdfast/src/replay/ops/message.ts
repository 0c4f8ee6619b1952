/**
 * `ctx.signal`, `ctx.cancel`, `ctx.resultOf`, and the same of a child's handle: something for another run. The driver calls the
 * store, under an id that follows from this run and the op, as often as it takes; the answer is one event.
 */
import { checkedNow } from "../../errors/checked-now.ts";
import { HoldfastError } from "../../errors/holdfast-error.ts";
import { invalidOption, requireName, requireReason } from "../../errors/option-checks.ts";
import { shownValue } from "../../errors/shown-value.ts";
import { ASK_PREFIX, RESULT_PREFIX } from "../../model/ids.ts";
import { idFault } from "../../model/names.ts";
import { EMPTY_PAYLOAD, type Payload } from "../../model/payload.ts";
import type { RunTarget, SignalDefinition } from "../context/context.ts";
import type { UpdateDefinition } from "../context/conversations.ts";
import { offeringOf, requireOffered } from "../context/offers.ts";
import type { Scope } from "../context/scope.ts";
import type { MachineInside } from "../machine-inside.ts";
import { type OpModule, rejectOp, withData } from "../op.ts";
import { type MessageContent, type MessageTarget, messageFor } from "./message-work.ts";
import { otherRunError } from "./other-run-error.ts";
import { PLAIN_OP } from "./plain-op.ts";
import type { ChildDefinition } from "./start-options.ts";

/** Names of ops are shorter than ids. */
const SHOWN_ID_LENGTH_MAX = 150;

export const MESSAGE: OpModule = {
  ...PLAIN_OP,
  kind: "message",
  events: { commands: [], notes: [], ends: ["message_sent", "message_failed"] },
  rest: "waiting",

  asked: (op, _name, _init, host) => host.handCall(op),

  fits: (_op, type) => type === "message_sent" || type === "message_failed",

  settle(op, { type, payload, meta = {} }, host) {
    if (type === "message_sent") {
      op.resolve(payload === undefined ? undefined : host.codec.decode(payload));
      return;
    }
    const { id, runId = "" } = meta.to ?? {};
    rejectOp(op, otherRunError(meta, { id: id ?? runId, runId, workflow: meta.workflow ?? "", op: op.id }));
  },
};

interface Asked {
  /** Whom the code has named. */
  readonly target: unknown;
  readonly to: MessageTarget;
  readonly content: MessageContent;
}

function ask(machine: MachineInside, scope: Scope, name: string, { target, to, content }: Asked): Promise<unknown> {
  return machine.ask(MESSAGE, name, scope, { message: messageFor(target, to, content) });
}

export function askSignal(
  machine: MachineInside,
  scope: Scope,
  call: string,
  target: RunTarget,
  signal: SignalDefinition<unknown, unknown>,
  given: unknown,
): Promise<void> {
  machine.assertInTurn(call, signal?.name);
  if (signal?.kind !== "signal")
    throw new HoldfastError(
      "invalid_option",
      `${call}: ${shownValue(signal)} is not a signal. Make one with signal("approve").`,
    );
  requireOffered(offeringOf(target), signal, call);
  const { name, schema } = signal;
  const to = readTarget(machine, call, target);
  const what = `payload of signal "${name}"`;
  const encode = (): Payload => {
    const checked = checkedNow(schema, given, "invalid_signal", what);
    // A signal without a payload only says that it arrived. Undefined would look like a timeout.
    return machine.codec.encode(checked === undefined ? true : checked, what);
  };
  return withData(encode, (payload) =>
    ask(machine, scope, `signal:${name}`, { target, to, content: { type: "signal", name, payload } }),
  ) as Promise<void>;
}

export function askUpdate(
  machine: MachineInside,
  scope: Scope,
  call: string,
  target: RunTarget,
  update: UpdateDefinition<unknown, unknown, unknown>,
  given: unknown,
): Promise<unknown> {
  machine.assertInTurn(call, update?.name);
  if (update?.kind !== "update")
    throw new HoldfastError(
      "invalid_option",
      `${call}: ${shownValue(update)} is not an update. Make one with update("add").`,
    );
  requireOffered(offeringOf(target), update, call);
  const { name, schema } = update;
  const to = readTarget(machine, call, target);
  const what = `argument of update "${name}"`;
  const encode = (): Payload => {
    const checked = checkedNow(schema, given, "invalid_input", what);
    return checked === undefined ? EMPTY_PAYLOAD : machine.codec.encode(checked, what);
  };
  return withData(encode, (payload) =>
    ask(machine, scope, `${ASK_PREFIX}${name}`, { target, to, content: { type: "update", name, payload } }),
  );
}

export function askCancel(
  machine: MachineInside,
  scope: Scope,
  call: string,
  target: RunTarget,
  reason: string | undefined,
): Promise<void> {
  machine.assertInTurn(call);
  const to = readTarget(machine, call, target);
  const content: MessageContent = { type: "cancel", reason: reason ?? "" };
  return withData(
    () => requireReason(reason, call),
    () => ask(machine, scope, opName("cancel:", to, machine), { target, to, content }),
  ) as Promise<void>;
}

export function askResult(
  machine: MachineInside,
  scope: Scope,
  definitionOrTarget: ChildDefinition | RunTarget,
  target: RunTarget | undefined,
): Promise<unknown> {
  const call = "ctx.resultOf";
  machine.assertInTurn(call);
  const definition = isDefinition(definitionOrTarget) ? definitionOrTarget : undefined;
  const named = definition ? (target as RunTarget) : (definitionOrTarget as RunTarget);
  const to = readTarget(machine, call, named);
  requireOther(machine, call, to);
  const content: MessageContent = { type: "result", workflow: definition?.name };
  return ask(machine, scope, opName(RESULT_PREFIX, to, machine), { target: named, to, content });
}

function isDefinition(value: ChildDefinition | RunTarget): value is ChildDefinition {
  return typeof value === "object" && value !== null && "kind" in value && value.kind === "workflow";
}

/** An id may be longer than a name, and may end as only ops do. That of a run elsewhere is another one's here. */
function opName(prefix: string, { id, namespace }: MessageTarget, { run }: MachineInside): string {
  const where = namespace === run.namespace ? "" : `${namespace}/`;
  return `${prefix}${`${where}${id}`.slice(0, SHOWN_ID_LENGTH_MAX).replace(/#(\d+)$/, "~$1")}`;
}

function readTarget({ run }: MachineInside, call: string, target: RunTarget): MessageTarget {
  const { namespace } = run;
  if (typeof target === "object" && target !== null) {
    requireTargetId(target.id, call);
    if (target.namespace !== undefined) requireName(target.namespace, `${call}: the namespace`);
    const named = { namespace: target.namespace ?? namespace, id: target.id };
    return "runId" in target ? { ...named, runId: target.runId } : named;
  }
  requireTargetId(target, call);
  return { namespace, id: target };
}

function requireTargetId(id: unknown, call: string): void {
  const fault = idFault(id);
  if (fault === undefined) return;
  const shown = typeof id === "string" ? `${shownValue(id)} ` : "";
  throw new HoldfastError("invalid_name", `${call}: the run's id ${shown}${fault}.`, { data: { call } });
}

/** While a run is open, its id means itself. */
function requireOther({ run }: MachineInside, call: string, { namespace, id, runId }: MessageTarget): void {
  if (namespace !== run.namespace || id !== run.id || (runId ?? run.runId) !== run.runId) return;
  const fault = `is run "${id}" itself, which would wait for its own end forever. Name another run`;
  throw invalidOption(call, "the target", fault);
}
