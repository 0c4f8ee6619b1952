import { useState } from "react";
import type { SettingsView } from "../../../src/api/api-messages.ts";
import { within } from "../../api/api-client.ts";
import { useAct } from "../../api/reads.ts";
import { useMay } from "../../api/session.tsx";
import { ActionDialog } from "../../components/action-dialog.tsx";
import { Empty } from "../../components/answers.tsx";
import { Button } from "../../components/button.tsx";
import { Tag } from "../../components/chips.tsx";
import { Panel } from "../../components/page.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Age, Time } from "../../components/time.tsx";
import { safeLine } from "../../text/safe-text.ts";

type Session = SettingsView["sessions"][number];

export function SessionsPanel({ sessions }: { readonly sessions: readonly Session[] }) {
  const [revoking, setRevoking] = useState<Session>();
  const may = useMay("admin");
  const act = useAct();
  return (
    <Panel title="Sessions">
      {sessions.length === 0 ? (
        <Empty title="Nobody is logged in with a cookie">
          The application that mounts the dashboard, or the network, says who you are.
        </Empty>
      ) : (
        <Table
          label="Sessions"
          columns={columnsOf(may ? setRevoking : undefined)}
          rows={sessions}
          rowKey={({ id }) => id}
        />
      )}
      {revoking ? (
        <ActionDialog
          open
          danger
          onClose={() => setRevoking(undefined)}
          title={`End the session of ${safeLine(revoking.user)}`}
          description={
            revoking.current ? "This is your own: you have to sign in again." : "Whoever has it must sign in again."
          }
          confirm="End session"
          reason="none"
          done="The session was ended"
          onConfirm={() => act(within("settings", "sessions", revoking.id, "revoke"))}
        />
      ) : null}
    </Panel>
  );
}

function columnsOf(revoke: ((session: Session) => void) | undefined): Column<Session>[] {
  const columns: Column<Session>[] = [
    {
      id: "user",
      header: "User",
      width: "minmax(120px,1fr)",
      narrow: "title",
      cell: ({ user, current }) => (
        <>
          {safeLine(user)} {current ? <Tag>this one</Tag> : null}
        </>
      ),
    },
    { id: "since", header: "Since", width: "140px", cell: ({ since }) => <Time at={since} /> },
    { id: "until", header: "Ends", width: "120px", cell: ({ until }) => <Age at={until} /> },
  ];
  if (!revoke) return columns;
  const action: Column<Session> = {
    id: "revoke",
    header: <span className="vh">Action</span>,
    width: "84px",
    align: "right",
    cell: (session) => (
      <Button small onClick={() => revoke(session)}>
        End…<span className="vh"> the session of {safeLine(session.user)}</span>
      </Button>
    ),
  };
  return [...columns, action];
}
