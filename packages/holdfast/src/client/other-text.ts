/** What another run that a run waits for waits for in turn, in words for the person on call. */
import { ASK_PREFIX, afterPrefix, RESULT_PREFIX } from "../model/ids.ts";
import type { Cause, CauseKind } from "./cause.ts";
import { listed, opWords } from "./op-words.ts";

/** `id`: the run that waits. Empty if nothing is known of the other one. */
export function otherText(cause: Cause, id: string): string {
  const who = otherRun(cause);
  const { circle } = cause;
  if (circle?.length === 1) return `${circle[0] === id ? "It" : who} waits for its own end.`;
  if (circle) {
    const names = listed(circle.map((one) => `"${one}"`));
    const text = `${names} wait for each other in a circle; none of them ends on its own.`;
    return circle.includes(id) ? `Runs ${text}` : `${who} never ends: runs ${text}`;
  }
  if (!cause.cause) return "";
  if (cause.cause.kind === "ended") return `${who} has ended; its result is on its way.`;
  return `${who} waits for ${shortText(cause.cause)}.`;
}

function otherRun({ kind, op = "", run }: Cause): string {
  const id = run?.id;
  if (kind === "lock" || kind === "limit") return `Run "${id}"`;
  if (op.startsWith(RESULT_PREFIX)) return `Run "${id ?? afterPrefix(op, RESULT_PREFIX)}"`;
  if (op.startsWith(ASK_PREFIX)) return `Run "${id}", which is to answer update "${afterPrefix(op, ASK_PREFIX)}",`;
  return `Child "${op}"${id === undefined || id === op ? "" : ` (run "${id}")`}`;
}

/** What follows "waits for". */
function shortText(about: Cause): string {
  const { kind, op, run, cause, worker, error } = about;
  if (kind === "child") {
    const other = `run "${run?.id ?? op}"`;
    if (!cause) return other;
    return cause.kind === "ended"
      ? `${other}, which has ended; its result is on its way`
      : `${other}, which waits for ${shortText(cause)}`;
  }
  if (kind === "lock") {
    const behind = cause && run ? `, which run "${run.id}" holds` : "";
    return `${opWords(op ?? "")}${behind}`;
  }
  if (kind === "limit" && about.queue !== undefined) {
    const behind = cause && run ? `, one of which run "${run.id}" has` : "";
    return `a place in queue "${about.queue}"${behind}`;
  }
  if (kind === "signal" || kind === "update" || kind === "condition") return opWords(op ?? "");
  if (kind === "lease") return `${worker === undefined ? "its worker" : `worker ${worker}`}, which is silent or gone`;
  if (kind === "parked") return `${CAUSES[kind]}${error?.code === undefined ? "" : ` (${error.code})`}`;
  if (op === undefined) return CAUSES[kind];
  return kind === "backoff" ? `the next attempt of "${op}"` : `${kind} "${op}"`;
}

/** What a run waits for, without the op that it is about. */
const CAUSES: Readonly<Record<CauseKind, string>> = {
  step: "a step that is not recorded yet",
  backoff: "its next attempt",
  task: "a task",
  timer: "a time",
  signal: "a signal",
  update: "the handler of an update",
  condition: "a condition",
  lease: "its worker",
  no_worker: "a worker: no live one offers its workflow",
  limit: "a free slot",
  start_delay: "its start time",
  parked: "somebody to resume it: it is parked",
  paused: "somebody to resume it: it is paused",
  ended: "nothing: it has ended",
  child: "another run",
  lock: "a lock",
};
