// A dense table of rows. On a narrow screen each row becomes a small card: the column with role "title" comes first, "meta"
// columns share a line, "detail" columns get a line of their own, and those without a place are left out.
import type { ReactNode } from "react";
import styles from "./table.module.css";

export interface Column<Row> {
  readonly id: string;
  readonly header: ReactNode;
  readonly cell: (row: Row) => ReactNode;
  /** A track of CSS grid: "118px", "minmax(150px,1fr)". @defaultValue "minmax(80px,1fr)" */
  readonly width?: string;
  /** Numbers stand at the right. */
  readonly align?: "right";
  /** Where it goes on a narrow screen. @defaultValue "meta" */
  readonly narrow?: "title" | "meta" | "detail" | "hidden";
  /** Several lines instead of an ellipsis. */
  readonly wrap?: boolean;
  readonly sort?: "ascending" | "descending" | undefined;
}

export interface TableProps<Row> {
  /** The accessible name. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  /** Marks rows, as the selected one. */
  readonly selected?: (row: Row) => boolean;
  /** Between the header and the first row. */
  readonly above?: ReactNode;
}

/** Rows and columns with the roles of a table. Put it into a <Panel>. */
export function Table<Row>({ label, columns, rows, rowKey, selected, above }: TableProps<Row>) {
  const tracks = columns.map(({ width }) => width ?? "minmax(80px,1fr)").join(" ");
  return (
    <div role="table" aria-label={label} className={styles.table} style={{ "--tracks": tracks } as object}>
      <div role="row" className={`${styles.row} ${styles.header}`}>
        {columns.map((column) => (
          <span
            key={column.id}
            role="columnheader"
            aria-sort={column.sort}
            className={column.align === "right" ? styles.right : undefined}
          >
            {column.header}
          </span>
        ))}
      </div>
      {above}
      {rows.map((row) => (
        <TableRow key={rowKey(row)} columns={columns} row={row} selected={selected?.(row) ?? false} />
      ))}
    </div>
  );
}

interface TableRowProps<Row> {
  readonly columns: readonly Column<Row>[];
  readonly row: Row;
  readonly selected: boolean;
}

function TableRow<Row>({ columns, row, selected }: TableRowProps<Row>) {
  return (
    <div role="row" className={`${styles.row} ${selected ? styles.selected : ""}`}>
      {columns.map((column) => (
        <span key={column.id} role="cell" className={cellClass(column)}>
          {column.cell(row)}
        </span>
      ))}
    </div>
  );
}

function cellClass<Row>({ align, narrow, wrap }: Column<Row>): string {
  const place = { title: styles.title, meta: styles.meta, detail: styles.detail, hidden: styles.hidden };
  return [align === "right" ? styles.right : "", place[narrow ?? "meta"], wrap ? styles.wrap : ""]
    .filter((name) => name !== "")
    .join(" ");
}

/** The line below a table: how much is loaded, what the keys do. */
export function TableFoot({ children }: { readonly children: ReactNode }) {
  return <div className={styles.foot}>{children}</div>;
}
