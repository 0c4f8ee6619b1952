// Paints the visible rows of the timeline. Ten thousand bars take a few milliseconds this way.
import { durationText } from "../../text/duration-text.ts";
import { placeOf, type Tick, type TimeScale } from "./time-scale.ts";
import type { Palette } from "./timeline-colors.ts";
import { spanOf } from "./timeline-ops.ts";
import { type Bar, barsOf, type TimelineRow } from "./timeline-rows.ts";

export const ROW_HEIGHT = 32;
const BAR_TOP = 8;
const BAR_HEIGHT = 16;
const LEAST_WIDTH = 2;

export interface Picture {
  readonly rows: readonly TimelineRow[];
  readonly scale: TimeScale;
  readonly ticks: readonly Tick[];
  /** Milliseconds since the run was created; undefined if the run has ended. */
  readonly now: number | undefined;
  readonly deadline: number | undefined;
  readonly showCritical: boolean;
  readonly palette: Palette;
  readonly width: number;
  readonly height: number;
  readonly scrollTop: number;
}

/** For bars of rows that go on: until now, or until the last thing that happened. */
export function paintTimeline(context: CanvasRenderingContext2D, picture: Picture): void {
  const { rows, scale, width, height, scrollTop, palette } = picture;
  context.clearRect(0, 0, width, height);
  context.font = palette.font;
  context.textBaseline = "middle";
  paintGrid(context, picture);
  const first = Math.max(0, Math.floor(scrollTop / ROW_HEIGHT));
  const last = Math.min(rows.length, Math.ceil((scrollTop + height) / ROW_HEIGHT));
  const end = picture.now ?? scale.to;
  for (let index = first; index < last; index++) {
    const row = rows[index];
    if (row === undefined) continue;
    const top = index * ROW_HEIGHT - scrollTop;
    paintRow(context, picture, row, top, end);
  }
}

function paintGrid(context: CanvasRenderingContext2D, picture: Picture): void {
  const { scale, ticks, palette, width, height, now, deadline } = picture;
  context.fillStyle = palette.line;
  for (const { place } of ticks) context.fillRect(Math.round(place * width), 0, 1, height);
  for (const { gap, left, right } of scale.stretches) {
    if (gap) paintBreak(context, ((left + right) / 2) * width, height, palette);
  }
  if (deadline !== undefined && deadline <= scale.to)
    paintDashed(context, placeOf(scale, deadline) * width, height, palette.failed);
  if (now === undefined || now < scale.from) return;
  context.fillStyle = palette.running;
  context.fillRect(Math.min(width - 2, Math.round(placeOf(scale, now) * width)), 0, 2, height);
}

/** Two slanted strokes, again and again: here is time left out. */
function paintBreak(context: CanvasRenderingContext2D, x: number, height: number, palette: Palette): void {
  context.save();
  context.beginPath();
  context.rect(x - 6, 0, 12, height);
  context.clip();
  context.strokeStyle = palette.line;
  context.lineWidth = 2;
  for (let y = -12; y < height + 12; y += 6) line(context, x - 8, y + 8, x + 8, y);
  context.restore();
}

function paintDashed(context: CanvasRenderingContext2D, x: number, height: number, color: string): void {
  context.save();
  context.strokeStyle = color;
  context.setLineDash([3, 3]);
  line(context, Math.round(x) - 0.5, 0, Math.round(x) - 0.5, height);
  context.restore();
}

function paintRow(
  context: CanvasRenderingContext2D,
  picture: Picture,
  row: TimelineRow,
  top: number,
  end: number,
): void {
  const { scale, palette, width, showCritical } = picture;
  if (row.expectedMs !== undefined) return paintExpected(context, picture, row, top);
  let right = 0;
  for (const op of row.ops) {
    for (const bar of barsOf(op, end)) {
      const box = boxOf(scale, bar, width);
      if (box === undefined) continue;
      paintBar(context, bar, box, top, palette);
      if (bar.critical && showCritical && bar.kind !== "backoff" && bar.kind !== "queued") {
        context.fillStyle = palette.accent;
        context.fillRect(box.x, top + BAR_TOP + BAR_HEIGHT + 2, box.width, 2);
      }
      right = Math.max(right, box.x + box.width);
    }
  }
  const only = row.ops.length === 1 ? row.ops[0] : undefined;
  if (only === undefined) return;
  const { from, to } = spanOf(only, end);
  paintLabel(
    context,
    picture,
    only.ended === undefined && to - from < 1 ? "" : durationText(to - from),
    top,
    right,
    placeOf(scale, from) * width,
  );
}

