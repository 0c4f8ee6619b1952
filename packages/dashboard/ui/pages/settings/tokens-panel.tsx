import { useState } from "react";
import type { SettingsView, TokenRequest } from "../../../src/api/api-messages.ts";
import { within } from "../../api/api-client.ts";
import { useAct } from "../../api/reads.ts";
import { useMay } from "../../api/session.tsx";
import { ActionDialog } from "../../components/action-dialog.tsx";
import { Empty } from "../../components/answers.tsx";
import { Button } from "../../components/button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { SelectField, TextField } from "../../components/fields.tsx";
import { Panel } from "../../components/page.tsx";
import { Status } from "../../components/status.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Age, Time } from "../../components/time.tsx";
import { useNow } from "../../components/time-settings.tsx";
import { safeLine } from "../../text/safe-text.ts";
import { Labeled } from "../parts/labeled.tsx";
import styles from "./settings.module.css";

type Token = SettingsView["tokens"][number];

export function TokensPanel({ tokens, namespace }: { readonly tokens: readonly Token[]; readonly namespace: string }) {
  const [creating, setCreating] = useState(false);
  const [made, setMade] = useState<string>();
  const [revoking, setRevoking] = useState<Token>();
  const may = useMay("admin");
  const now = useNow();
  const act = useAct();
  const button = may ? (
    <span className="push">
      <Button onClick={() => setCreating(true)}>New key…</Button>
    </span>
  ) : undefined;
  return (
    <Panel title="API keys" {...(button ? { actions: button } : {})}>
      {tokens.length === 0 ? (
        <Empty title="There are no keys">Whoever logs in with a key, and programs that call a server, need one.</Empty>
      ) : (
        <Table
          label="API keys"
          columns={columnsOf(now, may ? setRevoking : undefined)}
          rows={tokens}
          rowKey={({ id }) => id}
        />
      )}
      {creating ? (
        <CreateDialog
          namespace={namespace}
          onClose={() => setCreating(false)}
          onMade={(token) => {
            setCreating(false);
            setMade(token);
          }}
        />
      ) : null}
      {made === undefined ? null : (
        <Dialog
          open
          onClose={() => setMade(undefined)}
          title="The new key"
          description="It is shown once. The store has only its hash."
        >
          <div className={styles.token}>
            <code>{made}</code>
          </div>
        </Dialog>
      )}
      {revoking ? (
        <ActionDialog
          open
          danger
          onClose={() => setRevoking(undefined)}
          title={`Revoke ${safeLine(revoking.name)}`}
          description="Whoever uses it is refused within five seconds. That cannot be undone."
          confirm="Revoke key"
          reason="none"
          done={`${safeLine(revoking.name)} was revoked`}
          onConfirm={() => act(within("settings", "tokens", revoking.id, "revoke"))}
        />
      ) : null}
    </Panel>
  );
}

function columnsOf(now: number, revoke: ((token: Token) => void) | undefined): Column<Token>[] {
  const columns: Column<Token>[] = [
    { id: "state", header: "State", width: "104px", cell: (token) => <Mark token={token} now={now} /> },
    { id: "name", header: "Name", width: "minmax(110px,1fr)", narrow: "title", cell: ({ name }) => safeLine(name) },
    { id: "role", header: "Role", width: "76px", cell: ({ role }) => safeLine(role) },
    {
      id: "namespace",
      header: "Namespace",
      width: "minmax(90px,.8fr)",
      cell: ({ namespace }) => <code>{safeLine(namespace)}</code>,
    },
    {
      id: "id",
      header: "Id",
      width: "minmax(90px,1fr)",
      narrow: "hidden",
      cell: ({ id }) => <code>{safeLine(id)}</code>,
    },
    {
      id: "used",
      header: "Last used",
      width: "104px",
      align: "right",
      cell: ({ lastUsedAt }) => (
        <Labeled name="last use">{lastUsedAt === null ? "never" : <Age at={lastUsedAt} />}</Labeled>
      ),
    },
    {
      id: "expires",
      header: "Expires",
      width: "128px",
      align: "right",
      narrow: "hidden",
      cell: ({ expiresAt }) => (expiresAt === null ? "never" : <Time at={expiresAt} />),
    },
  ];
  if (!revoke) return columns;
  const action: Column<Token> = {
    id: "revoke",
    header: <span className="vh">Action</span>,
    width: "84px",
    align: "right",
    cell: (token) =>
      token.revokedAt === null ? (
        <Button small onClick={() => revoke(token)}>
          Revoke…<span className="vh"> {safeLine(token.name)}</span>
        </Button>
      ) : null,
  };
  return [...columns, action];
}

function Mark({ token: { revokedAt, expiresAt }, now }: { readonly token: Token; readonly now: number }) {
  if (revokedAt !== null) return <Status value="terminated" word="revoked" />;
  if (expiresAt !== null && expiresAt <= now) return <Status value="timed_out" word="expired" />;
  return <Status value="completed" word="valid" />;
}

interface CreateDialogProps {
  readonly namespace: string;
  readonly onClose: () => void;
  readonly onMade: (token: string) => void;
}

function CreateDialog({ namespace, onClose, onMade }: CreateDialogProps) {
  const act = useAct();
  const [name, setName] = useState("");
  const [role, setRole] = useState("reader");
  const [where, setWhere] = useState(namespace);
  const create = async () => {
    const request: TokenRequest = { name: name.trim(), role: role as TokenRequest["role"], namespace: where.trim() };
    const { token } = await act<{ readonly token: string }>("settings/tokens/create", request);
    onMade(token);
  };
  return (
    <ActionDialog
      open
      onClose={onClose}
      title="New key"
      description="Each role includes those before it: reader, writer, worker, admin."
      confirm="Create key"
      reason="none"
      ready={name.trim() !== "" && where.trim() !== ""}
      onConfirm={create}
    >
      <TextField label="Name" value={name} onChange={setName} hint="What it is for: ci" required />
      <SelectField
        label="Role"
        value={role}
        options={["reader", "writer", "worker", "admin"].map((value) => ({ value, label: value }))}
        onChange={setRole}
      />
      <TextField label="Namespace" value={where} onChange={setWhere} hint="* for all" required />
    </ActionDialog>
  );
}
