import type { Grid, WorkflowsView } from "../../../src/api/api-messages.ts";
import { useRead } from "../../api/reads.ts";
import { Answer, Empty } from "../../components/answers.tsx";
import { Segments } from "../../components/button.tsx";
import { Page as Frame, Panel } from "../../components/page.tsx";
import { PageLink } from "../../links.tsx";
import { useSearchState } from "../../search-state.ts";
import { safeLine } from "../../text/safe-text.ts";
import { Pager } from "../parts/pager.tsx";
import styles from "./grid.module.css";
import { Matrix } from "./matrix.tsx";
import { OPS_MAX, type Rows, rowsOf } from "./run-grid.ts";

export function Page() {
  const [search] = useSearchState();
  const workflows = useRead<WorkflowsView>("workflows");
  return (
    <Frame title="Grid">
      <Answer read={workflows} isEmpty={(view) => view.workflows.length === 0} empty={<NoWorkflows />}>
        {(view) => <WorkflowGrid view={view} workflow={search["workflow"] ?? busiest(view)} />}
      </Answer>
    </Frame>
  );
}

function NoWorkflows() {
  return (
    <Panel label="Grid">
      <Empty title="There are no workflows yet">
        The grid shows the last 50 runs of a workflow, op by op. Start a worker and a run.
      </Empty>
    </Panel>
  );
}

/** Where nobody has chosen one. */
function busiest({ workflows }: WorkflowsView): string {
  return [...workflows].sort((a, b) => b.started - a.started || (a.name < b.name ? -1 : 1))[0]?.name ?? "";
}

function WorkflowGrid({ view, workflow }: { readonly view: WorkflowsView; readonly workflow: string }) {
  const [search] = useSearchState();
  const { version, cursor } = search;
  const read = useRead<Grid>("grid", { workflow, version, limit: 50, cursor }, { live: ["runs"], everyMs: 10_000 });
  return (
    <Answer read={read}>
      {(grid) => (
        <Panel label="Grid" actions={<Tools view={view} workflow={workflow} grid={grid} />}>
          {grid.runs.length === 0 ? (
            <Empty title={`${safeLine(workflow)} has no runs yet`}>
              <PageLink page="workflows" item={workflow}>
                Start one
              </PageLink>
            </Empty>
          ) : (
            <>
              <Matrix grid={grid} rows={rowsOf(grid, rowsBy(search["rows"], grid))} marked={search["op"]} />
              {grid.opsCapped ? <p className={styles.legend}>Only the first 200 ops are shown.</p> : null}
            </>
          )}
          <Pager cursor={grid.cursor} shown={grid.runs.length} noun="run" />
        </Panel>
      )}
    </Answer>
  );
}

function rowsBy(chosen: string | undefined, { ops }: Grid): Rows {
  if (chosen === "op" || chosen === "name") return chosen;
  return ops.length > OPS_MAX ? "name" : "op";
}

interface ToolsProps {
  readonly view: WorkflowsView;
  readonly workflow: string;
  readonly grid: Grid;
}

function Tools({ view, workflow, grid }: ToolsProps) {
  const [search, setSearch] = useSearchState();
  const names = view.workflows.map(({ name }) => name);
  const versions = view.workflows.find(({ name }) => name === workflow)?.versions ?? [];
  return (
    <div className={styles.bar}>
      <label>
        Workflow
        <select
          value={workflow}
          onChange={(event) =>
            setSearch({ workflow: event.target.value, version: undefined, cursor: undefined, op: undefined })
          }
        >
          {(names.includes(workflow) ? names : [workflow, ...names]).map((name) => (
            <option key={name} value={name}>
              {safeLine(name)}
            </option>
          ))}
        </select>
      </label>
      <label>
        Version
        <select
          value={search["version"] ?? ""}
          onChange={(event) => setSearch({ version: event.target.value || undefined, cursor: undefined })}
        >
          <option value="">all</option>
          {versions.map(({ version }) => (
            <option key={version} value={version}>
              {safeLine(version)}
            </option>
          ))}
        </select>
      </label>
      <Segments
        label="Rows"
        value={rowsBy(search["rows"], grid)}
        options={[
          { value: "op", label: "By op" },
          { value: "name", label: "By name" },
        ]}
        onChange={(rows) => setSearch({ rows })}
      />
      <span className="push faint">newest run first</span>
    </div>
  );
}
