import type { Client, ListFilter, RunSummary } from "holdfast";
import type { Call } from "../../command/call.ts";
import { readFilter } from "../../command/values.ts";
import type { Action } from "../../command/verb.ts";
import { statusColor } from "../../output/paint.ts";
import { redrawEvery } from "../../output/screen.ts";
import type { Column } from "../../output/table.ts";
import { relativeTime } from "../../output/times.ts";

const PAGE_MAX = 1_000;
const LIMIT_DEFAULT = 20;
const WATCH_MS = 2_000;

export const list: Action = async (call) => {
  const hf = await call.open();
  const filter = readFilter(call) ?? {};
  const limit = call.flag("all") ? Number.POSITIVE_INFINITY : (call.number("limit") ?? LIMIT_DEFAULT);
  const show = (): Promise<undefined> => listOnce(call, hf, filter, limit);
  return call.flag("watch") ? redrawEvery(call, WATCH_MS, show) : show();
};

async function listOnce(call: Call, hf: Client, filter: ListFilter, limit: number): Promise<undefined> {
  const rows: RunSummary[] = [];
  let cursor: string | null = null;
  let printed = 0;
  do {
    const wanted = Math.min(PAGE_MAX, limit - printed - rows.length);
    const page = await hf.list({ ...filter, limit: wanted, ...(cursor === null ? {} : { cursor }) });
    cursor = page.cursor;
    // A program gets each page at once; a table needs all rows for the widths of its columns.
    if (call.out.json) {
      for (const run of page.runs) call.out.record(run);
      printed += page.runs.length;
    } else rows.push(...page.runs);
  } while (cursor !== null && printed + rows.length < limit);
  if (call.out.json) return undefined;
  showRuns(call, rows);
  if (cursor !== null) call.out.note(call.out.errorPaint.dim(`The newest ${rows.length}. More: --limit, or --all.`));
  return undefined;
}

export function showRuns(call: Call, runs: readonly RunSummary[]): void {
  const { paint } = call.out;
  const now = call.io.now();
  const columns: readonly Column<RunSummary>[] = [
    { title: "ID", value: ({ id }) => id, cut: "middle", paint: (text) => paint.bold(text) },
    { title: "WORKFLOW", value: nameOf, cut: "end" },
    { title: "STATUS", value: ({ status }) => status, paint: (text, { status }) => statusColor(paint, status, text) },
    { title: "STARTED", value: ({ createdAt }) => relativeTime(createdAt, now) },
    { title: "ENDED", value: ({ endedAt }) => relativeTime(endedAt, now), optional: true },
    { title: "WHY", value: whyOf, cut: "end", optional: true },
  ];
  call.out.table(runs, columns, "No runs match.");
}

function nameOf({ workflow, version }: RunSummary): string {
  return version === "1" ? workflow : `${workflow}@${version}`;
}

/** Of a run that has completed there is nothing to explain. */
function whyOf({ why, status }: RunSummary): string {
  if (status === "completed") return "";
  return why.kind === "ended" ? (why.error?.code ?? why.error?.kind ?? "") : why.text;
}

export const count: Action = async (call) => {
  const hf = await call.open();
  const counted = await hf.count(readFilter(call) ?? {});
  call.out.line(String(counted));
  call.out.record({ count: counted });
  return undefined;
};
