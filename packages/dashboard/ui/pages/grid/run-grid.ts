/** The last runs of a workflow as a matrix: a row for each op, a column for each run. */
import type { Grid } from "../../../src/api/api-messages.ts";

/** What a run did in a row. In a row that stands for all ops of a name, several: then `status` is the worst of them. */
export interface GridCell {
  /** The op that the cell opens: that of the worst status, the first of them. */
  readonly op: string;
  readonly status: string;
  readonly attempts: number;
  /** Of all of them together; null: none is known. */
  readonly ms: number | null;
  readonly count: number;
  /** `ms` compared with the slowest of the row, 0 to 1. */
  readonly share: number;
}

export interface GridRow {
  /** The id of the op, or the name of several. */
  readonly op: string;
  readonly cells: readonly (GridCell | null)[];
  readonly failed: number;
  readonly retried: number;
  readonly medianMs: number | null;
}

export type Rows = "op" | "name";

const WORST = ["failed", "canceled", "retrying", "running", "waiting", "completed"];

/** With more ops than this, rows stand for names unless one asks for ops. */
export const OPS_MAX = 60;

/** `name`: `charge`, `charge#2` … are one row. */
export function rowsOf({ ops, cells, statuses }: Pick<Grid, "ops" | "cells" | "statuses">, by: Rows): GridRow[] {
  const names = by === "op" ? ops : [...new Set(ops.map(nameOf))];
  const columns = cells.map((column) => {
    const merged = new Map<string, Merged>();
    for (const [index, cell] of column.entries()) {
      const op = ops[index];
      if (cell === null || op === undefined) continue;
      const [status, attempts, ms] = cell;
      merge(merged, by === "op" ? op : nameOf(op), {
        op,
        status: statuses[status] ?? "unknown",
        attempts,
        ms: ms < 0 ? null : ms,
        count: 1,
      });
    }
    return merged;
  });
  return names.map((name) => rowOf(name, columns));
}

/** The name of an op without its number: `charge#2` is `charge`. */
export function nameOf(op: string): string {
  return op.replace(/#\d+$/, "");
}

type Merged = Omit<GridCell, "share">;

function merge(cells: Map<string, Merged>, row: string, cell: Merged): void {
  const before = cells.get(row);
  if (!before) {
    cells.set(row, cell);
    return;
  }
  const worse = rankOf(cell.status) < rankOf(before.status);
  cells.set(row, {
    op: worse ? cell.op : before.op,
    status: worse ? cell.status : before.status,
    attempts: before.attempts + cell.attempts,
    ms: cell.ms === null ? before.ms : (before.ms ?? 0) + cell.ms,
    count: before.count + 1,
  });
}

function rowOf(op: string, columns: readonly ReadonlyMap<string, Merged>[]): GridRow {
  const merged = columns.map((cells) => cells.get(op) ?? null);
  const present = merged.filter((cell) => cell !== null);
  const times = present.flatMap(({ ms }) => (ms === null ? [] : [ms])).sort((a, b) => a - b);
  const slowest = times.at(-1) ?? 0;
  return {
    op,
    cells: merged.map((cell) => cell && { ...cell, share: slowest === 0 ? 0 : (cell.ms ?? 0) / slowest }),
    failed: present.filter(({ status }) => status === "failed").length,
    retried: present.filter(({ attempts, count }) => attempts > count).length,
    medianMs: times[Math.floor((times.length - 1) / 2)] ?? null,
  };
}

/** Smaller is worse. */
function rankOf(status: string): number {
  const rank = WORST.indexOf(status);
  return rank === -1 ? WORST.length : rank;
}
