/**
 * Updates that a run has accepted. `update_accepted` opens a turn in which the handler begins; when it settles, it records
 * `update_completed`, a command like any other. What the caller gets follows from these events alone.
 */
import { toErrorRecord } from "../../errors/error-record.ts";
import { HoldfastError, isHoldfastError } from "../../errors/holdfast-error.ts";
import { readText } from "../../errors/safe-read.ts";
import type { EventDraft, HistoryEvent } from "../../model/event.ts";
import { UPDATE_PREFIX } from "../../model/ids.ts";
import type { Payload } from "../../model/payload.ts";
import type { Codec } from "../../ports/codec.ts";
import { unreadable } from "../code/unreadable.ts";
import { foreignAwaitError } from "../code/workflow-call.ts";
import type { UpdateHandler } from "../context/conversations.ts";
import { type Handlers, handlerNotFound } from "../handlers.ts";
import type { Machine, MachineParams } from "../machine.ts";
import type { MachineInside } from "../machine-inside.ts";
import type { OpEvents } from "../op.ts";
import type { OpTable } from "../op-table.ts";

export const UPDATE_KIND: OpEvents = {
  commands: ["update_completed"],
  notes: ["update_rejected"],
  ends: ["update_accepted"],
};

/** The name of the update, from the id of its op: `update:add#2`. */
export function updateName(op: string): string {
  return op.slice(UPDATE_PREFIX.length).replace(/#\d+$/, "");
}

/** The answers that were recorded before the run was tried again, by op: handlers may have to answer once more. */
export function answersBeforeRetry(recorded: readonly HistoryEvent[]): ReadonlyMap<string | null, HistoryEvent> {
  const answers = new Map<string | null, HistoryEvent>();
  const retried = recorded.findLastIndex(({ type }) => type === "run_retried");
  for (const event of recorded.slice(0, retried + 1))
    if (event.type === "update_completed" && !answers.has(event.op)) answers.set(event.op, event);
  return answers;
}

type Judging = Pick<Machine, "run" | "outcome" | "cancelCause" | "compensating"> & {
  readonly codec: Codec;
  readonly ops: OpTable;
};

/**
 * Decides about an update while the code is at rest: the event that it becomes, or why it is refused. Never called on replay:
 * what was accepted stays accepted.
 */
export function judgeUpdate(machine: Judging, handlers: Handlers, draft: EventDraft): EventDraft | HoldfastError {
  const { run, outcome, cancelCause, compensating } = machine;
  const name = draft.op as string;
  const { id, runId } = run;
  const about = { data: { id, runId, name } };
  if (outcome) return new HoldfastError("run_closed", `Run "${id}" has ended; it accepts no more updates.`, about);
  if (cancelCause !== undefined || compensating) {
    const message = `Run "${id}" is being wound up; it accepts no more updates.`;
    return new HoldfastError("run_closed", message, about);
  }
  if (!handlers.update(name)) return handlerNotFound(run, "update", name, handlers.updateNames);
  const refusal = refusalOf(handlers, name, draft.payload, machine.codec);
  if (!refusal) return { ...draft, op: machine.ops.peekId(name, UPDATE_PREFIX) };
  const why = readText(refusal.error, "message") ?? String(refusal.error);
  const message = `Run "${id}" rejects update "${name}": ${why}`;
  return new HoldfastError("update_rejected", message, { ...about, cause: refusal.error });
}

function refusalOf(handlers: Handlers, name: string, payload: Payload | undefined, codec: Codec) {
  try {
    return handlers.refusal(name, payload === undefined ? undefined : codec.decode(payload));
  } catch (error) {
    // A worker that has the key will judge it: the run is parked, and the update stays where it is.
    if (isHoldfastError(error, "codec_key_missing")) throw error;
    // Bytes that nobody can read.
    return { error };
  }
}

/** The handler of an update that was accepted, and whose op begins now. */
export function acceptedUpdate(ops: OpTable, handlers: Handlers | undefined, op: string): UpdateHandler | undefined {
  const name = updateName(op);
  const handler = handlers?.update(name);
  if (handler) ops.nextId(name, UPDATE_PREFIX, true);
  return handler;
}

/** Calls the handler, in the turn that the event has opened, and records its answer when it settles. */
export function handleUpdate(
  machine: MachineInside,
  event: HistoryEvent,
  handler: UpdateHandler,
  record: MachineParams["record"] = (error) => toErrorRecord(error),
): void {
  const { codec } = machine;
  const op = event.op as string;
  const where = `result of update "${updateName(op)}"`;
  const { messageId, number } = event.meta ?? {};
  const meta = number === undefined ? {} : { number };
  if (messageId !== undefined && number !== undefined) machine.noteUpdate(number, messageId);
  const draft: EventDraft = { type: "update_completed", op, meta };
  const failed = (error: unknown): EventDraft => ({ ...draft, meta: { ...meta, error: record(error) } });
  const complete = (answer: () => EventDraft): void => {
    if (machine.outcome || machine.divergence) return;
    if (!machine.inTurn) return machine.violate(foreignAwaitError(machine.run, undefined));
    machine.command(draft, true, answer);
  };
  let argument: unknown;
  try {
    argument = event.payload === undefined ? undefined : codec.decode(event.payload);
  } catch (error) {
    return void unreadable(machine, error);
  }
  const call = (): Promise<unknown> => new Promise((resolve) => resolve(handler.handle(argument)));
  machine.within(machine.root, call).then(
    (value) =>
      complete(() => {
        try {
          return { ...draft, payload: codec.encode(value, where) };
        } catch (error) {
          return failed(error);
        }
      }),
    (error: unknown) => complete(() => failed(error)),
  );
}
