import { type EndedRun, endName } from "../../model/ended-run.ts";
import { type ErrorRecord, shownError } from "../../model/error-record.ts";
import type { EventMeta } from "../../model/event.ts";
import type { QueuedDraft } from "../execute/message-draft.ts";

/** The event about the end of another run, for the op that waits for it. */
export function endDraft(kind: "child" | "message", op: string, end: EndedRun, about: EventMeta = {}): QueuedDraft {
  const { firstRunId: endOf, output, status, error, compensation } = end;
  const names = { op, endOf, end: endName(end) };
  if (status === "completed") {
    const type = kind === "child" ? "child_completed" : "message_sent";
    const some = output === null || output.length === 0 ? {} : { payload: output };
    return { type, ...names, ...some, ...(Object.keys(about).length > 0 ? { meta: about } : {}) };
  }
  const meta: EventMeta = {
    ...about,
    status,
    ...(error === null ? {} : { error: shownError(error) as ErrorRecord }),
    ...(compensation === null ? {} : { compensation }),
  };
  if (kind === "child") return { type: "child_failed", ...names, meta: { ...meta, end: endName(end) } };
  return { type: "message_failed", ...names, meta: { ...meta, workflow: end.workflow } };
}
