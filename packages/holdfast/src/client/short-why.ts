import { isClosed } from "../model/run.ts";
import { waitingOp, waitKind, waitsForPlace } from "../model/waiting.ts";
import type { ListedRun } from "../ports/store.ts";
import type { Cause } from "./cause.ts";
import { opWords } from "./op-words.ts";

/**
 * What a run waits for, as far as its row says: for lists. `hf.why(id)` knows more. A run that is due is `limit`, whatever keeps
 * workers from claiming it; one that a worker holds is `step`, whatever it does there.
 */
export interface ShortWhy extends Pick<Cause, "kind" | "op" | "at" | "since"> {
  readonly error?: ListedRun["error"];
  /** The same in a few words. */
  readonly text: string;
}

/** What is known of a run without reading more than its row. `updatedAt`: when something last happened to it. */
export function shortWhy(run: ListedRun, updatedAt: number, now: number): ShortWhy {
  const { status, heldBy, availableAt, error } = run;
  // "Unknown" is what a kind is called that says nothing.
  const name = error?.code ?? (error?.kind === "Unknown" ? undefined : error?.kind);
  const about = name === undefined ? "" : `: ${name}`;
  const failure = error ? { error } : {};
  const since = new Date(updatedAt);
  if (isClosed(status)) return { kind: "ended", since, ...failure, text: `${status.replace("_", " ")}${about}` };
  if (status === "parked")
    return error?.code === "paused"
      ? { kind: "paused", since, ...failure, text: "paused" }
      : { kind: "parked", since, ...failure, text: `parked${about}` };
  if (heldBy !== null) return { kind: "step", since, text: "a worker is working on it" };
  if (availableAt !== null && availableAt <= now)
    return { kind: "limit", since: new Date(availableAt), text: "due: waits for a worker" };
  const at = availableAt === null ? {} : { at: new Date(availableAt) };
  if (waitsForPlace(run.waitingFor)) return { kind: "limit", since, ...at, text: `a place in queue "${run.queue}"` };
  if (run.startedAt === null) return { kind: "start_delay", ...at, text: "its start time" };
  return { ...waitOf(run), ...at, since };
}

/** The first of what it waits for, and how much more there is. */
function waitOf({ waitingFor }: ListedRun): Pick<ShortWhy, "kind" | "op" | "text"> {
  const [entry] = waitingFor;
  if (entry === undefined) return { kind: "timer", text: "its turn" };
  const kind = waitKind(entry);
  const op = waitingOp(entry);
  const more = waitingFor.length > 1 ? ` and ${waitingFor.length - 1} more` : "";
  return { kind, op, text: `${waitWords(kind, op)}${more}` };
}

function waitWords(kind: ReturnType<typeof waitKind>, op: string): string {
  if (kind === "backoff") return `the next attempt of "${op}"`;
  if (kind === "timer" || kind === "task") return `${kind} "${op}"`;
  return opWords(op, kind === "child" ? (/^(?:result|ask):/.test(op) ? "message" : "child") : undefined);
}
