import type { ErrorRecordOptions } from "../../errors/error-record.ts";
import { isHoldfastError } from "../../errors/holdfast-error.ts";
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
  readonly queue: { refuse(update: RefusedUpdate): void };
  readonly record: (error: unknown, about?: ErrorRecordOptions) => ErrorRecord;
}

/** An update has left the inbox: the event that it becomes, or undefined if it was refused. */
export function decideUpdate(
  { machine, queue, record }: Deciding,
  draft: QueuedDraft,
  now: number,
): EventDraft | undefined {
  const judged = machine.judgeUpdate({
    type: draft.type,
    op: draft.op,
    ...(draft.payload ? { payload: draft.payload } : {}),
    ...(draft.meta ? { meta: draft.meta } : {}),
  });
  if (!isHoldfastError(judged)) return judged;
  const error = record(judged);
  const messageId = draft.meta?.messageId ?? "";
  queue.refuse({ number: draft.number as number, messageId, error });
  if (judged.code === "update_rejected") machine.noteRejected(draft.op as string, { messageId, error }, now);
  return undefined;
}

/** The refused ones among the replies of a commit. */
export function refusedIn(replies: readonly NewReply[]): readonly RefusedUpdate[] {
  return replies.filter((reply): reply is RefusedUpdate => reply.error !== undefined);
}
