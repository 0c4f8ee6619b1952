import { Status, stateOf } from "../../components/status.tsx";
import { type Column, Table, TableFoot } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import { countText } from "../../text/count-text.ts";
import { durationText } from "../../text/duration-text.ts";
import { safeLine } from "../../text/safe-text.ts";
import { spanOf, type TimelineOp } from "./timeline-ops.ts";
import type { TimelineRow } from "./timeline-rows.ts";

interface TimelineTableProps {
  readonly rows: readonly TimelineRow[];
  readonly end: number;
  readonly createdAt: number;
}

const SHOWN_MAX = 500;

/** The same as the canvas shows, in words and figures. */
export function TimelineTable({ rows, end, createdAt }: TimelineTableProps) {
  const ops = rows.flatMap((row) => row.ops);
  const columns: readonly Column<TimelineOp>[] = [
    { id: "state", header: "State", width: "110px", cell: (op) => <Status value={stateOf(op.state)} /> },
    {
      id: "op",
      header: "Op",
      narrow: "title",
      width: "minmax(120px,1.4fr)",
      cell: (op) => <code>{safeLine(op.op)}</code>,
    },
    { id: "kind", header: "Kind", width: "90px", cell: (op) => op.kind },
    {
      id: "began",
      header: "Asked",
      width: "120px",
      cell: (op) => <Time at={createdAt + spanOf(op, end).from} form="preciseClock" />,
    },
    { id: "attempts", header: "Attempts", align: "right", width: "70px", cell: (op) => op.attempts },
    { id: "critical", header: "Critical path", width: "90px", cell: (op) => (op.critical ? "yes" : "") },
    { id: "worker", header: "Worker", cell: (op) => safeLine(op.worker ?? "") },
    {
      id: "took",
      header: "Took",
      align: "right",
      width: "90px",
      cell: (op) => durationText(spanOf(op, end).to - spanOf(op, end).from),
    },
  ];
  return (
    <>
      <Table label="Ops" columns={columns} rows={ops.slice(0, SHOWN_MAX)} rowKey={({ op }) => op} />
      {ops.length > SHOWN_MAX ? (
        <TableFoot>
          The first {SHOWN_MAX} of {countText(ops.length)} ops. The Events tab has all of them.
        </TableFoot>
      ) : null}
    </>
  );
}
