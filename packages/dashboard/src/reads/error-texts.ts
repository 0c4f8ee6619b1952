/** What errors say. Lists leave it out, because it may be long: it is read for the few rows that need it. */
import type { RunSummary } from "holdfast";
import type { ErrorRecord, Run } from "holdfast/adapter";
import type { RunRow } from "../api/list-messages.ts";
import type { ErrorShown, OtherRun } from "../api/run-messages.ts";
import { runRow } from "./run-row.ts";
import type { Scope } from "./scope.ts";

/** Whole rows are read, with their payloads. */
const READ_AT_ONCE = 50;
const LINE_CHARACTERS = 160;

/** Those of the runs that have one, by run id. */
export async function errorsOf(
  { store, namespace }: Scope,
  runIds: readonly string[],
): Promise<ReadonlyMap<string, ErrorRecord>> {
  const found = new Map<string, ErrorRecord>();
  for (let at = 0; at < runIds.length; at += READ_AT_ONCE) {
    const runs = runIds.slice(at, at + READ_AT_ONCE).map((runId) => ({ namespace, runId }));
    for (const run of await store.store.runs.read({ runs })) if (run?.error) found.set(run.runId, run.error);
  }
  return found;
}

/** Rows of a list. An error is told by its text: the state is shown beside it, and a code alone does not say what to do. */
export async function shownRows(scope: Scope, runs: readonly RunSummary[]): Promise<RunRow[]> {
  const failed = runs.filter(({ why }) => why.error).map(({ runId }) => runId);
  const errors = await errorsOf(scope, failed);
  return runs.map((run) => withText(scope, runRow(run), errors.get(run.runId)));
}

export function withText({ values }: Scope, row: RunRow, error: Run["error"] | undefined): RunRow {
  if (!error || row.why.error === undefined) return row;
  return { ...row, why: { ...row.why, text: errorWords(error, values.error(error), row.status) } };
}

/** `shown`: what the visitor may read of it. "charge: CARD_DECLINED: no money, 3 attempts"; of what people did, who and why. */
export function errorWords(error: ErrorRecord, shown: ErrorShown, status: RunSummary["status"]): string {
  const person = personWords(error, status);
  if (person !== "") return person;
  const op = error.op === undefined ? "" : `${error.op}: `;
  const often = (error.attempts ?? 1) > 1 ? `, ${error.attempts} attempts` : "";
  return `${op}${otherRunWords(error, shown) ?? errorLine(error, shown.message)}${often}`;
}

/** The run whose end the error, or one that caused it, tells of: a child, or one that was waited for. */
export function otherRunOf({ run, data, cause }: ErrorRecord): OtherRun | undefined {
  const { runId } = (data ?? {}) as { readonly runId?: unknown };
  if (run !== undefined && typeof runId === "string") return { id: run, runId };
  return cause && otherRunOf(cause);
}

const ENDED_HOW: Readonly<Record<string, string>> = {
  run_failed: "failed",
  run_canceled: "was canceled",
  run_terminated: "was terminated",
  run_timed_out: "timed out",
};

/**
 * How the other run ended and why, without its ids in every sentence: "its run ship-7 failed in charge: CARD_DECLINED: no money".
 * `shown`: the same error, as the visitor may read it. Undefined if it is about no other run.
 */
export function otherRunWords(error: ErrorRecord, shown: ErrorShown): string | undefined {
  const { run, cause } = error;
  const other = run === undefined ? undefined : otherRunOf(error);
  const how = ENDED_HOW[error.code ?? ""];
  if (!other || how === undefined || !cause || !shown.cause) return undefined;
  const own = other.id === other.runId ? "" : ` ${other.id}`;
  const where = cause.op === undefined ? "" : ` in ${cause.op}`;
  const often = (cause.attempts ?? 1) > 1 ? ` after ${cause.attempts} attempts` : "";
  const why = otherRunWords(cause, shown.cause) ?? errorLine(cause, shown.cause.message);
  return `its run${own} ${how}${where}${often}: ${why}`;
}

/** The first line of it, with what it is called. */
export function errorLine(error: ErrorRecord, message: string): string {
  const [first = ""] = message.split("\n", 1);
  const line = first.length > LINE_CHARACTERS ? `${first.slice(0, LINE_CHARACTERS)}…` : first;
  return line === "" ? (error.code ?? error.name) : `${headOf(error, line)}${line}`;
}

/** What people do has these codes. */
const BY_PEOPLE: ReadonlySet<string> = new Set(["paused", "canceled", "run_canceled", "run_terminated"]);

/** Who did it, and why; nothing where nobody did. */
export function personWords({ code, data }: ErrorRecord, status: RunSummary["status"]): string {
  if (!BY_PEOPLE.has(code ?? status)) return "";
  const { by, reason } = (data ?? {}) as { readonly by?: unknown; readonly reason?: unknown };
  const who = typeof by === "string" && by !== "" ? `by ${by}` : "";
  const why = typeof reason === "string" && reason !== "" ? `“${reason}”` : "";
  return [who, why].filter((part) => part !== "").join(": ");
}

/** Codes that only repeat the state, or how the error was thrown. */
const SAYS_NOTHING: ReadonlySet<string> = new Set(["run_timed_out", "non_retryable", "retryable"]);

/** Errors of ours are whole sentences. Of others the code says more than the name of a class, and "Error" says nothing. */
function headOf({ code, name }: ErrorRecord, line: string): string {
  if (name === "HoldfastError" || SAYS_NOTHING.has(code ?? "")) return "";
  const head = code ?? (name === "Error" ? "" : name);
  return head === "" || line.startsWith(head) ? "" : `${head}: `;
}

/** Whether the error, or one that caused it, says all of these, in any case. */
export function says(error: ErrorRecord, texts: readonly string[]): boolean {
  const said: string[] = [];
  for (let one: ErrorRecord | undefined = error; one; one = one.cause) said.push(`${one.name}: ${one.message}`);
  const whole = said.join("\n").toLowerCase();
  return texts.every((text) => whole.includes(text.toLowerCase()));
}
