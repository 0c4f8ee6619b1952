import { useState } from "react";
import type { ParkedGroup, ParkedView, RunRow } from "../../../src/api/api-messages.ts";
import { within } from "../../api/api-client.ts";
import { useAct, useRead } from "../../api/reads.ts";
import { useMay } from "../../api/session.tsx";
import { ActionDialog } from "../../components/action-dialog.tsx";
import { Answer, Empty } from "../../components/answers.tsx";
import { Button } from "../../components/button.tsx";
import { Tag } from "../../components/chips.tsx";
import { Page as Frame, Panel } from "../../components/page.tsx";
import { Status } from "../../components/status.tsx";
import { type Column, Table, TableFoot } from "../../components/table.tsx";
import { Age } from "../../components/time.tsx";
import { WhyText } from "../../components/why-text.tsx";
import { PageLink, RunLink } from "../../links.tsx";
import { useSearchState } from "../../search-state.ts";
import { countOf, countText } from "../../text/count-text.ts";
import { safeLine } from "../../text/safe-text.ts";
import { BatchStrip } from "./batch-strip.tsx";
import { DivergenceView } from "./divergence-view.tsx";
import styles from "./parked.module.css";
import { causeKey, causeText, inOrder, remedyOf } from "./parked-causes.ts";
import { ResumeAllDialog } from "./resume-all-dialog.tsx";

export function Page() {
  const read = useRead<ParkedView>("parked", { limit: 200 }, { live: ["runs"], everyMs: 10_000 });
  return (
    <Frame title="Parked">
      <BatchStrip />
      <Answer read={read} isEmpty={({ groups }) => groups.length === 0} empty={<NothingParked />}>
        {(view) => (
          <>
            <p className="soft">
              {countText(view.seen)}
              {view.capped ? "+" : ""} {view.seen === 1 ? "run needs" : "runs need"} somebody, by cause. What one fix
              brings back stands together.
            </p>
            {inOrder(view.groups).map((group) => (
              <Cause key={causeKey(group)} group={group} />
            ))}
          </>
        )}
      </Answer>
    </Frame>
  );
}

function NothingParked() {
  return (
    <Panel label="Parked">
      <Empty title="Nothing is parked">
        Runs that no code here can continue, that a person has paused, or whose compensation failed are listed here.
      </Empty>
    </Panel>
  );
}

function Cause({ group }: { readonly group: ParkedGroup }) {
  const { cause, workflow, count, message, runs } = group;
  const [search, setSearch] = useSearchState();
  const [one, setOne] = useState<RunRow>();
  const [all, setAll] = useState(false);
  const may = useMay("writer");
  const { title, advice } = causeText(cause);
  const remedy = remedyOf(cause);
  const select = (run: string | undefined) => setSearch({ run }, { replace: true });
  const shown = cause === "replay_divergence" ? runs.find(({ runId }) => runId === search["run"]) : undefined;
  const bar = (
    <>
      <h2>{safeLine(title)}</h2>
      <Tag>{countText(count)}</Tag>
      <PageLink page="workflows" item={workflow}>
        {safeLine(workflow)}
      </PageLink>
      {may ? (
        <span className="push">
          <Button onClick={() => setAll(true)}>
            {remedy === "resume" ? "Resume" : "Retry"} all {countText(count)}…
          </Button>
        </span>
      ) : null}
    </>
  );
  return (
    <Panel label={`${safeLine(title)}: ${safeLine(workflow)}`} actions={bar}>
      <div className={styles.about}>
        {message === null ? null : <code>{safeLine(message.split("\n", 1)[0] ?? "")}</code>}
        <span className="soft">{advice}</span>
      </div>
      <Table
        label={`Runs: ${safeLine(title)}, ${safeLine(workflow)}`}
        columns={columnsOf({ cause, remedy, shown: shown?.runId, select, ...(may ? { resume: setOne } : {}) })}
        rows={runs}
        rowKey={({ runId }) => runId}
        selected={({ runId }) => runId === shown?.runId}
      />
      {shown ? <DivergenceView run={shown} /> : null}
      {count > runs.length ? (
        <TableFoot>
          The newest {runs.length} of {countText(count)} are listed.
        </TableFoot>
      ) : null}
      {one ? <ResumeDialog run={one} remedy={remedy} onClose={() => setOne(undefined)} /> : null}
      {all ? <ResumeAllDialog group={group} onClose={() => setAll(false)} /> : null}
    </Panel>
  );
}

interface ColumnParams {
  readonly cause: string;
  readonly remedy: "resume" | "retry";
  readonly shown: string | undefined;
  readonly select: (run: string | undefined) => void;
  readonly resume?: (run: RunRow) => void;
}

function columnsOf({ cause, remedy, shown, select, resume }: ColumnParams): Column<RunRow>[] {
  const columns: Column<RunRow>[] = [
    {
      id: "status",
      header: "State",
      width: "112px",
      cell: ({ status, paused }) =>
        status === "failed" ? (
          <Status value="failed" />
        ) : (
          <Status value="parked" word={paused ? "paused" : undefined} />
        ),
    },
    {
      id: "id",
      header: "Run",
      width: "minmax(150px,1.2fr)",
      narrow: "title",
      cell: ({ id, runId }) => <RunLink id={id} runId={runId} />,
    },
    { id: "version", header: "Version", width: "72px", cell: ({ version }) => <>@ {safeLine(version)}</> },
    {
      id: "why",
      header: "Why",
      width: "minmax(140px,1.4fr)",
      narrow: "detail",
      cell: (run) => <WhyText row={run} />,
    },
    { id: "since", header: "Since", width: "104px", align: "right", cell: ({ updatedAt }) => <Age at={updatedAt} /> },
  ];
  if (cause === "replay_divergence")
    columns.push({
      id: "divergence",
      header: "Divergence",
      width: "104px",
      cell: ({ runId, id }) => (
        <button
          type="button"
          className={styles.link}
          aria-expanded={runId === shown}
          onClick={() => select(runId === shown ? undefined : runId)}
        >
          {runId === shown ? "Hide" : "Side by side"}
          <span className="vh"> of {safeLine(id)}</span>
        </button>
      ),
    });
  if (resume)
    columns.push({
      id: "resume",
      header: <span className="vh">Action</span>,
      width: "92px",
      align: "right",
      cell: (run) => (
        <Button small onClick={() => resume(run)}>
          {remedy === "resume" ? "Resume…" : "Retry…"}
          <span className="vh"> {safeLine(run.id)}</span>
        </Button>
      ),
    });
  return columns;
}

interface ResumeDialogProps {
  readonly run: RunRow;
  readonly remedy: "resume" | "retry";
  readonly onClose: () => void;
}

function ResumeDialog({ run, remedy, onClose }: ResumeDialogProps) {
  const act = useAct();
  const resumes = remedy === "resume";
  return (
    <ActionDialog
      open
      onClose={onClose}
      title={`${resumes ? "Resume" : "Retry"} ${safeLine(run.id)}`}
      description={
        resumes
          ? `A worker takes it up and replays its ${countOf(run.historyLength, "event")}; nothing that is recorded is done again. If the cause is still there, it is parked again.`
          : "It is open again, and what was not undone is tried again."
      }
      confirm={resumes ? "Resume run" : "Retry run"}
      done={`${safeLine(run.id)} was ${resumes ? "resumed" : "taken up again"}`}
      onConfirm={(reason) => act(within("runs", run.runId, remedy), { reason })}
    />
  );
}
