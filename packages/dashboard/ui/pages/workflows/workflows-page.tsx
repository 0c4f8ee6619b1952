import type { WorkflowRow, WorkflowsView } from "../../../src/api/api-messages.ts";
import { useRead } from "../../api/reads.ts";
import { Answer, Command, Empty } from "../../components/answers.tsx";
import { Tag } from "../../components/chips.tsx";
import { Page as Frame, Panel } from "../../components/page.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { PageLink } from "../../links.tsx";
import { cappedText, countText } from "../../text/count-text.ts";
import { safeLine } from "../../text/safe-text.ts";
import { Labeled } from "../parts/labeled.tsx";
import { shareText } from "./version-state.ts";
import styles from "./workflows.module.css";

export function Page() {
  const read = useRead<WorkflowsView>("workflows", {}, { live: ["overview"], everyMs: 10_000 });
  return (
    <Frame title="Workflows">
      <Answer read={read} isEmpty={({ workflows }) => workflows.length === 0} empty={<NoWorkflows />}>
        {({ workflows }) => (
          <Panel label="Workflows">
            <Table label="Workflows" columns={COLUMNS} rows={workflows} rowKey={({ name }) => name} />
          </Panel>
        )}
      </Answer>
    </Frame>
  );
}

function NoWorkflows() {
  return (
    <Panel label="Workflows">
      <Empty title="No worker has offered a workflow yet">
        Start one, and its workflows and versions are listed here.
        <br />
        <Command>await hf.worker(&#123; workflows: [order] &#125;).start()</Command>
      </Empty>
    </Panel>
  );
}

const COLUMNS: readonly Column<WorkflowRow>[] = [
  {
    id: "name",
    header: "Workflow",
    width: "minmax(140px,1.2fr)",
    narrow: "title",
    cell: ({ name }) => (
      <PageLink page="workflows" item={name} className="mono" title={safeLine(name)}>
        {safeLine(name)}
      </PageLink>
    ),
  },
  {
    id: "versions",
    header: "Versions",
    width: "minmax(180px,2fr)",
    narrow: "detail",
    wrap: true,
    cell: ({ versions }) => (
      <span className={styles.versions}>
        {versions.map(({ version, isDefault, share, deprecated }) => (
          <Tag key={version}>
            {safeLine(version)}
            {isDefault ? " default" : ""}
            {share > 0 ? ` canary ${shareText(share)}` : ""}
            {deprecated ? " deprecated" : ""}
          </Tag>
        ))}
      </span>
    ),
  },
  {
    id: "open",
    header: "Open runs",
    width: "88px",
    align: "right",
    cell: ({ versions, name }) => (
      <Labeled name="open runs">
        <PageLink
          page="runs"
          search={{ workflow: name, status: "pending,running,sleeping,waiting,compensating,parked" }}
        >
          {cappedText(
            versions.reduce((sum, { openRuns }) => sum + openRuns, 0),
            versions.some(({ openCapped }) => openCapped),
          )}
        </PageLink>
      </Labeled>
    ),
  },
  {
    id: "started",
    header: "Started, 1 h",
    width: "92px",
    align: "right",
    cell: ({ started }) => <Labeled name="started in an hour">{countText(started)}</Labeled>,
  },
  {
    id: "ended",
    header: "Ended, 1 h",
    width: "84px",
    align: "right",
    narrow: "hidden",
    cell: ({ ended }) => countText(ended),
  },
  {
    id: "failed",
    header: "Failed, 1 h",
    width: "84px",
    align: "right",
    cell: ({ failed }) => <Labeled name="failed">{countText(failed)}</Labeled>,
  },
  {
    id: "workers",
    header: "Workers",
    width: "72px",
    align: "right",
    narrow: "hidden",
    cell: ({ versions }) => countText(Math.max(0, ...versions.map(({ workers }) => workers))),
  },
  {
    id: "grid",
    header: <span className="vh">Grid</span>,
    width: "64px",
    align: "right",
    cell: ({ name }) => (
      <PageLink page="grid" search={{ workflow: name }}>
        Grid<span className="vh"> of {safeLine(name)}</span>
      </PageLink>
    ),
  },
];
