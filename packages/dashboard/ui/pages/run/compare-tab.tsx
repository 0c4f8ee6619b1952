import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import type { RunDetail, RunRow, RunsPage } from "../../../src/api/api-messages.ts";
import { useNamespace, useRead } from "../../api/reads.ts";
import { Answer, Empty } from "../../components/answers.tsx";
import { Button } from "../../components/button.tsx";
import { TextField } from "../../components/fields.tsx";
import { Panel } from "../../components/page.tsx";
import { Status, stateOf } from "../../components/status.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import { WhyText } from "../../components/why-text.tsx";
import { PageLink, pagePath } from "../../links.tsx";
import { safeLine } from "../../text/safe-text.ts";
import styles from "./run.module.css";

/** Chooses the run to compare with: recent runs of the same workflow, or an id. */
export function CompareTab({ run }: { readonly run: RunDetail }) {
  const read = useRead<RunsPage>("runs", { workflow: run.workflow, limit: 20 });
  const others = (page: RunsPage) => page.runs.filter(({ runId }) => runId !== run.runId);
  return (
    <Panel title="Compare with">
      <div className={styles.body}>
        <CompareWithId run={run} />
      </div>
      <Answer
        read={read}
        isEmpty={(page) => others(page).length === 0}
        empty={<Empty title={`No other run of ${safeLine(run.workflow)}`} />}
      >
        {(page) => (
          <Table label="Recent runs" columns={columnsOf(run)} rows={others(page)} rowKey={({ runId }) => runId} />
        )}
      </Answer>
    </Panel>
  );
}

function CompareWithId({ run }: { readonly run: RunDetail }) {
  const [id, setId] = useState("");
  const navigate = useNavigate();
  const namespace = useNamespace();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (id.trim() !== "")
      void navigate({ to: pagePath(namespace, "compare"), search: { a: run.runId, b: id.trim() } as never });
  };
  return (
    <form className={styles.beside} onSubmit={submit}>
      <TextField label="Id of a run" value={id} onChange={setId} />
      <Button type="submit" disabled={id.trim() === ""}>
        Compare
      </Button>
    </form>
  );
}

function columnsOf(run: RunDetail): readonly Column<RunRow>[] {
  return [
    { id: "status", header: "Status", width: "118px", cell: (other) => <Status value={stateOf(other.state)} /> },
    {
      id: "run",
      header: "Run",
      narrow: "title",
      width: "minmax(150px,1fr)",
      cell: (other) => (
        <PageLink page="compare" search={{ a: run.runId, b: other.runId }} className="mono">
          {safeLine(other.id)}
        </PageLink>
      ),
    },
    { id: "version", header: "Version", width: "90px", cell: ({ version }) => safeLine(version) },
    {
      id: "why",
      header: "Why",
      narrow: "detail",
      width: "minmax(120px,2fr)",
      cell: (other) => <WhyText row={other} />,
    },
    { id: "created", header: "Created", width: "132px", cell: ({ createdAt }) => <Time at={createdAt} /> },
  ];
}
