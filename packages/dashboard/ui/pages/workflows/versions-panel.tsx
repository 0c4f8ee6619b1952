import { useState } from "react";
import type { VersionRow, WorkflowRow } from "../../../src/api/api-messages.ts";
import { useMay } from "../../api/session.tsx";
import { Empty } from "../../components/answers.tsx";
import { Button } from "../../components/button.tsx";
import { Tag } from "../../components/chips.tsx";
import { Panel } from "../../components/page.tsx";
import { Status } from "../../components/status.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import { PageLink } from "../../links.tsx";
import { cappedText, countText } from "../../text/count-text.ts";
import { safeLine } from "../../text/safe-text.ts";
import { Labeled } from "../parts/labeled.tsx";
import { type VersionAction, VersionDialog } from "./version-dialogs.tsx";
import { shareText, startShare, stateOf } from "./version-state.ts";
import styles from "./workflows.module.css";

const OPEN = "pending,running,sleeping,waiting,compensating,parked";

export function VersionsPanel({ workflow }: { readonly workflow: WorkflowRow }) {
  const [chosen, setChosen] = useState<{ readonly action: VersionAction; readonly version: VersionRow }>();
  const admin = useMay("admin");
  const act = (action: VersionAction, version: VersionRow) => setChosen({ action, version });
  return (
    <Panel title="Versions">
      {workflow.versions.length === 0 ? (
        <Empty title="No worker has offered a version of it" />
      ) : (
        <Table
          label="Versions"
          columns={columnsOf(workflow, admin ? act : undefined)}
          rows={workflow.versions}
          rowKey={({ version }) => version}
        />
      )}
      {chosen ? <VersionDialog {...chosen} workflow={workflow} onClose={() => setChosen(undefined)} /> : null}
    </Panel>
  );
}

const VERSION: Column<VersionRow> = {
  id: "version",
  header: "Version",
  width: "minmax(110px,1fr)",
  narrow: "title",
  cell: ({ version, isDefault, share, deprecated }) => (
    <>
      <b>{safeLine(version)}</b> {isDefault ? <Tag>default</Tag> : null}
      {share > 0 ? <Tag>canary</Tag> : null}
      {deprecated ? <Tag>deprecated</Tag> : null}
    </>
  ),
};

type Act = (action: VersionAction, version: VersionRow) => void;

function columnsOf(workflow: WorkflowRow, act: Act | undefined): Column<VersionRow>[] {
  const { versions, name } = workflow;
  const columns: Column<VersionRow>[] = [
    VERSION,
    {
      id: "share",
      header: "New runs",
      width: "84px",
      align: "right",
      cell: ({ version }) => {
        const share = startShare(versions, version);
        return <Labeled name="of new runs">{share === null ? "–" : shareText(share)}</Labeled>;
      },
    },
    {
      id: "open",
      header: "Open runs",
      width: "88px",
      align: "right",
      cell: ({ version, openRuns, openCapped }) => (
        <Labeled name="open runs">
          <PageLink page="runs" search={{ workflow: name, version, status: OPEN }}>
            {cappedText(openRuns, openCapped)}
          </PageLink>
        </Labeled>
      ),
    },
    {
      id: "workers",
      header: "Workers",
      width: "72px",
      align: "right",
      cell: ({ workers }) => <Labeled name={workers === 1 ? "worker" : "workers"}>{countText(workers)}</Labeled>,
    },
    {
      id: "state",
      header: "Can it go?",
      width: "minmax(180px,1.8fr)",
      narrow: "detail",
      wrap: true,
      cell: (version) => <Removal version={version} only={versions.length === 1} />,
    },
    {
      id: "registered",
      header: "Registered",
      width: "136px",
      narrow: "hidden",
      cell: ({ registeredAt }) => <Time at={registeredAt} />,
    },
  ];
  if (act === undefined) return columns;
  const actions: Column<VersionRow> = {
    id: "actions",
    header: <span className="vh">Actions</span>,
    width: "310px",
    narrow: "detail",
    cell: (version) => <Actions version={version} act={act} />,
  };
  return [...columns, actions];
}

function Removal({ version, only }: { readonly version: VersionRow; readonly only: boolean }) {
  const { openRuns: open, openCapped: openIsCapped } = version;
  const { safeToRemove, reasons, unserved } = stateOf({ ...version, open, openIsCapped }, only);
  if (safeToRemove) return <Status value="completed" word="safe to remove" />;
  return (
    <>
      {unserved ? <Status value="failed" word="no worker offers it" /> : <Status value="waiting" word="needed" />}
      <span className={styles.small}>{reasons.join("; ")}</span>
    </>
  );
}

function Actions({ version, act }: { readonly version: VersionRow; readonly act: Act }) {
  const of = <span className="vh"> version {safeLine(version.version)}</span>;
  return (
    <span className={styles.buttons}>
      {version.isDefault ? null : (
        <Button small onClick={() => act("default", version)}>
          Make default…{of}
        </Button>
      )}
      <Button small onClick={() => act("canary", version)}>
        Canary…{of}
      </Button>
      <Button small onClick={() => act("deprecate", version)}>
        {version.deprecated ? "Not deprecated…" : "Deprecate…"}
        {of}
      </Button>
    </span>
  );
}
