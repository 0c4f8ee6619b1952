/** What has become of an update, and what whoever has sent it learns of that. */
import { fromErrorRecord, toErrorRecord } from "../errors/error-record.ts";
import { HoldfastError } from "../errors/holdfast-error.ts";
import { RunParkedError } from "../errors/run-errors.ts";
import type { Debt, ReplyToTell } from "../model/debt.ts";
import { type ErrorRecord, shownError } from "../model/error-record.ts";
import { replyMessageId } from "../model/ids.ts";
import { EMPTY_PAYLOAD } from "../model/payload.ts";
import { isClosed, type Run } from "../model/run.ts";
import type { DeliverMessage, ReplyState } from "../ports/store.ts";
import type { UpdateReply } from "./run-ends.ts";

/** `closed`: the run has ended without an answer. `gone`: it was purged. `other`: another update has that id. `parked`: the run is. */
export type UpdateFate = Pick<UpdateReply, "event" | "error"> & {
  readonly stage: "accepted" | "answered" | "closed" | "gone" | "other" | "parked";
  /** Of the other update. */
  readonly name?: string | null;
  /** The run that is parked. */
  readonly run?: Run;
  readonly status?: ReplyState["status"];
  /** The run has ended without looking at it. */
  readonly unread?: true;
};

/** Where the update stands for good; undefined if its answer is still to come. */
export function settledFate({ runId, status, stage, event, error }: ReplyState): UpdateFate | undefined {
  if (runId === null || status === null) return { stage: "gone" };
  if (stage === "answered") return { stage, ...(event ? { event } : {}), ...(error ? { error } : {}) };
  if (!isClosed(status)) return undefined;
  // It goes on in another store, and has taken its messages along.
  if (status === "moved") return { stage: "closed", status };
  return { stage: "closed", status, ...(stage === "unread" ? { unread: true } : {}) };
}

/** The run was ending: nothing has happened, and nothing will. */
export function cameTooLate({ unread, error }: UpdateFate): boolean {
  return unread === true || error?.code === "run_closed";
}

/** Why there is no result; undefined if there is one. */
export function updateFailure(
  { name, id }: { readonly name: string; readonly id: string },
  { stage, status, event, error, name: other, run }: UpdateFate,
): HoldfastError | undefined {
  const data = { name, updateId: id };
  if (error) return fromErrorRecord(error);
  if (event?.meta?.error) {
    const cause = fromErrorRecord(event.meta.error);
    return new HoldfastError("update_failed", `Update "${name}" failed: ${cause.message}`, { data, cause });
  }
  if (event) return undefined;
  if (run) {
    const cause = run.error === null ? {} : { cause: fromErrorRecord(run.error) };
    return new RunParkedError({ id: run.id, runId: run.runId, workflow: run.workflow, ...cause });
  }
  if (stage === "other") {
    const message = `Update "${name}" was not sent: the run has had an update "${other}" with the id "${id}". Give it an id of its own.`;
    return new HoldfastError("update_id_taken", message, { data: { ...data, other } });
  }
  if (stage === "gone")
    return new HoldfastError("run_not_found", `The run of update "${id}" has ended and was purged.`, { data });
  if (status === "moved") {
    const message = `The run has moved to another store before it had answered update "${name}" ("${id}"). Repeat the update there, with this id.`;
    return new HoldfastError("run_moved", message, { data });
  }
  if (status === "continued")
    return new HoldfastError(
      "run_continued",
      `The run continued as new before it had answered update "${name}" ("${id}").`,
      { data },
    );
  const message = `The run has ended (${status}) without an answer to update "${name}" ("${id}").`;
  return new HoldfastError("run_closed", message, { data: { ...data, status } });
}

/** The same as a message to the op that has sent the update. */
export function replyMessage(
  { runId: from, status }: Extract<Debt, { kind: "reply" }>,
  { messageId, name, to: { namespace, runId, op }, stage, event, error }: ReplyToTell,
): DeliverMessage {
  const fate: UpdateFate = {
    stage: stage === "answered" ? stage : "closed",
    status,
    ...(event ? { event } : {}),
    ...(error ? { error } : {}),
  };
  const about = { to: { namespace, runId }, name: op, messageId: replyMessageId(from, messageId) };
  const failure = updateFailure({ name, id: op }, fate);
  if (!failure) return { ...about, kind: "reply_completed", payload: event?.payload ?? EMPTY_PAYLOAD };
  const payload = new TextEncoder().encode(JSON.stringify(shownError(toErrorRecord(failure))));
  return { ...about, kind: "reply_failed", payload };
}

/** The error in such a message. */
export function readFailedReply(payload: Uint8Array): ErrorRecord {
  return JSON.parse(new TextDecoder().decode(payload)) as ErrorRecord;
}
