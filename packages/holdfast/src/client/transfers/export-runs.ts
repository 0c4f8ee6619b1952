/** `hf.export` and `hf.import`: finished runs as JSON lines (export-format.ts). */
import type { Readable, Writable } from "node:stream";
import { HoldfastError } from "../../errors/holdfast-error.ts";
import {
  invalidOption,
  type OptionCheck,
  type OptionChecks,
  optionsOf,
  requireOptions,
} from "../../errors/option-checks.ts";
import { shownValue } from "../../errors/shown-value.ts";
import { CLOSED_STATUSES, isClosed, type RunStatus } from "../../model/run.ts";
import type { RunImage } from "../../model/transfer.ts";
import { LineTooLong, type LineWriter, readLines, SourceFailed, writeLines } from "../../system/line-files.ts";
import type { ClientCore } from "../client-core.ts";
import type { ListFilter } from "../client-options.ts";
import { LIST_FILTER, runFilter } from "../list-filter.ts";
import { type ExportLine, endLine, headerLine, readLine, runLine } from "./export-format.ts";
import { Fault } from "./line-checks.ts";
import { IMAGE_BYTES_MAX, imageOf, isTooLarge, readRun } from "./run-images.ts";
import { TransferCount, type TransferResult } from "./transfer-result.ts";

const PAGE = 100;
/** Base64 takes four bytes for three, and rows and errors have texts besides. */
const LINE_BYTES_MAX = 3 * IMAGE_BYTES_MAX;

/** Options of `hf.export`. */
export interface ExportOptions {
  /** The path of a file, which is there once it is complete, or a stream, which is not ended. */
  readonly to: string | Writable;
  /**
   * Only finished runs that match it.
   * @defaultValue all finished runs of the namespace, except those that have moved to another store
   */
  readonly filter?: ListFilter;
}

/** Options of `hf.import`. */
export interface ImportOptions {
  /** The path of a file that `hf.export` has written, or a stream of it. */
  readonly from: string | Readable;
}

function pathOrStream(method: string): OptionCheck {
  return (value, where, option) => {
    if (typeof value === "string" ? value !== "" : typeof (value as never)?.[method] === "function") return;
    throw invalidOption(where, option, `is ${shownValue(value)}, neither a path nor a stream`);
  };
}

const EXPORT_OPTIONS: OptionChecks<ExportOptions> = { to: pathOrStream("write"), filter: optionsOf(LIST_FILTER) };
const IMPORT_OPTIONS: OptionChecks<ImportOptions> = { from: pathOrStream("read") };

/** Newest first, so that a file can be imported in its order. One page of rows and one run are in memory. */
export async function exportRuns(core: ClientCore, options: ExportOptions): Promise<TransferResult> {
  requireOptions(options, EXPORT_OPTIONS, "export");
  if (options.to === undefined) throw invalidOption("export", "to", "is missing: it is a path or a stream");
  const { now } = await core.call((store) => store.readClock());
  const writer = told(writeLines(options.to, core.newId()), options.to);
  const count = new TransferCount();
  try {
    await writer.write(headerLine(core.namespace, now));
    for await (const runId of finished(core, options.filter ?? {})) {
      const image = await imageIn(core, runId);
      if (image === undefined) continue;
      if (isTooLarge(image)) {
        count.skip(image.run, "run_too_large");
        continue;
      }
      await writer.write(runLine(image));
      count.runs += 1;
    }
    await writer.write(endLine(count.runs));
    await writer.finish();
  } catch (error) {
    await writer.giveUp();
    throw error;
  }
  return count.result;
}

/** What Node.js says about the file or the stream becomes an error with a code. */
function told(writer: LineWriter, to: ExportOptions["to"]): LineWriter {
  const failed = (cause: unknown): never => {
    throw fileFailed("export", to, "written", cause);
  };
  return {
    write: (line) => writer.write(line).catch(failed),
    finish: () => writer.finish().catch(failed),
    giveUp: () => writer.giveUp().catch(() => {}),
  };
}

