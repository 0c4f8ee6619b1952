/** Tables that fit the terminal: columns that can be cut give way, the widest first. Where that is not enough, values stand below each other. */
import type { Paint } from "./paint.ts";
import { cutEnd, cutMiddle, oneLine, padEnd, padStart, widthOf } from "./width.ts";

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string;
  readonly align?: "right";
  /** How it is cut; without, it never is. */
  readonly cut?: "end" | "middle";
  /** Colors the cell once it is cut. */
  readonly paint?: (text: string, row: Row) => string;
  /** Left out of the table if no row has anything in it. */
  readonly optional?: boolean;
}

const GAP = "  ";
const NARROWEST = 8;

/** The lines of the table. `width`: of the terminal; undefined if nothing is to be cut. */
export function tableLines<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  width: number | undefined,
  paint: Paint,
): string[] {
  const texts = columns.map((column) => rows.map((row) => oneLine(column.value(row))));
  const shown = columns
    .map((column, index) => ({ column, cells: texts[index] as string[] }))
    .filter(({ column, cells }) => column.optional !== true || cells.some((cell) => cell !== ""));
  const widths = shown.map(({ column, cells }) => Math.max(widthOf(column.title), ...cells.map(widthOf)));
  if (width !== undefined) {
    narrow(shown, widths, width);
    if (totalOf(widths) > width) return stacked(rows, shown, width, paint);
  }
  const line = (cells: readonly string[]): string => cells.join(GAP).trimEnd();
  const head = shown.map(({ column }, index) => fitted(column, column.title, widths[index] as number));
  const body = rows.map((row, at) =>
    line(
      shown.map(({ column, cells }, index) => {
        const cell = fitted(column, cells[at] as string, widths[index] as number);
        return column.paint === undefined ? cell : painted(cell, (text) => column.paint?.(text, row) ?? text);
      }),
    ),
  );
  return [paint.dim(line(head)), ...body];
}

function totalOf(widths: readonly number[]): number {
  return widths.reduce((sum, one) => sum + one, 0) + GAP.length * (widths.length - 1);
}

/** One line for each value, and an empty one between rows. */
function stacked<Row>(
  rows: readonly Row[],
  shown: readonly { readonly column: Column<Row>; readonly cells: readonly string[] }[],
  width: number,
  paint: Paint,
): string[] {
  const titles = Math.max(...shown.map(({ column }) => widthOf(column.title)));
  const room = Math.max(1, width - titles - GAP.length);
  return rows.flatMap((row, at) => [
    ...(at === 0 ? [] : [""]),
    ...shown.flatMap(({ column, cells }) => {
      const cell = cells[at] as string;
      if (cell === "") return [];
      const text = column.cut === "middle" ? cutMiddle(cell, room) : cutEnd(cell, room);
      return [`${paint.dim(padEnd(column.title, titles))}${GAP}${column.paint?.(text, row) ?? text}`];
    }),
  ]);
}

/** Colors the text, not the blanks around it. */
function painted(cell: string, paint: (text: string) => string): string {
  const text = cell.trim();
  return text === "" ? cell : cell.replace(text, () => paint(text));
}

function fitted<Row>({ align, cut }: Column<Row>, text: string, width: number): string {
  const cutText = cut === "middle" ? cutMiddle(text, width) : cutEnd(text, width);
  return align === "right" ? padStart(cutText, width) : padEnd(cutText, width);
}

/** Takes from the widest column that may be cut, until the table fits or nothing can give way any more. */
function narrow<Row>(shown: readonly { readonly column: Column<Row> }[], widths: number[], width: number): void {
  for (;;) {
    const total = totalOf(widths);
    if (total <= width) return;
    let widest = -1;
    for (const [index, { column }] of shown.entries()) {
      const own = widths[index] as number;
      if (column.cut === undefined || own <= NARROWEST) continue;
      if (widest < 0 || own > (widths[widest] as number)) widest = index;
    }
    if (widest < 0) return;
    const next = Math.max(
      NARROWEST,
      ...shown.flatMap(({ column }, index) =>
        index !== widest && column.cut !== undefined && (widths[index] as number) < (widths[widest] as number)
          ? [widths[index] as number]
          : [],
      ),
    );
    const wanted = (widths[widest] as number) - (total - width);
    widths[widest] = Math.max(
      Math.min(wanted, (widths[widest] as number) - 1),
      Math.min(next, (widths[widest] as number) - 1),
    );
  }
}
