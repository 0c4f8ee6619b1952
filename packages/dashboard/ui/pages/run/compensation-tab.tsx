import type { CompensationRow, CompensationView, RunDetail } from "../../../src/api/api-messages.ts";
import { within } from "../../api/api-client.ts";
import { runTopic } from "../../api/live.ts";
import { useRead } from "../../api/reads.ts";
import { Answer, Empty } from "../../components/answers.tsx";
import { Panel } from "../../components/page.tsx";
import { type State, Status } from "../../components/status.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Lasted, Time } from "../../components/time.tsx";
import { PageLink } from "../../links.tsx";
import { safeLine } from "../../text/safe-text.ts";
import { errorLine } from "./error-text.tsx";

const STATES: Readonly<Record<CompensationRow["status"], State>> = {
  registered: "pending",
  running: "compensating",
  retrying: "retrying",
  completed: "completed",
  failed: "failed",
};

/** What was undone, and what would be. */
export function CompensationTab({ run }: { readonly run: RunDetail }) {
  const read = useRead<CompensationView>(
    within("runs", run.runId, "compensation"),
    {},
    { live: [runTopic(run.runId)] },
  );
  return (
    <Answer
      read={read}
      isEmpty={({ done, remaining }) => done.length + remaining.length === 0}
      empty={
        <Empty title="No compensations">
          The code has registered none: if the run fails or is canceled, nothing is undone.
        </Empty>
      }
    >
      {({ done, remaining, outcome }) => (
        <>
          {done.length === 0 ? null : (
            <Panel title={outcome === "compensation_failed" ? "Done, but not everything was undone" : "Done"}>
              <Table label="Done" columns={columnsOf(run)} rows={done} rowKey={({ op }) => op} />
            </Panel>
          )}
          {remaining.length === 0 ? null : (
            <Panel title={run.endedAt === null ? "If the run fails or is canceled, the next one first" : "Remaining"}>
              <Table label="Remaining" columns={columnsOf(run)} rows={remaining} rowKey={({ op }) => op} />
            </Panel>
          )}
        </>
      )}
    </Answer>
  );
}

function columnsOf(run: RunDetail): readonly Column<CompensationRow>[] {
  return [
    {
      id: "state",
      header: "State",
      width: "130px",
      cell: ({ status }) => <Status value={STATES[status]} word={status} />,
    },
    { id: "op", header: "Op", narrow: "title", cell: ({ op }) => <code>{safeLine(op)}</code> },
    { id: "attempts", header: "Attempts", width: "80px", align: "right", cell: ({ attempts }) => attempts },
    {
      id: "at",
      header: "Started",
      width: "132px",
      cell: ({ startedAt }) => (startedAt === null ? "" : <Time at={startedAt} />),
    },
    {
      id: "took",
      header: "Took",
      width: "80px",
      align: "right",
      cell: ({ startedAt, endedAt }) =>
        startedAt === null || endedAt === null ? "" : <Lasted from={startedAt} to={endedAt} />,
    },
    {
      id: "error",
      header: "Error",
      narrow: "detail",
      width: "minmax(120px,1.6fr)",
      cell: ({ error, seq }) =>
        error === null ? (
          ""
        ) : (
          <PageLink page="runs" item={run.runId} search={{ tab: "events", event: String(seq ?? 0) }}>
            {errorLine(error)}
          </PageLink>
        ),
    },
  ];
}
