import type { ScheduleRow, SchedulesPage } from "../../../src/api/api-messages.ts";
import { useRead } from "../../api/reads.ts";
import { useMay } from "../../api/session.tsx";
import { Answer, Empty } from "../../components/answers.tsx";
import { Button, Segments } from "../../components/button.tsx";
import { Page as Frame, Panel } from "../../components/page.tsx";
import { Status, stateOf } from "../../components/status.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Age, Time } from "../../components/time.tsx";
import { PageLink, RunLink } from "../../links.tsx";
import { useSearchState } from "../../search-state.ts";
import { safeLine } from "../../text/safe-text.ts";
import { Labeled } from "../parts/labeled.tsx";
import { Pager } from "../parts/pager.tsx";
import { CreateDialog } from "./create-dialog.tsx";
import { ScheduleMark, type ScheduleState, scheduleState } from "./schedule-mark.tsx";
import styles from "./schedules.module.css";

const SHOWN = ["all", "active", "paused", "trouble"] as const;
type Shown = (typeof SHOWN)[number];

const STATES: Readonly<Record<Exclude<Shown, "all">, readonly ScheduleState[]>> = {
  active: ["scheduled", "failing", "waits"],
  paused: ["paused"],
  trouble: ["failing", "waits"],
};

const LABELS: Readonly<Record<Shown, string>> = {
  all: "All",
  active: "Active",
  paused: "Paused",
  trouble: "In trouble",
};

export function Page() {
  const [search, setSearch] = useSearchState();
  const may = useMay("writer");
  const read = useRead<SchedulesPage>(
    "schedules",
    { limit: 100, cursor: search["cursor"] },
    { live: ["schedules"], everyMs: 10_000 },
  );
  const create = may ? <Button onClick={() => setSearch({ new: "1" })}>New schedule…</Button> : undefined;
  return (
    <Frame title="Schedules" {...(create ? { actions: create } : {})}>
      <Answer read={read} isEmpty={({ schedules }) => schedules.length === 0} empty={<NoSchedules />}>
        {(page) => <Schedules page={page} />}
      </Answer>
      {may && search["new"] === "1" ? (
        <CreateDialog onClose={() => setSearch({ new: undefined }, { replace: true })} />
      ) : null}
    </Frame>
  );
}

function NoSchedules() {
  return (
    <Panel label="Schedules">
      <Empty title="There are no schedules">
        A schedule starts a workflow at certain times.
        <br />
        <code>await hf.schedules.create(&#123; id: "nightly", workflow: report, cron: "30 2 * * *" &#125;)</code>
      </Empty>
    </Panel>
  );
}

function Schedules({ page }: { readonly page: SchedulesPage }) {
  const [search, setSearch] = useSearchState();
  const shown = SHOWN.find((one) => one === search["show"]) ?? "all";
  const text = (search["q"] ?? "").toLowerCase();
  const rows = page.schedules.filter((schedule) => isShown(schedule, shown) && matches(schedule, text));
  const bar = (
    <>
      <Segments
        label="Which schedules"
        value={shown}
        options={SHOWN.map((value) => ({ value, label: LABELS[value] }))}
        onChange={(show) => setSearch({ show: show === "all" ? undefined : show })}
      />
      <input
        className={styles.filter}
        type="search"
        aria-label="Filter by id or workflow"
        placeholder="Filter by id or workflow"
        value={search["q"] ?? ""}
        onChange={(event) => setSearch({ q: event.target.value || undefined }, { replace: true })}
      />
    </>
  );
  return (
    <Panel label="Schedules" actions={bar}>
      {rows.length === 0 ? (
        <Empty title="No schedule of this page matches">Choose All, or type another text.</Empty>
      ) : (
        <Table label="Schedules" columns={COLUMNS} rows={rows} rowKey={({ id }) => id} />
      )}
      <Pager cursor={page.cursor} shown={rows.length} noun="schedule" />
    </Panel>
  );
}

function isShown(schedule: ScheduleRow, shown: Shown): boolean {
  return shown === "all" || STATES[shown].includes(scheduleState(schedule));
}

function matches({ id, workflow }: ScheduleRow, text: string): boolean {
  return text === "" || id.toLowerCase().includes(text) || workflow.toLowerCase().includes(text);
}

const COLUMNS: readonly Column<ScheduleRow>[] = [
  { id: "state", header: "State", width: "132px", cell: (schedule) => <ScheduleMark schedule={schedule} /> },
  {
    id: "id",
    header: "Schedule",
    width: "minmax(140px,1.2fr)",
    narrow: "title",
    cell: ({ id }) => (
      <PageLink page="schedules" item={id} className="mono" title={safeLine(id)}>
        {safeLine(id)}
      </PageLink>
    ),
  },
  {
    id: "when",
    header: "When",
    width: "minmax(150px,1.3fr)",
    narrow: "detail",
    cell: ({ when, spec }) => (
      <>
        <code>{safeLine(when)}</code> <span className="faint">{safeLine(spec.timezone ?? "")}</span>
      </>
    ),
  },
  {
    id: "workflow",
    header: "Workflow",
    width: "minmax(100px,.8fr)",
    cell: ({ workflow }) => (
      <PageLink page="workflows" item={workflow}>
        {safeLine(workflow)}
      </PageLink>
    ),
  },
  {
    id: "next",
    header: "Next",
    width: "100px",
    align: "right",
    cell: ({ nextAt }) => (nextAt === null ? <span className="faint">–</span> : <Age at={nextAt} />),
  },
  {
    id: "last",
    header: "Last",
    width: "124px",
    align: "right",
    narrow: "hidden",
    cell: ({ lastAt }) => (lastAt === null ? <span className="faint">never</span> : <Time at={lastAt} />),
  },
  {
    id: "open",
    header: "Open run",
    width: "minmax(110px,1.2fr)",
    narrow: "detail",
    cell: ({ openId, openStatus, buffered }) =>
      openId === null ? (
        <span className="faint">none open</span>
      ) : (
        <>
          <Status value={stateOf(openStatus)} /> <RunLink id={openId} />
          {buffered > 0 ? <span className="faint"> {buffered} wait for it</span> : null}
        </>
      ),
  },
  {
    id: "failures",
    header: "Failures",
    width: "72px",
    align: "right",
    cell: ({ failures, lastError }) => (
      <Labeled name="failed in a row">
        <span title={lastError === null ? undefined : safeLine(lastError)}>{failures}</span>
      </Labeled>
    ),
  },
];
