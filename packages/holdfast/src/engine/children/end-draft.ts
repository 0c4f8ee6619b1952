import { type EndedRun, endName } from "../../model/ended-run.ts";
import { type ErrorRecord, shownError } from "../../model/error-record.ts";
import type { EventMeta } from "../../model/event.ts";
import type { QueuedDraft } from "../execute/message-draft.ts";

const NOTHING: EventMeta = {};

/** The event about the end of another run, for the op that waits for it. */
export function endDraft(
  kind: "child" | "message",
  op: string,
  ended: EndedRun,
  about: EventMeta = NOTHING,
): QueuedDraft {
  const { firstRunId: endOf, output, status, error, compensation } = ended;
  const end = endName(ended);
  if (status === "completed") {
    const type = kind === "child" ? "child_completed" : "message_sent";
    const draft: QueuedDraft =
      output === null || output.length === 0 ? { type, op, endOf, end } : { type, op, endOf, end, payload: output };
    return about === NOTHING ? draft : { ...draft, meta: about };
  }
  const meta: EventMeta = {
    ...about,
    status,
    ...(error === null ? {} : { error: shownError(error) as ErrorRecord }),
    ...(compensation === null ? {} : { compensation }),
  };
  if (kind === "child") return { type: "child_failed", op, endOf, end, meta: { ...meta, end } };
  return { type: "message_failed", op, endOf, end, meta: { ...meta, workflow: ended.workflow } };
}
