import type { Client, ErrorView, EventView, RunDescription, StepView } from "holdfast";
import type { Call } from "../../command/call.ts";
import { OPEN_STATUSES } from "../../command/run-statuses.ts";
import type { Action } from "../../command/verb.ts";
import { shownJson } from "../../output/json-line.ts";
import { statusColor } from "../../output/paint.ts";
import { redrawEvery } from "../../output/screen.ts";
import type { Column } from "../../output/table.ts";
import { fullTime, shortDuration, stamp } from "../../output/times.ts";
import { harmless } from "../../output/width.ts";

const WATCH_MS = 1_000;

export const describe: Action = async (call) => {
  const hf = await call.open();
  const handle = hf.get(call.argument("id"));
  const run = await handle.describe();
  call.out.record(run);
  if (call.out.json) return undefined;
  showRun(call, run);
  const ops = await handle.steps();
  if (ops.length > 0) {
    call.out.heading("Ops");
    showSteps(call, ops);
  }
  if (run.endedAt === null) {
    const { reason } = await hf.why(run.id);
    call.out.heading("Why");
    call.out.line(harmless(reason));
  }
  return undefined;
};

function showRun(call: Call, run: RunDescription): void {
  const { out, io } = call;
  const now = io.now();
  const width = (out.width ?? 100) - 14;
  out.line(`${out.paint.bold(run.id)}  ${statusColor(out.paint, run.status)}`);
  out.line();
  out.facts([
    ["workflow", `${run.workflow}${run.version === "1" ? "" : `, version ${run.version}`}`],
    ["run id", run.runId],
    ["namespace", run.namespace === "default" ? "" : run.namespace],
    [
      "queue",
      `${run.queue}${run.key === null ? "" : `, key ${run.key}`}${run.priority === 0 ? "" : `, priority ${run.priority}`}`,
    ],
    ["started", fullTime(run.createdAt, now)],
    [
      "ended",
      run.endedAt &&
        `${fullTime(run.endedAt, now)}, after ${shortDuration(run.endedAt.getTime() - run.createdAt.getTime())}`,
    ],
    ["deadline", fullTime(run.deadlineAt, now)],
    ["due", run.endedAt === null ? fullTime(run.availableAt, now) : ""],
    ["worker", run.workerId],
    [
      "attributes",
      Object.entries(run.attributes)
        .map(([key, value]) => `${key}=${harmless(String(value))}`)
        .join(", "),
    ],
    ["parent", run.parent?.id],
    ["fork of", run.forkedFrom?.id],
    ["continued as", run.continuedAs],
    ["events", String(run.historyLength)],
    ["undone", run.compensation],
    ["input", run.input === undefined ? "" : harmless(shownJson(run.input, width))],
    ["output", run.output === undefined ? "" : harmless(shownJson(run.output, width))],
    ["error", run.error === null ? "" : errorText(run.error, out.paint.red)],
  ]);
}

export function errorText(error: ErrorView, paint: (text: string) => string = (text) => text): string {
  const { name, message, code } = error as { readonly name?: string; readonly message: string; readonly code?: string };
  return `${paint(`${name ?? "Error"}: ${harmless(message)}`)}${code === undefined ? "" : ` (${code})`}`;
}

export const history: Action = async (call) => {
  const hf = await call.open();
  const events = await hf.get(call.argument("id")).history();
  const first = events[0]?.at.getTime() ?? 0;
  const { paint } = call.out;
  const columns: readonly Column<EventView>[] = [
    { title: "SEQ", value: ({ seq }) => String(seq), align: "right" },
    {
      title: "AT",
      value: ({ at }) => (at.getTime() === first ? stamp(at) : `+${shortDuration(at.getTime() - first)}`),
    },
    { title: "EVENT", value: ({ type }) => type, paint: (text, { type }) => colorOfEvent(paint, type, text) },
    { title: "OP", value: ({ op }) => op ?? "", cut: "middle", optional: true },
    { title: "DETAILS", value: (event) => detailsOf(event, call.flag("values")), cut: "end", optional: true },
  ];
  call.out.table(events, columns, "It has no events.");
  return undefined;
};

export function detailsOf(event: EventView, values: boolean): string {
  const { attempt, error, fireAt, retryAt, value, data } = event as EventView & { readonly attempt?: number };
  const parts = [
    ...(attempt === undefined || attempt === 1 ? [] : [`attempt ${attempt}`]),
    ...(fireAt === undefined ? [] : [`due ${stamp(fireAt)}`]),
    ...(error === undefined ? [] : [errorText(error)]),
    ...(retryAt === undefined ? [] : [`again at ${stamp(retryAt)}`]),
    ...(data?.by === undefined ? [] : [`by ${data.by}`]),
    ...(data?.reason === undefined ? [] : [data.reason]),
    ...(values && value !== undefined ? [shownJson(value, Number.POSITIVE_INFINITY)] : []),
  ];
  return parts.join(", ");
}

export function colorOfEvent(paint: Call["out"]["paint"], type: string, text = type): string {
  if (/failed|timed_out|terminated|crash/.test(type)) return paint.red(text);
  if (/completed|received|fired/.test(type)) return paint.green(text);
  if (/cancel|parked|paused|retr/.test(type)) return paint.yellow(text);
  return text;
}

export const steps: Action = async (call) => {
  const hf = await call.open();
  const id = call.argument("id");
  if (!call.flag("watch")) return showStepsOf(call, hf, id);
  return redrawEvery(call, WATCH_MS, async () => {
    const status = await hf.get(id).status();
    await showStepsOf(call, hf, id);
    return (OPEN_STATUSES as readonly string[]).includes(status) ? undefined : 0;
  });
};

async function showStepsOf(call: Call, hf: Client, id: string): Promise<undefined> {
  const ops = await hf.get(id).steps();
  if (call.out.json) for (const op of ops) call.out.record(op);
  else if (ops.length === 0) call.out.note("It has no ops yet.");
  else showSteps(call, ops);
  return undefined;
}

export function showSteps(call: Call, ops: readonly StepView[]): void {
  const { paint } = call.out;
  const now = call.io.now();
  const columns: readonly Column<StepView>[] = [
    { title: "OP", value: ({ op }) => op, cut: "middle", paint: (text) => paint.bold(text) },
    { title: "KIND", value: ({ kind }) => kind.replace("_", " ") },
    { title: "STATUS", value: ({ status }) => status, paint: (text, { status }) => statusColor(paint, status, text) },
    {
      title: "ATTEMPTS",
      value: ({ attempts, kind }) => (kind === "step" || kind === "task" ? String(attempts) : ""),
      align: "right",
      optional: true,
    },
    { title: "TOOK", value: (step) => tookOf(step, now), align: "right" },
    { title: "RESULT", value: resultOf, cut: "end", optional: true },
  ];
  call.out.table(ops, columns, "It has no ops yet.");
}

export function tookOf({ startedAt, endedAt, dueAt, status }: StepView, now: number): string {
  if (startedAt && endedAt) return shortDuration(endedAt.getTime() - startedAt.getTime());
  if (dueAt && status !== "completed") return `due in ${shortDuration(Math.max(0, dueAt.getTime() - now))}`;
  return startedAt && status === "running" ? shortDuration(Math.max(0, now - startedAt.getTime())) : "";
}

export function resultOf({ error, output, run, status }: StepView): string {
  // A step that has completed keeps the error of the attempt before.
  if (error !== undefined && status !== "completed") return errorText(error);
  if (run?.id !== undefined) return `run ${run.id}`;
  return output === undefined ? "" : shownJson(output, Number.POSITIVE_INFINITY);
}
