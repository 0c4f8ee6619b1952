import type { RunSummary, ScheduleDecisionView, ScheduleSummary } from "holdfast";
import type { Call } from "../../command/call.ts";
import type { Action } from "../../command/verb.ts";
import { shownJson } from "../../output/json-line.ts";
import { statusColor } from "../../output/paint.ts";
import type { Column } from "../../output/table.ts";
import { fullTime, relativeTime } from "../../output/times.ts";
import { harmless } from "../../output/width.ts";
import { showRuns } from "../workflow/list.ts";
import { readTimes, timesText } from "./times.ts";

const DECISIONS_SHOWN = 10;
const TIMES_DEFAULT = 10;
const RUNS_DEFAULT = 20;

export const list: Action = async (call) => {
  const hf = await call.open();
  const rows: ScheduleSummary[] = [];
  let cursor: string | null = null;
  do {
    const page = await hf.schedules.list({ limit: 1_000, ...(cursor === null ? {} : { cursor }) });
    rows.push(...page.schedules);
    cursor = page.cursor;
  } while (cursor !== null);
  const { paint } = call.out;
  const now = call.io.now();
  const columns: readonly Column<ScheduleSummary>[] = [
    { title: "ID", value: ({ id }) => id, cut: "middle", paint: (text) => paint.bold(text) },
    { title: "WORKFLOW", value: ({ workflow }) => workflow, cut: "end" },
    { title: "WHEN", value: ({ spec }) => timesText(spec), cut: "end" },
    { title: "STATUS", value: ({ status }) => status, paint: (text, { status }) => statusColor(paint, status, text) },
    { title: "NEXT", value: ({ nextAt }) => relativeTime(nextAt, now) },
    { title: "LAST", value: ({ lastAt }) => relativeTime(lastAt, now), optional: true },
    {
      title: "FAILURES",
      value: ({ failures }) => (failures === 0 ? "" : String(failures)),
      optional: true,
      align: "right",
      paint: paint.red,
    },
    { title: "NOTE", value: ({ note }) => note ?? "", cut: "end", optional: true },
  ];
  call.out.table(rows, columns, "There are no schedules.");
  return undefined;
};

export const describe: Action = async (call) => {
  const hf = await call.open();
  const schedule = await hf.schedules.get(call.argument("id")).describe();
  const { out, io } = call;
  const now = io.now();
  out.record(schedule);
  out.line(`${out.paint.bold(schedule.id)}  ${statusColor(out.paint, schedule.status)}`);
  out.line();
  out.facts([
    ["workflow", `${schedule.workflow}${schedule.version === null ? "" : `, version ${schedule.version}`}`],
    ["when", timesText(schedule.spec)],
    ["next", schedule.status === "ended" ? "never: it has no further times" : fullTime(schedule.nextAt, now)],
    ["last", fullTime(schedule.lastAt, now)],
    ["overlap", schedule.overlap],
    ["open run", schedule.openId && `${schedule.openId} (${schedule.openStatus})`],
    ["buffered", schedule.buffered === 0 ? "" : String(schedule.buffered)],
    ["failures", schedule.failures === 0 ? "" : `${schedule.failures} in a row: ${harmless(schedule.lastError ?? "")}`],
    ["note", schedule.note],
    ["by", schedule.by],
    ["input", schedule.input === undefined ? "" : harmless(shownJson(schedule.input))],
  ]);
  const decisions = schedule.decisions.slice(-DECISIONS_SHOWN).toReversed();
  if (out.json || decisions.length === 0) return undefined;
  out.heading("Decisions");
  const columns: readonly Column<ScheduleDecisionView>[] = [
    { title: "TIME", value: ({ at }) => fullTime(at, now) },
    { title: "WHAT", value: ({ what }) => what },
    { title: "WHY", value: ({ reason }) => reason ?? "", cut: "end", optional: true },
    { title: "RUN", value: ({ runId }) => runId ?? "", cut: "middle", optional: true },
  ];
  out.table(decisions, columns, "");
  return undefined;
};

export const upcoming: Action = async (call) => {
  const hf = await call.open();
  const times = await hf.schedules.upcoming(call.argument("id"), call.number("count") ?? TIMES_DEFAULT);
  return showTimes(call, times);
};

export const preview: Action = async (call) => {
  // The times of a schedule need no store; the core computes them in its client alone.
  const hf = await call.openAt({ url: "memory:", namespace: undefined, token: undefined, from: "flag" });
  return showTimes(call, await hf.schedules.preview(readTimes(call), call.number("count") ?? TIMES_DEFAULT));
};

function showTimes(call: Call, times: readonly Date[]): undefined {
  for (const at of times) {
    call.out.record({ at });
    call.out.line(fullTime(at, call.io.now()));
  }
  if (times.length === 0) call.out.note("It has no further times.");
  return undefined;
}

export const runs: Action = async (call) => {
  const hf = await call.open();
  const id = call.argument("id");
  await hf.schedules.get(id).describe();
  const page = await hf.schedules.runs(id, { limit: call.number("limit") ?? RUNS_DEFAULT });
  showRuns(call, page.runs as readonly RunSummary[]);
  return undefined;
};
