import type { AuditPage } from "../../../src/api/api-messages.ts";
import { useRead } from "../../api/reads.ts";
import { Answer, Empty } from "../../components/answers.tsx";
import { Page as Frame, Panel } from "../../components/page.tsx";
import { Status } from "../../components/status.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Age, Time } from "../../components/time.tsx";
import { useSearchState } from "../../search-state.ts";
import { safeLine } from "../../text/safe-text.ts";
import { Pager } from "../parts/pager.tsx";
import styles from "./audit.module.css";

type Entry = AuditPage["entries"][number];

export function Page() {
  const [search] = useSearchState();
  const { actor, action, subject, cursor } = search;
  const read = useRead<AuditPage>("audit", { limit: 100, actor, action, subject, cursor }, { everyMs: 15_000 });
  return (
    <Frame title="Audit">
      <Answer read={read}>{(page) => <Entries page={page} filtered={Boolean(actor ?? action ?? subject)} />}</Answer>
    </Frame>
  );
}

function Entries({ page, filtered }: { readonly page: AuditPage; readonly filtered: boolean }) {
  const bar = (
    <>
      <Filter name="actor" label="Filter by who" />
      <Filter name="action" label="Filter by action" />
      <Filter name="subject" label="Filter by subject" />
    </>
  );
  if (!page.available)
    return (
      <Panel label="Audit">
        <Empty title="No audit log is kept here">
          The store of this dashboard keeps none. What people did to a run is in its own history, on the tab Audit.
        </Empty>
      </Panel>
    );
  return (
    <Panel label="Audit" actions={bar}>
      {page.entries.length === 0 ? (
        <Empty title={filtered ? "Nothing matches" : "Nobody has done anything yet"}>
          {filtered
            ? "Type the exact name, or leave the field empty."
            : "What operators do, changes of keys and namespaces, and refused logins are kept for 90 days."}
        </Empty>
      ) : (
        <Table label="Audit" columns={COLUMNS} rows={page.entries} rowKey={keyOf} />
      )}
      <Pager cursor={page.cursor} shown={page.entries.length} noun="entry" plural="entries" />
    </Panel>
  );
}

function Filter({ name, label }: { readonly name: "actor" | "action" | "subject"; readonly label: string }) {
  const [search, setSearch] = useSearchState();
  const apply = (value: string) => {
    const next = value.trim() || undefined;
    if (next !== search[name]) setSearch({ [name]: next, cursor: undefined });
  };
  return (
    <input
      key={search[name] ?? ""}
      className={styles.filter}
      type="search"
      aria-label={label}
      placeholder={label}
      defaultValue={search[name] ?? ""}
      onBlur={(event) => apply(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === "Enter") apply(event.currentTarget.value);
      }}
    />
  );
}

function keyOf({ at, actor, action, subject, outcome }: Entry): string {
  return [at, actor, action, subject, outcome].join(" ");
}

/** A key by its name; its id, which tells keys of the same name apart, is in the title. */
function Actor({ actor, actorName }: Entry) {
  if (actorName === null) return <code>{safeLine(actor)}</code>;
  return <span title={safeLine(`API key ${actor}`)}>{safeLine(actorName)}</span>;
}

const COLUMNS: readonly Column<Entry>[] = [
  { id: "at", header: "When", width: "140px", cell: ({ at }) => <Time at={at} /> },
  { id: "age", header: "Age", width: "104px", narrow: "hidden", cell: ({ at }) => <Age at={at} /> },
  { id: "actor", header: "Who", width: "minmax(110px,1fr)", cell: Actor },
  {
    id: "action",
    header: "Did what",
    width: "minmax(120px,1fr)",
    narrow: "title",
    cell: ({ action }) => safeLine(action),
  },
  {
    id: "subject",
    header: "To what",
    width: "minmax(140px,1.6fr)",
    narrow: "detail",
    wrap: true,
    cell: ({ subject }) => <code>{safeLine(subject)}</code>,
  },
  {
    id: "outcome",
    header: "Outcome",
    width: "150px",
    cell: ({ outcome }) => <Status value={outcome === "ok" ? "completed" : "failed"} word={safeLine(outcome)} />,
  },
  {
    id: "address",
    header: "From",
    width: "minmax(90px,.7fr)",
    narrow: "hidden",
    cell: ({ address }) => <span className="soft">{safeLine(address)}</span>,
  },
];
