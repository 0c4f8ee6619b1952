/** `replay-check`: whether new code does what the histories of open runs say was done. Nothing is executed or written. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { AnyWorkflow, Client, EventView, RunSummary } from "holdfast";
import type { RecordedHistory } from "holdfast/testing";
import type { Call } from "../../command/call.ts";
import { OPEN_STATUSES as OPEN } from "../../command/run-statuses.ts";
import { given } from "../../command/values.ts";
import type { Action } from "../../command/verb.ts";
import { EXIT } from "../../io/exit-code.ts";
import { FileFailed, UsageError } from "../../io/failure.ts";
import type { Core } from "../../io/io.ts";
import { harmless } from "../../output/width.ts";
import { loadCode } from "./exported-code.ts";

const PAGE = 500;

/** A run with its history, from a store or from a file. */
interface Recorded {
  readonly id: string;
  readonly runId: string;
  readonly workflow: string;
  readonly version: string;
  /** The code of the error that it is parked for; null if it is not parked. */
  readonly parked?: string | null;
  readonly history: RecordedHistory;
}

/**
 * What became of a run. `no_code`: the files have no workflow of its name and version. `parked`: it is parked for a bug that the
 * code still has. That is as its history says, so it does not fail the check.
 */
export interface Checked extends Omit<Recorded, "history" | "parked"> {
  readonly outcome: "same" | "diverged" | "parked" | "no_code";
  /** The event at which code and history part. */
  readonly seq?: number;
  /** The first op that only one of them has. */
  readonly op?: string;
  /** Where the code asks for it: file, line and column. */
  readonly location?: string;
  readonly message?: string;
}

export const replayCheck: Action = async (call) => {
  const [files, save, from] = [call.words("file"), call.text("save"), call.text("from")];
  if (save !== undefined && from !== undefined) throw new UsageError("--save and --from exclude each other.");
  if (files.length === 0 && save === undefined)
    throw new UsageError("<file> is missing: which code is to be checked? See: holdfast replay-check --help");
  const core = await call.core();
  const code = files.length === 0 ? [] : (await loadCode(call.io, files)).workflows;
  const recorded = from === undefined ? fromStore(call, await call.open()) : fromFolder(call, core, from);
  const counts = { checked: 0, same: 0, diverged: 0, parked: 0, noCode: 0, saved: 0 };
  for await (const run of recorded) {
    if (save !== undefined) {
      saveRun(core, path.resolve(call.io.cwd, save), run);
      counts.saved += 1;
    }
    if (files.length === 0) continue;
    const checked = await check(run, code);
    counts.checked += 1;
    counts[checked.outcome === "no_code" ? "noCode" : checked.outcome] += 1;
    show(call, checked);
  }
  return summarize(call, counts, save, files.length > 0);
};

async function* fromStore(call: Call, hf: Client): AsyncGenerator<Recorded> {
  let cursor: string | null = null;
  do {
    const options = { status: OPEN, limit: PAGE, ...given({ workflow: call.text("workflow") }) };
    const page: { runs: readonly RunSummary[]; cursor: string | null } = await hf.list({
      ...options,
      ...(cursor === null ? {} : { cursor }),
    });
    for (const { id, runId, workflow, version, status, why } of page.runs) {
      const history = await readHistory(hf, runId);
      if (history !== undefined)
        yield { id, runId, workflow, version, parked: status === "parked" ? (why.error?.code ?? "") : null, history };
    }
    cursor = page.cursor;
  } while (cursor !== null);
}

/** Undefined for a run that has been deleted since it was listed. */
async function readHistory(hf: Client, runId: string): Promise<EventView[] | undefined> {
  try {
    return await hf.get({ runId }).history();
  } catch (error) {
    if ((error as { readonly code?: string }).code === "run_not_found") return undefined;
    throw error;
  }
}

async function* fromFolder(call: Call, core: Core, folder: string): AsyncGenerator<Recorded> {
  const place = path.resolve(call.io.cwd, folder);
  let names: string[];
  try {
    names = readdirSync(place)
      .filter((name) => name.endsWith(".json"))
      .sort();
  } catch (cause) {
    throw new FileFailed(place, "read", cause);
  }
  const workflow = call.text("workflow");
  for (const name of names) {
    const run = savedRun(core, path.join(place, name));
    if (workflow === undefined || run.workflow === workflow) yield run;
  }
}

function savedRun(core: Core, file: string): Recorded {
  let run: Partial<Recorded>;
  try {
    run = core.jsonCodec.decode(readFileSync(file)) as Partial<Recorded>;
  } catch (cause) {
    throw new UsageError(`${file} is not a history that replay-check --save has written: ${(cause as Error).message}`);
  }
  if (typeof run?.workflow === "string" && Array.isArray(run.history)) return run as Recorded;
  throw new UsageError(`${file} is not a history that replay-check --save has written.`);
}

