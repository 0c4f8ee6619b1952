import type { RunAudit, RunDetail } from "../../../src/api/api-messages.ts";
import { within } from "../../api/api-client.ts";
import { runTopic } from "../../api/live.ts";
import { useRead } from "../../api/reads.ts";
import { Answer, Empty } from "../../components/answers.tsx";
import { Panel } from "../../components/page.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import { PageLink } from "../../links.tsx";
import { safeLine } from "../../text/safe-text.ts";

type Entry = RunAudit["entries"][number];

/** What people did to it. */
export function AuditTab({ run }: { readonly run: RunDetail }) {
  const read = useRead<RunAudit>(within("runs", run.runId, "audit"), {}, { live: [runTopic(run.runId)] });
  return (
    <Answer
      read={read}
      isEmpty={({ entries }) => entries.length === 0}
      empty={<Empty title="Nobody did anything to this run" />}
    >
      {({ entries }) => (
        <Panel label="Audit">
          <Table
            label="Audit"
            columns={columnsOf(run)}
            rows={entries}
            rowKey={(entry) => `${entry.at} ${entry.what} ${entry.seq ?? ""}`}
          />
        </Panel>
      )}
    </Answer>
  );
}

function columnsOf(run: RunDetail): readonly Column<Entry>[] {
  return [
    { id: "at", header: "When", width: "150px", cell: ({ at }) => <Time at={at} /> },
    { id: "what", header: "What", narrow: "title", width: "minmax(120px,1fr)", cell: ({ what }) => safeLine(what) },
    { id: "by", header: "Who", width: "minmax(80px,.6fr)", cell: ({ by }) => safeLine(by ?? "") },
    {
      id: "reason",
      header: "Why",
      narrow: "detail",
      width: "minmax(120px,2fr)",
      cell: ({ reason }) => safeLine(reason ?? ""),
    },
    { id: "outcome", header: "Outcome", width: "90px", cell: ({ outcome }) => safeLine(outcome ?? "") },
    {
      id: "seq",
      header: "Event",
      width: "70px",
      align: "right",
      cell: ({ seq }) =>
        seq === null ? (
          ""
        ) : (
          <PageLink page="runs" item={run.runId} search={{ tab: "events", event: String(seq) }}>
            {seq}
          </PageLink>
        ),
    },
  ];
}
