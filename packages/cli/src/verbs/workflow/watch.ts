/** `workflow watch`: a timeline of the ops of a run while it goes on. */
import type { Client, RunSummary, StepView, WatchedEvent } from "holdfast";
import type { Call } from "../../command/call.ts";
import type { Action } from "../../command/verb.ts";
import { EXIT } from "../../io/exit-code.ts";
import { statusColor } from "../../output/paint.ts";
import { Screen } from "../../output/screen.ts";
import { relativeTime, shortDuration } from "../../output/times.ts";
import { cutEnd, cutMiddle, harmless, oneLine, padEnd, padStart } from "../../output/width.ts";
import { colorOfEvent, detailsOf, resultOf, tookOf } from "./describe.ts";

/** How often a timeline is drawn although nothing has been recorded: bars of running ops grow. */
const TICK_MS = 500;
const BAR_WIDTH_MAX = 24;
const BAR_WIDTH_MIN = 8;
/** Status, attempts, time, and the gaps between all columns. */
const OTHER_WIDTH = 35;
const OP_WIDTH_MAX = 28;
const RESULT_WIDTH_MIN = 16;

export const watch: Action = async (call) => {
  const hf = await call.open();
  const id = call.argument("id");
  const from = call.number("from", 0);
  const events = hf.watch(id, from === undefined ? {} : { from });
  return call.out.isTerminal ? watchOnTerminal(call, hf, id, events) : watchInPipe(call, hf, id, events);
};

async function watchInPipe(call: Call, hf: Client, id: string, events: AsyncGenerator<WatchedEvent>): Promise<number> {
  for (;;) {
    const next = await call.unlessInterrupted(events.next());
    if (next.done === true) break;
    const event = next.value;
    call.out.record(event);
    const details = detailsOf(event, false);
    call.out.line(
      [
        event.at.toISOString(),
        padStart(String(event.seq), 4),
        colorOfEvent(call.out.paint, event.type),
        event.op,
        details,
      ]
        .filter((part) => part !== null && part !== "")
        .join("  "),
    );
  }
  return endCode(await hf.get(id).describe());
}

async function watchOnTerminal(
  call: Call,
  hf: Client,
  id: string,
  events: AsyncGenerator<WatchedEvent>,
): Promise<number> {
  const screen = new Screen(call.io);
  let next: Promise<IteratorResult<WatchedEvent, void>> | undefined;
  try {
    for (;;) {
      const run = await hf.get(id).describe();
      const ops = await hf.get(id).steps();
      screen.draw(timeline(call, run, ops));
      if (run.endedAt !== null && run.continuedAs === null) return endCode(run);
      next ??= events.next();
      // Many events at once are drawn once: what is recorded by then is on the next picture.
      const tick = new AbortController();
      const arrived = next.then(({ done }) => {
        next = undefined;
        return done === true;
      });
      await call
        .unlessInterrupted(Promise.race([arrived, call.io.wait(TICK_MS, tick.signal)]))
        .finally(() => tick.abort());
    }
  } finally {
    screen.end();
  }
}

function endCode({ status }: RunSummary): number {
  return status === "completed" || status === "continued" ? EXIT.done : EXIT.failed;
}

/** The ops of a run with bars for when they happened: left is the start of the run, right is now or its end. */
export function timeline(
  call: Pick<Call, "out" | "io">,
  run: RunSummary & { readonly error?: { readonly message: string } | null },
  ops: readonly StepView[],
): string[] {
  const { paint, width = 100 } = call.out;
  const now = Math.max(call.io.now(), run.createdAt.getTime());
  const begin = run.createdAt.getTime();
  const end = Math.max(run.endedAt?.getTime() ?? now, begin + 1);
  const mark =
    run.endedAt === null ? paint.cyan("●") : statusColor(paint, run.status, run.status === "completed" ? "✓" : "✗");
  const head = `${mark} ${paint.bold(cutMiddle(oneLine(run.id), 40))}  ${run.workflow}  ${statusColor(paint, run.status)}  ${paint.dim(
    run.endedAt === null ? `started ${relativeTime(run.createdAt, now)}` : `took ${shortDuration(end - begin)}`,
  )}`;
  const opWidth = Math.min(OP_WIDTH_MAX, Math.max(2, ...ops.map(({ op }) => op.length)));
  const room = width - opWidth - OTHER_WIDTH;
  const barWidth = Math.min(BAR_WIDTH_MAX, Math.max(BAR_WIDTH_MIN, room - RESULT_WIDTH_MIN));
  const rest = Math.max(0, room - barWidth);
  const rows = ops.map((op) => {
    const bar = barOf(op, { begin, end, now, width: barWidth });
    const attempts = op.attempts > 1 ? paint.yellow(`×${op.attempts}`) : "";
    return [
      padEnd(cutMiddle(oneLine(op.op), opWidth), opWidth),
      statusColor(paint, op.status, bar),
      padEnd(statusColor(paint, op.status), 9),
      padEnd(attempts, 4),
      padStart(tookOf(op, now), 12),
      paint.dim(cutEnd(oneLine(resultOf(op)), rest)),
    ]
      .join("  ")
      .trimEnd();
  });
  const foot = run.endedAt === null ? [paint.dim(`waits for: ${oneLine(run.why.text)}`)] : [];
  const error = run.error ? [paint.red(cutEnd(oneLine(harmless(run.error.message)), width))] : [];
  return [head, "", ...(rows.length === 0 ? [paint.dim("no ops yet")] : rows), "", ...foot, ...error];
}

interface Span {
  readonly begin: number;
  readonly end: number;
  readonly now: number;
  /** Of the bar, in columns. */
  readonly width: number;
}

function barOf({ startedAt, endedAt, status, dueAt }: StepView, { begin, end, now, width }: Span): string {
  const span = end - begin;
  const column = (at: number): number => Math.round((Math.min(Math.max(at - begin, 0), span) / span) * (width - 1));
  const open = status === "running" || status === "waiting" || status === "retrying";
  if (startedAt === undefined && endedAt === undefined && dueAt === undefined && !open) return " ".repeat(width);
  const from = column((startedAt ?? endedAt)?.getTime() ?? now);
  const to = Math.max(from, column(endedAt?.getTime() ?? (open ? end : (startedAt?.getTime() ?? now))));
  const body = status === "waiting" ? "╌" : "━";
  return " ".repeat(from) + body.repeat(to - from + 1) + " ".repeat(width - 1 - to);
}