/** By the codec of the core: JSON that keeps dates, maps, big numbers and bytes. The file may contain what the runs contain. */
function saveRun(core: Core, folder: string, run: Recorded): void {
  const bytes = core.jsonCodec.encode(run, `history of run ${run.runId}`);
  try {
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, `${run.runId}.json`), bytes, { mode: 0o600 });
  } catch (error) {
    throw new FileFailed(folder, "written", error);
  }
}

async function check({ history, parked, ...run }: Recorded, code: readonly AnyWorkflow[]): Promise<Checked> {
  const definition = code.find(({ name, version }) => name === run.workflow && version === run.version);
  if (definition === undefined) return { ...run, outcome: "no_code" };
  const { replay } = await import("holdfast/testing");
  try {
    await replay(definition, history, { runId: run.runId });
    return { ...run, outcome: "same" };
  } catch (error) {
    const { code: found } = error as { readonly code?: string };
    const isOld = found === parked && found !== "replay_divergence";
    return { ...run, outcome: isOld ? "parked" : "diverged", ...explained(error) };
  }
}

interface Divergence {
  readonly seq?: number;
  readonly fault?: string;
  readonly recordedNotAsked?: readonly { readonly op: string }[];
  readonly askedNotRecorded?: readonly { readonly op: string; readonly location?: string }[];
  readonly location?: string;
  readonly op?: string;
}

function explained(error: unknown): Pick<Checked, "seq" | "op" | "location" | "message"> {
  const { data = {}, message } = error as { readonly data?: Divergence; readonly message?: string };
  const [asked] = data.askedNotRecorded ?? [];
  const [recorded] = data.recordedNotAsked ?? [];
  const op = recorded?.op ?? asked?.op ?? data.op;
  const location = asked?.location ?? data.location;
  return { message: message ?? String(error), ...given({ seq: data.seq, op, location }) };
}

function show(call: Call, checked: Checked): void {
  const { out, io } = call;
  out.record(checked);
  if ((checked.outcome !== "diverged" && checked.outcome !== "parked") || out.json) return;
  const { id, workflow, version, runId, message = "", location, outcome } = checked;
  const { red, yellow, bold, dim } = out.paint;
  out.line(
    `${outcome === "parked" ? yellow("!") : red("✗")} ${bold(id)} ${dim(`${workflow}, version ${version}, run ${runId}`)}`,
  );
  for (const line of harmless(message).split("\n")) out.line(`    ${line}`);
  if (location !== undefined) out.line(`    ${dim("at")} ${path.relative(io.cwd, location) || location}`);
  out.line();
  if (outcome === "diverged" && io.env["GITHUB_ACTIONS"] === "true") out.line(annotation(checked, io.cwd));
}

/** A line that GitHub shows beside the code of a pull request. */
function annotation({ location = "", id, workflow, op, message = "" }: Checked, folder: string): string {
  const [, file = "", line = "1", column = "1"] = /^(.*):(\d+):(\d+)$/.exec(location) ?? [];
  const place = file === "" ? "" : ` file=${path.relative(folder, file)},line=${line},col=${column}`;
  const text = `Run ${id} of ${workflow} does not replay${op === undefined ? "" : ` (${op})`}: ${message.split("\n")[0]}`;
  return `::error${place}::${text.replace(/%/g, "%25").replace(/\r/g, "%0D")}`;
}

interface Counts {
  readonly checked: number;
  readonly same: number;
  readonly diverged: number;
  readonly parked: number;
  readonly noCode: number;
  readonly saved: number;
}

function summarize(call: Call, counts: Counts, save: string | undefined, checks: boolean): number {
  const { out } = call;
  const { checked, same, diverged, parked, noCode, saved } = counts;
  out.record({ summary: counts });
  if (save !== undefined) out.line(`${out.paint.green("✓")} Saved ${saved} histories in ${save}`);
  if (!checks) return EXIT.done;
  const mark = diverged > 0 ? out.paint.red("✗") : out.paint.green("✓");
  const parts = [
    `${same} replay`,
    `${diverged} do not`,
    ...(parked === 0 ? [] : [`${parked} ${parked === 1 ? "is" : "are"} parked for a bug that the code still has`]),
    ...(noCode === 0 ? [] : [`${noCode} belong to workflows or versions that the files do not have`]),
  ];
  out.line(`${mark} ${checked} open ${checked === 1 ? "run" : "runs"} checked: ${parts.join(", ")}`);
  return diverged > 0 ? EXIT.divergence : EXIT.done;
}
