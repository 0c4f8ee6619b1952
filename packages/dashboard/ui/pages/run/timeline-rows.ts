// Which ops share a row, and what is drawn in it.
import { nameOfOp, type TimelineOp } from "./timeline-ops.ts";

export interface TimelineRow {
  /** Of the op, or of all ops in the row. */
  readonly name: string;
  readonly ops: readonly TimelineOp[];
  /** "usually next": from recent runs, not from this one. */
  readonly expectedMs?: number;
}

export type BarKind = "done" | "failed" | "queued" | "backoff" | "wait" | "running" | "child" | "expected";

export interface Bar {
  readonly kind: BarKind;
  readonly from: number;
  readonly to: number;
  readonly critical: boolean;
}

/** Above this many ops, rows merge by name. */
export const ROWS_MAX = 5000;

export function rowsOf(ops: readonly TimelineOp[], by: "op" | "name"): TimelineRow[] {
  if (by === "op" && ops.length <= ROWS_MAX) return ops.map((op) => ({ name: op.op, ops: [op] }));
  const rows = new Map<string, TimelineOp[]>();
  for (const op of ops) {
    const name = nameOfOp(op.op);
    const row = rows.get(name);
    if (row === undefined) rows.set(name, [op]);
    else row.push(op);
  }
  return [...rows].map(([name, members]) => ({ name, ops: members }));
}

/** Kinds of ops that wait for something outside rather than work. */
const WAITING_KINDS = ["receive", "signal", "sleep", "timer", "condition", "update", "external"];

/** Queued, each attempt, the backoff after it, and the last attempt or the wait. */
export function barsOf(op: TimelineOp, now: number): Bar[] {
  const bars: Bar[] = [];
  const { critical, failures } = op;
  const push = (kind: BarKind, from: number | undefined, to: number | undefined) => {
    if (from !== undefined && to !== undefined && to >= from) bars.push({ kind, from, to, critical });
  };
  const firstStart = failures[0]?.began ?? op.began;
  if (firstStart !== undefined && op.asked !== undefined && firstStart - op.asked >= 1)
    push("queued", op.asked, firstStart);
  let free = firstStart ?? op.asked;
  for (const failure of failures) {
    push("failed", failure.began ?? free, failure.ended);
    free = failure.ended;
    if (failure.retry !== undefined) {
      push("backoff", failure.ended, Math.min(failure.retry, op.ended ?? Math.max(now, failure.retry)));
      free = failure.retry;
    }
  }
  const lastFailed = op.state === "failed" && failures.at(-1)?.ended === op.ended;
  if (lastFailed || op.state === "retrying") return bars;
  const began = op.began !== undefined && (free === undefined || op.began >= free) ? op.began : free;
  push(kindOfLast(op), began ?? op.asked, op.ended ?? Math.max(now, op.asked ?? 0));
  return bars;
}

function kindOfLast(op: TimelineOp): BarKind {
  if (op.state === "failed" || op.state === "canceled") return "failed";
  if (op.kind === "child") return "child";
  if (WAITING_KINDS.some((kind) => op.kind.includes(kind))) return "wait";
  if (op.ended !== undefined) return "done";
  if (op.state === "waiting") return "wait";
  return "running";
}
