// The ops of a run, from the columns in which they travel.
import type { RunName, Timeline } from "../../../src/api/api-messages.ts";

/** Times are milliseconds since the run was created. */
export interface TimelineOp {
  readonly op: string;
  readonly kind: string;
  readonly state: string;
  /** Undefined: unknown. */
  readonly asked: number | undefined;
  readonly began: number | undefined;
  readonly ended: number | undefined;
  readonly due: number | undefined;
  readonly attempts: number;
  readonly after: number | undefined;
  readonly first: number | undefined;
  readonly last: number | undefined;
  readonly worker: string | undefined;
  readonly group: string | undefined;
  readonly failures: readonly FailedAttempt[];
  readonly run: Partial<RunName> | undefined;
  readonly critical: boolean;
}

export interface FailedAttempt {
  readonly began: number | undefined;
  readonly ended: number;
  /** When the next attempt begins. */
  readonly retry: number | undefined;
  readonly seq: number;
}

export function opsOf(timeline: Timeline): TimelineOp[] {
  const failures = new Map<number, FailedAttempt[]>();
  const { of, began, ended, retry, seq } = timeline.failures;
  for (const [index, op] of of.entries()) {
    const failure = {
      began: known(began[index]),
      ended: ended[index] ?? 0,
      retry: known(retry[index]),
      seq: seq[index] ?? 0,
    };
    const list = failures.get(op);
    if (list === undefined) failures.set(op, [failure]);
    else list.push(failure);
  }
  const runs = new Map(timeline.runs.of.map((op, index) => [op, timeline.runs.run[index]] as const));
  const critical = new Set(timeline.critical);
  return timeline.op.map((op, index) => ({
    op,
    kind: timeline.kinds[timeline.kind[index] ?? -1] ?? "op",
    state: timeline.statuses[timeline.state[index] ?? -1] ?? "pending",
    asked: known(timeline.asked[index]),
    began: known(timeline.began[index]),
    ended: known(timeline.ended[index]),
    due: known(timeline.due[index]),
    attempts: timeline.attempts[index] ?? 0,
    after: known(timeline.after[index]),
    first: known(timeline.first[index]),
    last: known(timeline.last[index]),
    worker: timeline.workers[timeline.worker[index] ?? -1],
    group: timeline.groups[timeline.group[index] ?? -1],
    failures: failures.get(index) ?? [],
    run: runs.get(index),
    critical: critical.has(index),
  }));
}

/** What came later replaces ops of the same name and follows the others. */
export function mergedOps(old: readonly TimelineOp[], later: readonly TimelineOp[]): TimelineOp[] {
  const byName = new Map(later.map((op) => [op.op, op]));
  const merged = old.map((op) => {
    const newer = byName.get(op.op);
    byName.delete(op.op);
    return newer === undefined ? op : { ...newer, critical: op.critical || newer.critical };
  });
  return [...merged, ...byName.values()];
}

/** When an op began to take time, and when it stopped; `now` while it goes on. */
export function spanOf(op: TimelineOp, now: number): { readonly from: number; readonly to: number } {
  const from = op.asked ?? op.failures[0]?.began ?? op.began ?? op.ended ?? 0;
  // Of a fork, what its origin had done has ended before the fork was created: its times are not known here.
  const open = op.state === "running" || op.state === "retrying" || op.state === "waiting";
  return { from, to: Math.max(from, op.ended ?? (open ? now : from)) };
}

/** `charge` for `charge` and `charge#2`: the name that the code gave it. */
export function nameOfOp(op: string): string {
  return op.replace(/#\d+$/, "");
}

/** All times at which anything began or ended, for the scale. */
export function momentsOf(ops: readonly TimelineOp[]): number[] {
  const moments: number[] = [];
  for (const { asked, began, ended, due, failures } of ops) {
    for (const moment of [asked, began, ended, due]) if (moment !== undefined) moments.push(moment);
    for (const failure of failures) {
      for (const moment of [failure.began, failure.ended, failure.retry])
        if (moment !== undefined) moments.push(moment);
    }
  }
  return moments;
}

/** How long the critical path took: without what the run waited for from outside. */
export function criticalMs(ops: readonly TimelineOp[], now: number): number {
  let sum = 0;
  let until = 0;
  for (const op of ops) {
    if (!op.critical) continue;
    const { from, to } = spanOf(op, now);
    sum += Math.max(0, to - Math.max(from, until));
    until = Math.max(until, to);
  }
  return sum;
}

function known(value: number | undefined): number | undefined {
  return value === undefined || value < 0 ? undefined : value;
}
