/** What errors say. Lists leave it out, because it may be long: it is read for the few rows that need it. */
import type { RunSummary } from "holdfast";
import type { ErrorRecord, Run } from "holdfast/adapter";
import type { RunRow } from "../api/list-messages.ts";
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

/** Rows of a list. An error without a code is told by its text: its kind alone says nothing. */
export async function shownRows(scope: Scope, runs: readonly RunSummary[]): Promise<RunRow[]> {
  const unnamed = runs.filter(({ why }) => why.error && why.error.code === undefined).map(({ runId }) => runId);
  const errors = await errorsOf(scope, unnamed);
  return runs.map((run) => withText(scope, runRow(run), errors.get(run.runId)));
}

export function withText({ values }: Scope, row: RunRow, error: Run["error"] | undefined): RunRow {
  if (!error || error.code !== undefined || row.why.error === undefined) return row;
  const [line = ""] = values.error(error).message.split("\n", 1);
  const said = line.length > LINE_CHARACTERS ? `${line.slice(0, LINE_CHARACTERS)}…` : line;
  const about = said === "" ? error.name : said;
  return { ...row, why: { ...row.why, text: `${row.status.replace("_", " ")}: ${about}` } };
}

/** Whether the error, or one that caused it, says all of these, in any case. */
export function says(error: ErrorRecord, texts: readonly string[]): boolean {
  const said: string[] = [];
  for (let one: ErrorRecord | undefined = error; one; one = one.cause) said.push(`${one.name}: ${one.message}`);
  const whole = said.join("\n").toLowerCase();
  return texts.every((text) => whole.includes(text.toLowerCase()));
}
