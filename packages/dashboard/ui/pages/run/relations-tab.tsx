import type { Relations, RunDetail, RunRow } from "../../../src/api/api-messages.ts";
import { within } from "../../api/api-client.ts";
import { runTopic } from "../../api/live.ts";
import { useRead } from "../../api/reads.ts";
import { Answer, Empty } from "../../components/answers.tsx";
import { Panel } from "../../components/page.tsx";
import { Status, stateOf } from "../../components/status.tsx";
import { type Column, Table, TableFoot } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import { WhyText } from "../../components/why-text.tsx";
import { PageLink, RunLink } from "../../links.tsx";
import { safeLine } from "../../text/safe-text.ts";

const COLUMNS: readonly Column<RunRow>[] = [
  { id: "status", header: "Status", width: "118px", cell: (run) => <Status value={stateOf(run.state)} /> },
  {
    id: "run",
    header: "Run",
    narrow: "title",
    width: "minmax(150px,1.2fr)",
    cell: (run) => <RunLink id={run.id} runId={run.runId} />,
  },
  {
    id: "workflow",
    header: "Workflow",
    width: "minmax(90px,.7fr)",
    cell: (run) => `${safeLine(run.workflow)} @ ${safeLine(run.version)}`,
  },
  { id: "why", header: "Why", narrow: "detail", width: "minmax(120px,1.6fr)", cell: (run) => <WhyText row={run} /> },
  { id: "created", header: "Created", width: "132px", cell: (run) => <Time at={run.createdAt} /> },
];

/** Parents, children, the chain of continue-as-new, forks. */
export function RelationsTab({ run }: { readonly run: RunDetail }) {
  const read = useRead<Relations>(within("runs", run.runId, "relations"), {}, { live: [runTopic(run.runId), "runs"] });
  const isEmpty = (relations: Relations) => groupsOf(relations).every(([, runs]) => runs.length === 0);
  return (
    <Answer
      read={read}
      isEmpty={isEmpty}
      empty={<Empty title="No relations">It has no parent, children, forks or other runs of its id.</Empty>}
    >
      {(relations) => (
        <>
          {groupsOf(relations).map(([title, runs]) =>
            runs.length === 0 ? null : (
              <Panel key={title} title={title}>
                <Table
                  label={title}
                  columns={COLUMNS}
                  rows={runs}
                  rowKey={({ runId }) => runId}
                  selected={({ runId }) => runId === run.runId}
                />
                {title === "Children" && relations.childrenCursor !== null ? (
                  <TableFoot>
                    <PageLink page="runs" search={{ parent: run.runId }}>
                      All children
                    </PageLink>
                  </TableFoot>
                ) : null}
              </Panel>
            ),
          )}
        </>
      )}
    </Answer>
  );
}

function groupsOf(relations: Relations): readonly (readonly [string, readonly RunRow[]])[] {
  return [
    ["Parents", relations.ancestors],
    ["Children", relations.children],
    ["Chain", relations.chain.length > 1 ? relations.chain : []],
    ["Forked from", relations.origin === null ? [] : [relations.origin]],
    ["Forks", relations.forks],
    ["Other runs of this id", relations.sameId],
  ];
}
