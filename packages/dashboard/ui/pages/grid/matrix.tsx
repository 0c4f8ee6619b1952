import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, type MouseEvent, memo, useRef, useState } from "react";
import type { Grid, RunRow } from "../../../src/api/api-messages.ts";
import { useNamespace } from "../../api/reads.ts";
import { StatusGlyph, stateOf, wordOf } from "../../components/status.tsx";
import { PageLink, pagePath } from "../../links.tsx";
import { durationText } from "../../text/duration-text.ts";
import { safeLine } from "../../text/safe-text.ts";
import styles from "./grid.module.css";
import type { GridCell, GridRow } from "./run-grid.ts";

export interface MatrixProps {
  readonly grid: Grid;
  readonly rows: readonly GridRow[];
  /** An op whose row is marked. */
  readonly marked: string | undefined;
}

/** One tab stop: arrow keys move in the grid, Enter opens the op of that run. */
function useGridKeys({ grid, rows }: Pick<MatrixProps, "grid" | "rows">) {
  const table = useRef<HTMLTableElement>(null);
  const [at, setAt] = useState({ row: 0, column: 0 });
  const navigate = useNavigate();
  const namespace = useNamespace();
  const open = (row: number, column: number) => {
    const run = grid.runs[column];
    const cell = rows[row]?.cells[column];
    if (run && cell) void navigate({ to: pagePath(namespace, "runs", run.runId), search: { op: cell.op } as never });
  };
  const move = (row: number, column: number) => {
    const next = { row: clamp(row, rows.length), column: clamp(column, grid.runs.length) };
    setAt(next);
    table.current?.querySelector<HTMLElement>(`[data-at="${next.row}.${next.column}"]`)?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const target = placeOf(event.target);
    if (!target) return;
    const step = STEPS[event.key];
    if (step) move(target.row + step[0], target.column + step[1]);
    else if (event.key === "Home") move(target.row, 0);
    else if (event.key === "End") move(target.row, grid.runs.length - 1);
    else if (event.key === "Enter" || event.key === " ") open(target.row, target.column);
    else return;
    event.preventDefault();
  };
  const onClick = (event: MouseEvent) => {
    const target = placeOf(event.target);
    if (target) open(target.row, target.column);
  };
  return { table, at, onKeyDown, onClick };
}

export function Matrix({ grid, rows, marked }: MatrixProps) {
  const { table, at, onKeyDown, onClick } = useGridKeys({ grid, rows });
  return (
    <>
      <div className={styles.scroll}>
        <table
          ref={table}
          className={styles.grid}
          // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: its cells open ops, as in the grid of the ARIA practices
          role="grid"
          aria-label="Runs and their ops"
          onKeyDown={onKeyDown}
          onClick={onClick}
        >
          <thead>
            <tr>
              <th scope="col">Op</th>
              {grid.runs.map((run) => (
                <RunHead key={run.runId} run={run} />
              ))}
              <th scope="col" className={styles.figure}>
                Median
              </th>
              <th scope="col" className={styles.figure}>
                Failed
              </th>
              <th scope="col" className={styles.figure}>
                Retried
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row, index) => (
              <OpRow
                key={row.op}
                row={row}
                runs={grid.runs}
                index={index}
                focus={at.row === index ? at.column : -1}
                marked={row.op === marked}
              />
            ))}
          </tbody>
        </table>
      </div>
      <Legend />
    </>
  );
}

const STEPS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

function RunHead({ run }: { readonly run: RunRow }) {
  const state = stateOf(run.state);
  return (
    <th scope="col">
      <PageLink page="runs" item={run.runId} className={styles.run} title={`${safeLine(run.id)}: ${wordOf(state)}`}>
        <StatusGlyph value={state} label={`${safeLine(run.id)}: ${wordOf(state)}`} />
      </PageLink>
    </th>
  );
}

interface OpRowProps {
  readonly row: GridRow;
  readonly runs: readonly RunRow[];
  readonly index: number;
  /** The column that the tab key reaches; -1: none of this row. */
  readonly focus: number;
  readonly marked: boolean;
}

const OpRow = memo(function OpRow({ row, runs, index, focus, marked }: OpRowProps) {
  return (
    <tr className={marked ? styles.marked : undefined}>
      <th scope="row" title={safeLine(row.op)}>
        <code>{safeLine(row.op)}</code>
      </th>
      {row.cells.map((cell, column) => {
        const run = runs[column];
        const place = { "data-at": `${index}.${column}`, tabIndex: focus === column ? 0 : -1 };
        const key = run?.runId ?? String(column);
        if (cell === null)
          return (
            <td
              key={key}
              {...place}
              className={styles.none}
              aria-label={safeLine(`${row.op} in ${run?.id}: not asked for`)}
            />
          );
        return <Cell key={key} cell={cell} place={place} words={wordsOf(row.op, run?.id ?? "", cell)} />;
      })}
      <td className={styles.figure}>{row.medianMs === null ? "–" : durationText(row.medianMs)}</td>
      <td className={styles.figure}>{row.failed === 0 ? "–" : row.failed}</td>
      <td className={styles.figure}>{row.retried === 0 ? "–" : row.retried}</td>
    </tr>
  );
});

interface CellProps {
  readonly cell: GridCell;
  readonly words: string;
  readonly place: { readonly "data-at": string; readonly tabIndex: number };
}

function Cell({ cell, words, place }: CellProps) {
  const retried = cell.attempts > cell.count;
  return (
    <td
      {...place}
      className={styles.cell}
      aria-label={words}
      title={words}
      data-attempts={cell.count > 1 || retried ? (cell.count > 1 ? cell.count : cell.attempts) : undefined}
      style={{ "--share": cell.share } as object}
    >
      <StatusGlyph value={stateOf(cell.status)} hidden />
    </td>
  );
}

function wordsOf(op: string, run: string, { status, attempts, ms, count }: GridCell): string {
  const parts = [
    ...(count > 1 ? [`${count} ops, the worst ${status}`] : [status]),
    ...(attempts > count ? [`${attempts} attempts`] : []),
    ...(ms === null ? [] : [durationText(ms)]),
  ];
  return safeLine(`${op} in ${run}: ${parts.join(", ")}`);
}

function placeOf(target: EventTarget): { readonly row: number; readonly column: number } | undefined {
  const place = target instanceof Element ? target.closest("[data-at]")?.getAttribute("data-at") : undefined;
  const [row, column] = (place ?? "").split(".").map(Number);
  return row === undefined || column === undefined || !place ? undefined : { row, column };
}

function clamp(value: number, length: number): number {
  return Math.max(0, Math.min(length - 1, value));
}

function Legend() {
  return (
    <div className={styles.legend}>
      {(["completed", "failed", "retrying", "running", "waiting", "canceled"] as const).map((state) => (
        <span key={state}>
          <StatusGlyph value={state} hidden />
          {wordOf(state)}
        </span>
      ))}
      <span>
        <i aria-hidden="true" /> its time, compared with the slowest of the row
      </span>
      <span>small number: attempts, or ops of that name</span>
    </div>
  );
}
