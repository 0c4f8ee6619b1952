import { useState } from "react";
import type { SettingsView } from "../../../src/api/api-messages.ts";
import { useNamespace, useRead } from "../../api/reads.ts";
import { useMay, useSession } from "../../api/session.tsx";
import { Answer, Empty } from "../../components/answers.tsx";
import { Button } from "../../components/button.tsx";
import { Tag } from "../../components/chips.tsx";
import { Page as Frame, KeyValues, Panel } from "../../components/page.tsx";
import { Status } from "../../components/status.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { PageLink } from "../../links.tsx";
import { countText } from "../../text/count-text.ts";
import { safeLine } from "../../text/safe-text.ts";
import { RetentionDialog } from "./retention-dialog.tsx";
import { SessionsPanel } from "./sessions-panel.tsx";
import styles from "./settings.module.css";
import { TokensPanel } from "./tokens-panel.tsx";

export function Page() {
  const read = useRead<SettingsView>("settings", {}, { everyMs: 30_000 });
  return (
    <Frame title="Settings">
      <Answer read={read}>
        {(view) => (
          <>
            <div className={styles.columns}>
              <About view={view} />
              <RetentionPanel view={view} />
            </div>
            <NamespacesPanel view={view} />
            <AdminPanels view={view} />
          </>
        )}
      </Answer>
    </Frame>
  );
}

/** Of a client that sets none: those of other processes are not known here. */
const LIMITS = [
  { name: "payloadMaxBytes", words: "largest payload", text: mebibytes },
  { name: "payloadWarnBytes", words: "a payload is large from", text: mebibytes },
  { name: "opsMax", words: "ops of a run", text: atMost },
  { name: "inboxMax", words: "messages that wait", text: atMost },
] as const;

function mebibytes(bytes: number): string {
  return `${Number((bytes / 2 ** 20).toFixed(2))} MiB`;
}

function atMost(count: number): string {
  return `at most ${countText(count)}`;
}

function About({ view }: { readonly view: SettingsView }) {
  const { user, role, payloads, readOnly } = useSession();
  const { codec, limits, allowed } = view;
  return (
    <Panel title="This dashboard">
      <div className={styles.pad}>
        <KeyValues
          facts={[
            ["you", `${safeLine(user)}, ${role}${readOnly ? ", read-only here" : ""}`],
            ["payloads", payloads === "full" ? "you see them" : payloads],
            ["namespace", safeLine(view.namespace)],
            ["store", safeLine(view.store)],
            ["Holdfast", safeLine(view.version)],
            ["codec", safeLine(codec.name)],
            [
              "decodes at",
              codec.codecUrl === null ? (
                <span key="codec" className="faint">
                  the server only
                </span>
              ) : (
                <code key="codec">{safeLine(codec.codecUrl)}</code>
              ),
            ],
            [
              "may reach this namespace",
              allowed.length === 0 ? (
                <span key="allowed" className="faint">
                  no other
                </span>
              ) : (
                allowed.map((name) => <Tag key={name}>{safeLine(name)}</Tag>)
              ),
            ],
            ...LIMITS.flatMap(({ name, words, text }) => {
              const value = limits[name];
              return value === undefined ? [] : [[words, text(value)] as const];
            }),
          ]}
        />
      </div>
    </Panel>
  );
}

function RetentionPanel({ view }: { readonly view: SettingsView }) {
  const [changing, setChanging] = useState(false);
  const admin = useMay("admin");
  const entries = Object.entries(view.retention);
  const button = admin ? (
    <span className="push">
      <Button onClick={() => setChanging(true)}>Change…</Button>
    </span>
  ) : undefined;
  return (
    <Panel title="Retention" {...(button ? { actions: button } : {})}>
      <div className={styles.pad}>
        {entries.length === 0 ? (
          <p className="soft">Runs that have ended are kept forever.</p>
        ) : (
          <KeyValues facts={entries.map(([name, value]) => [safeLine(name), `kept for ${safeLine(value)}`] as const)} />
        )}
      </div>
      {changing ? <RetentionDialog retention={view.retention} onClose={() => setChanging(false)} /> : null}
    </Panel>
  );
}

type Namespace = SettingsView["namespaces"][number];

const NAMESPACE_COLUMNS: readonly Column<Namespace>[] = [
  {
    id: "name",
    header: "Namespace",
    width: "minmax(120px,1fr)",
    narrow: "title",
    cell: ({ name }) => <code>{safeLine(name)}</code>,
  },
  {
    id: "state",
    header: "State",
    width: "minmax(150px,1fr)",
    cell: ({ disabled }) =>
      disabled ? (
        <Status value="parked" word="disabled: takes no starts" />
      ) : (
        <Status value="completed" word="enabled" />
      ),
  },
  {
    id: "encryption",
    header: "Payloads",
    width: "minmax(150px,1fr)",
    cell: ({ encryptedOnly }) => (encryptedOnly ? "only encrypted ones" : "any"),
  },
];

function NamespacesPanel({ view }: { readonly view: SettingsView }) {
  const current = useNamespace();
  return (
    <Panel title="Namespaces">
      {view.namespaces.length === 0 ? (
        <Empty title={`You see ${safeLine(current)} alone`}>
          <PageLink>Its overview</PageLink>
        </Empty>
      ) : (
        <Table
          label="Namespaces"
          columns={NAMESPACE_COLUMNS}
          rows={view.namespaces}
          rowKey={({ name }) => name}
          selected={({ name }) => name === current}
        />
      )}
    </Panel>
  );
}

/** Keys and sessions are for admins. */
function AdminPanels({ view }: { readonly view: SettingsView }) {
  const { role } = useSession();
  if (role !== "admin") return null;
  return (
    <>
      <TokensPanel tokens={view.tokens} namespace={view.namespace} />
      <SessionsPanel sessions={view.sessions} />
    </>
  );
}
