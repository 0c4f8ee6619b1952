import type { WorkerEvents } from "../../../src/api/api-messages.ts";
import { useRead } from "../../api/reads.ts";
import { Answer, Empty } from "../../components/answers.tsx";
import { Panel } from "../../components/page.tsx";
import { type State, Status } from "../../components/status.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Age, Time } from "../../components/time.tsx";
import { useSearchState } from "../../search-state.ts";
import { safeLine } from "../../text/safe-text.ts";
import { Pager } from "../parts/pager.tsx";

type Moment = WorkerEvents["events"][number];

const SHAPES: Readonly<Record<Moment["type"], State>> = {
  started: "running",
  heartbeat: "completed",
  stopping: "continued",
  stopped: "terminated",
  died: "failed",
};

const COLUMNS: readonly Column<Moment>[] = [
  {
    id: "what",
    header: "What",
    width: "116px",
    cell: ({ type }) => <Status value={SHAPES[type] ?? "pending"} word={safeLine(type)} />,
  },
  { id: "name", header: "Worker", narrow: "title", cell: ({ name }) => <span className="mono">{safeLine(name)}</span> },
  {
    id: "id",
    header: "Id",
    width: "minmax(80px,1.6fr)",
    narrow: "hidden",
    cell: ({ workerId }) => <span className="mono faint">{workerId}</span>,
  },
  { id: "at", header: "When", width: "140px", cell: ({ at }) => <Time at={at} /> },
  { id: "age", header: "Age", width: "100px", align: "right", cell: ({ at }) => <Age at={at} /> },
];

/** What has happened to the workers of the namespace. */
export function WorkerLog() {
  const [search] = useSearchState();
  const cursor = search["log"];
  const read = useRead<WorkerEvents>("workers/events", { limit: 30, cursor }, { live: ["workers"] });
  return (
    <Panel title="Lifecycle log">
      <Answer
        read={read}
        rows={4}
        isEmpty={({ events }) => events.length === 0}
        empty={
          <Empty title="Nothing has happened yet">Starts, stops and deaths of workers are kept for 30 days.</Empty>
        }
      >
        {(page) => (
          <>
            <Table
              label="Lifecycle log"
              columns={COLUMNS}
              rows={page.events}
              rowKey={({ workerId, type, at }) => `${workerId} ${type} ${at}`}
            />
            <Pager cursor={page.cursor} shown={page.events.length} noun="event" name="log" />
          </>
        )}
      </Answer>
    </Panel>
  );
}
