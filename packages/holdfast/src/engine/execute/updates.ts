import type { ErrorRecordOptions } from "../../errors/error-record.ts";
import { type HoldfastError, isHoldfastError } from "../../errors/holdfast-error.ts";
import type { ErrorRecord } from "../../model/error-record.ts";
import type { EventDraft } from "../../model/event.ts";
import type { NewReply } from "../../ports/store.ts";
import type { Machine } from "../../replay/machine.ts";
import type { QueuedDraft } from "./message-draft.ts";

/** The answer to an update that was refused: no event has it. */
export interface RefusedUpdate extends NewReply {
  readonly messageId: string;
  readonly error: ErrorRecord;
}

interface Deciding {
  readonly machine: Machine;
  readonly queue: { refuse(update: RefusedUpdate): void; unconsume(consumed: number): void };
  readonly host: { record(error: unknown, about?: ErrorRecordOptions): ErrorRecord };
}

/** An update has left the inbox: the event that it becomes, or undefined if it was refused. One that cannot be judged here goes back. */
export function decideUpdate(
  { machine, queue, host: { record } }: Deciding,
  draft: QueuedDraft,
  now: number,
): EventDraft | undefined {
  const number = draft.number as number;
  let judged: EventDraft | HoldfastError;
  try {
    judged = machine.judgeUpdate({
      type: draft.type,
      op: draft.op,
      ...(draft.payload ? { payload: draft.payload } : {}),
      ...(draft.meta ? { meta: draft.meta } : {}),
    });
  } catch (error) {
    queue.unconsume(number - 1);
    throw error;
  }
  if (!isHoldfastError(judged)) return judged;
  const error = record(judged);
  const messageId = draft.meta?.messageId ?? "";
  queue.refuse({ number, messageId, error });
  if (judged.code === "update_rejected") machine.noteRejected(draft.op as string, { messageId, error }, now);
  return undefined;
}

/** The refused ones among the replies of a commit. */
export function refusedIn(replies: readonly NewReply[]): readonly RefusedUpdate[] {
  return replies.filter((reply): reply is RefusedUpdate => reply.error !== undefined);
}