function paintLabel(
  context: CanvasRenderingContext2D,
  picture: Picture,
  text: string,
  top: number,
  right: number,
  left: number,
): void {
  const { palette, width } = picture;
  const size = context.measureText(text).width;
  context.fillStyle = palette["text-2"];
  if (right + 8 + size < width) context.fillText(text, right + 6, top + ROW_HEIGHT / 2);
  else if (left - 8 - size > 0) context.fillText(text, left - 6 - size, top + ROW_HEIGHT / 2);
  else if (right - left > size + 16) {
    context.fillStyle = palette.surface;
    context.fillRect((left + right - size) / 2 - 4, top + BAR_TOP + 1, size + 8, BAR_HEIGHT - 2);
    context.fillStyle = palette.text;
    context.fillText(text, (left + right - size) / 2, top + ROW_HEIGHT / 2);
  }
}

function paintExpected(context: CanvasRenderingContext2D, picture: Picture, row: TimelineRow, top: number): void {
  const { scale, palette, width } = picture;
  const from = picture.now ?? scale.to;
  const x = Math.min(placeOf(scale, from) * width + 4, width - 24);
  const size = Math.max(
    16,
    Math.min(width - x - 2, (placeOf(scale, from + (row.expectedMs ?? 0)) - placeOf(scale, from)) * width),
  );
  outline(context, { x, width: size }, top, palette["line-strong"], [3, 3]);
}

interface Box {
  readonly x: number;
  readonly width: number;
}

function boxOf(scale: TimeScale, bar: Bar, width: number): Box | undefined {
  const from = placeOf(scale, bar.from) * width;
  const to = placeOf(scale, bar.to) * width;
  if (to < 0 || from > width) return undefined;
  const x = Math.max(0, from);
  return { x, width: Math.max(LEAST_WIDTH, Math.min(width, to) - x) };
}

function paintBar(context: CanvasRenderingContext2D, bar: Bar, box: Box, top: number, palette: Palette): void {
  switch (bar.kind) {
    case "queued":
      return outline(context, box, top, palette["line-strong"], [3, 3]);
    case "backoff":
      return paintDots(context, box, top, palette);
    case "failed":
      return paintHatched(context, box, top, palette);
    case "wait":
      fill(context, box, top, palette["waiting-soft"]);
      return outline(context, box, top, palette.waiting, []);
    case "running":
      fill(context, box, top, palette["running-soft"]);
      return outline(context, box, top, palette.running, []);
    default:
      return fill(context, box, top, bar.kind === "child" ? palette.continued : palette.completed);
  }
}

function fill(context: CanvasRenderingContext2D, box: Box, top: number, color: string): void {
  context.fillStyle = color;
  context.beginPath();
  context.roundRect(box.x, top + BAR_TOP, box.width, BAR_HEIGHT, 2);
  context.fill();
}

function outline(context: CanvasRenderingContext2D, box: Box, top: number, color: string, dash: number[]): void {
  context.save();
  context.strokeStyle = color;
  context.setLineDash(dash);
  context.strokeRect(box.x + 0.5, top + BAR_TOP + 0.5, Math.max(1, box.width - 1), BAR_HEIGHT - 1);
  context.restore();
}

function paintDots(context: CanvasRenderingContext2D, box: Box, top: number, palette: Palette): void {
  context.fillStyle = palette["line-strong"];
  for (let x = box.x + 2; x < box.x + box.width - 1; x += 5) context.fillRect(x, top + ROW_HEIGHT / 2 - 1, 2, 2);
}

function paintHatched(context: CanvasRenderingContext2D, box: Box, top: number, palette: Palette): void {
  fill(context, box, top, palette["failed-soft"]);
  context.save();
  context.beginPath();
  context.rect(box.x, top + BAR_TOP, box.width, BAR_HEIGHT);
  context.clip();
  context.strokeStyle = palette.failed;
  context.lineWidth = 2;
  for (let x = box.x - BAR_HEIGHT; x < box.x + box.width; x += 6) {
    line(context, x, top + BAR_TOP + BAR_HEIGHT, x + BAR_HEIGHT, top + BAR_TOP);
  }
  context.restore();
  outline(context, box, top, palette.failed, []);
}

function line(context: CanvasRenderingContext2D, x1: number, y1: number, x2: number, y2: number): void {
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  context.stroke();
}
