import type { RunRow, WorkflowPage } from "../../../src/api/api-messages.ts";
import { curlOf, target, within } from "../../api/api-client.ts";
import { useItem, useNamespace, useRead } from "../../api/reads.ts";
import { useMay } from "../../api/session.tsx";
import { Answer, Empty } from "../../components/answers.tsx";
import { Button } from "../../components/button.tsx";
import { CopyAs } from "../../components/copy-as.tsx";
import { Page as Frame, Panel } from "../../components/page.tsx";
import { Sparkline } from "../../components/sparkline.tsx";
import { Status, stateOf } from "../../components/status.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Age } from "../../components/time.tsx";
import { PageLink, pagePath, RunLink } from "../../links.tsx";
import { useSearchState } from "../../search-state.ts";
import { countText } from "../../text/count-text.ts";
import { durationText } from "../../text/duration-text.ts";
import { safeLine } from "../../text/safe-text.ts";
import { codeText } from "../../text/shell-text.ts";
import { Labeled } from "../parts/labeled.tsx";
import { StartDialog } from "./start-dialog.tsx";
import { VersionsPanel } from "./versions-panel.tsx";
import styles from "./workflows.module.css";

export function Page() {
  const name = useItem();
  const namespace = useNamespace();
  const [search, setSearch] = useSearchState();
  const may = useMay("writer");
  const read = useRead<WorkflowPage>(within("workflows", name), {}, { live: ["overview"], everyMs: 10_000 });
  const crumbs = [{ label: "Workflows", to: pagePath(namespace, "workflows") }, { label: safeLine(name) }];
  const actions = (
    <>
      {may ? (
        <Button kind="primary" onClick={() => setSearch({ do: "start" }, { replace: true })}>
          Start run…
        </Button>
      ) : null}
      <PageLink page="grid" search={{ workflow: name }} button>
        Grid
      </PageLink>
      <PageLink page="runs" search={{ workflow: name }} button>
        Runs
      </PageLink>
      <CopyAs
        cli={["holdfast", "workflow", "list", "--workflow", name, ...target(namespace)]}
        curl={curlOf(within(namespace, "workflows", name))}
        typescript={`await hf.list({ workflow: ${codeText(name)} })`}
      />
    </>
  );
  return (
    <Frame title={safeLine(name)} mono crumbs={crumbs} actions={actions}>
      <Answer read={read}>
        {(page) => (
          <>
            <WorkflowView page={page} />
            {may && search["do"] === "start" ? (
              <StartDialog page={page} onClose={() => setSearch({ do: undefined }, { replace: true })} />
            ) : null}
          </>
        )}
      </Answer>
    </Frame>
  );
}

function WorkflowView({ page }: { readonly page: WorkflowPage }) {
  return (
    <>
      <Rates rates={page.rates} />
      <VersionsPanel workflow={page.workflow} />
      <Durations durations={page.durations} workflow={page.workflow.name} />
      <div className={styles.columns}>
        <Recent runs={page.runs} />
        <Messages page={page} />
      </div>
    </>
  );
}

function Rates({ rates }: { readonly rates: WorkflowPage["rates"] }) {
  const figures = [
    ["started", rates.started, "accent"],
    ["ended", rates.ended, "completed"],
    ["failed", rates.failed, "failed"],
    ["retried", rates.retried, "waiting"],
  ] as const;
  return (
    <Panel title="The last hour">
      <div className={styles.figures}>
        {figures.map(([name, values, color]) => (
          <div key={name}>
            <span className="soft">{name}</span>
            <b>{countText(values.reduce((sum, value) => sum + value, 0))}</b>
            <Sparkline
              values={values}
              color={color}
              label={`Runs ${name} per minute, most ${Math.max(0, ...values)}`}
            />
          </div>
        ))}
      </div>
    </Panel>
  );
}

function Durations({
  durations,
  workflow,
}: {
  readonly durations: WorkflowPage["durations"];
  readonly workflow: string;
}) {
  return (
    <Panel
      title="Durations of ops"
      actions={<span className="push faint">of the newest 50 runs that ended, the newest at the right</span>}
    >
      {durations.length === 0 ? (
        <Empty title="No run has ended yet" />
      ) : (
        <div className={styles.charts} role="table" aria-label="Durations of ops">
          <div className={`${styles.chart} ${styles.head}`} role="row">
            <span role="columnheader">Op</span>
            <span role="columnheader">Over time</span>
            <span role="columnheader">Median</span>
            <span role="columnheader">95th of 100</span>
            <span role="columnheader">Failures</span>
          </div>
          {durations.map(({ op, kind, ms, p50, p95, failures }) => (
            <div key={op} className={styles.chart} role="row">
              <span role="cell">
                <PageLink page="grid" search={{ workflow, op }} className="mono" title={safeLine(op)}>
                  {safeLine(op)} <span className="faint">{safeLine(kind)}</span>
                </PageLink>
              </span>
              <span role="cell">
                <Sparkline
                  values={ms}
                  label={`Durations of ${safeLine(op)}, most ${durationText(Math.max(0, ...ms))}`}
                />
              </span>
              <span role="cell">
                <Labeled name="median">{durationText(p50)}</Labeled>
              </span>
              <span role="cell">
                <Labeled name="95th">{durationText(p95)}</Labeled>
              </span>
              <span role="cell">
                <Labeled name="failures">{failures}</Labeled>
              </span>
            </div>
          ))}
        </div>
      )}
    </Panel>
  );
}

const RUN_COLUMNS: readonly Column<RunRow>[] = [
  { id: "state", header: "State", width: "108px", cell: ({ state }) => <Status value={stateOf(state)} /> },
  {
    id: "id",
    header: "Run",
    narrow: "title",
    width: "minmax(120px,1.4fr)",
    cell: ({ id, runId }) => <RunLink id={id} runId={runId} />,
  },
  { id: "version", header: "Version", width: "64px", cell: ({ version }) => `@ ${safeLine(version)}` },
  { id: "age", header: "Created", width: "104px", align: "right", cell: ({ createdAt }) => <Age at={createdAt} /> },
];

function Recent({ runs }: { readonly runs: readonly RunRow[] }) {
  return (
    <Panel title="Newest runs">
      {runs.length === 0 ? (
        <Empty title="No run has been started yet" />
      ) : (
        <Table label="Newest runs" columns={RUN_COLUMNS} rows={runs} rowKey={({ runId }) => runId} />
      )}
    </Panel>
  );
}

function Messages({ page: { signals, updates, queries } }: { readonly page: WorkflowPage }) {
  const kinds = [
    ["Signals", signals],
    ["Updates", updates],
    ["Queries", queries],
  ] as const;
  return (
    <Panel title="What its runs can be sent">
      <div className={styles.pad}>
        {kinds.map(([kind, names]) => (
          <p key={kind}>
            <span className="faint">{kind}: </span>
            {names.length === 0 ? <span className="faint">none known</span> : <code>{safeLine(names.join(", "))}</code>}
          </p>
        ))}
      </div>
    </Panel>
  );
}