function fileFailed(call: string, at: unknown, verb: string, cause: unknown): HoldfastError {
  const what = typeof at === "string" ? `the file ${at}` : "the stream";
  const reason = cause instanceof Error ? cause.message : shownValue(cause);
  const data = typeof at === "string" ? { path: at } : {};
  return new HoldfastError("file_failed", `${call}: ${what} cannot be ${verb}: ${reason}.`, { data, cause });
}

async function* finished(core: ClientCore, given: ListFilter): AsyncGenerator<string, void> {
  const { statuses = CLOSED_STATUSES.filter((status) => status !== "moved"), ...filter } = runFilter(
    core.namespace,
    given,
  );
  const closed: readonly RunStatus[] = statuses.filter(isClosed);
  if (closed.length === 0) return;
  for (let before: { createdAt: number; runId: string } | undefined; ; ) {
    const params = { ...filter, statuses: closed, limit: PAGE, ...(before && { before }) };
    const page = await core.call((store) => store.runs.list(params));
    for (const { runId } of page) yield runId;
    const last = page.at(-1);
    if (page.length < PAGE || !last) return;
    before = { createdAt: last.createdAt, runId: last.runId };
  }
}

/** Undefined if the run was purged, or reopened, since it was listed. */
async function imageIn(core: ClientCore, runId: string): Promise<RunImage | undefined> {
  const read = await readRun(core, runId);
  if (!read || !isClosed(read.run.status)) return undefined;
  const { namespace } = core;
  const [rest] = await core.call((store) => store.transfers.read({ runs: [{ namespace, runId }] }));
  if (!rest || !isClosed(rest.status)) return undefined;
  const { endedAt } = read.run;
  const image = imageOf(read, rest, namespace);
  return { ...image, run: { ...image.run, endedAt } };
}

/** Line by line. Everything of a line is checked before it is written. */
export async function importRuns(core: ClientCore, options: ImportOptions): Promise<TransferResult> {
  requireOptions(options, IMPORT_OPTIONS, "import");
  if (options.from === undefined) throw invalidOption("import", "from", "is missing: it is a path or a stream");
  const { now } = await core.call((store) => store.readClock());
  const count = new TransferCount();
  let line = 0;
  let read = 0;
  let end: number | undefined;
  try {
    for await (const bytes of readLines(options.from, LINE_BYTES_MAX)) {
      line += 1;
      if (end !== undefined) throw new Fault("follows the end of the export");
      const entry = readLine(bytes, { namespace: core.namespace, now });
      requireFirst(entry, line);
      if (entry.type === "end") end = entry.runs;
      if (entry.type !== "run") continue;
      read += 1;
      await importRun(core, entry.image, count);
    }
    line += 1;
    if (end === undefined) throw new Fault("is missing: the file was cut off before its end");
    if (end !== read) throw new Fault(`says that there are ${end} runs, but there are ${read}`);
  } catch (error) {
    if (error instanceof SourceFailed) throw fileFailed("import", options.from, "read", error.cause);
    throw invalidExport(error, line, count.runs);
  }
  return count.result;
}

function requireFirst({ type }: ExportLine, line: number): void {
  if ((type === "header") !== (line === 1))
    throw new Fault(line === 1 ? "is not the first line of an export" : "is a second first line");
}

async function importRun(core: ClientCore, image: RunImage, count: TransferCount): Promise<void> {
  const { outcome } = await core.untilNotBusy((store) => store.transfers.arrive({ image }));
  if (outcome === "arrived") count.runs += 1;
  else count.skip(image.run, outcome === "exists" ? "run_exists" : outcome);
}

/** `runs`: how many this call has stored before. */
function invalidExport(error: unknown, line: number, runs: number): unknown {
  const fault =
    error instanceof LineTooLong
      ? `is longer than ${LINE_BYTES_MAX} bytes`
      : error instanceof Fault
        ? error.message
        : undefined;
  if (fault === undefined) return error;
  return new HoldfastError("invalid_export", `import: line ${line} ${fault}.`, { data: { line, runs } });
}
