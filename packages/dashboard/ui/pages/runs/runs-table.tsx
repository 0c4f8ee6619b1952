import { useNavigate } from "@tanstack/react-router";
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import type { RunRow } from "../../../src/api/api-messages.ts";
import { useNamespace } from "../../api/reads.ts";
import { useMay } from "../../api/session.tsx";
import { Tag } from "../../components/chips.tsx";
import { Status, stateOf } from "../../components/status.tsx";
import { Age, Lasted, Time } from "../../components/time.tsx";
import { whyText } from "../../components/why-text.tsx";
import { pagePath, RunLink } from "../../links.tsx";
import { useKey } from "../../shell/keys.ts";
import { cappedText } from "../../text/count-text.ts";
import { safeLine } from "../../text/safe-text.ts";
import type { Selection } from "./bulk-bar.tsx";
import type { RunList } from "./run-list.ts";
import styles from "./runs.module.css";

export interface RunsTableProps {
  readonly list: RunList;
  readonly selection: Selection;
  readonly onSelect: (selection: Selection) => void;
}

export function RunsTable({ list, selection, onSelect }: RunsTableProps) {
  const { rows, newer } = list;
  const body = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const may = useMay("writer");
  useLayoutEffect(() => setTop((body.current?.getBoundingClientRect().top ?? 0) + scrollY), []);
  const virtual = useWindowVirtualizer({ count: rows.length, estimateSize: () => 33, overscan: 12, scrollMargin: top });
  const items = virtual.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => list.look(first, last), [list, first, last]);
  useEffect(() => {
    if (list.more && last >= rows.length - 20) list.loadMore();
  }, [list, last, rows.length]);
  const toggle = (runId: string) => onSelect({ runIds: toggled(selection.runIds, runId), all: false });
  const cursor = useRowKeys(list, may ? toggle : undefined, (index) => virtual.scrollToIndex(index));
  return (
    <div
      role="table"
      aria-label="Runs"
      aria-rowcount={-1}
      className={rows.some(hasAttributes) ? undefined : styles.withoutAttributes}
    >
      <Header rows={rows} selection={selection} onSelect={onSelect} may={may} />
      {newer === undefined ? null : (
        <div role="row">
          <span role="cell">
            <button type="button" className={styles.newer} onClick={list.showNewer}>
              Show {cappedText(newer.count, newer.capped)} new {newer.count === 1 ? "run" : "runs"}
            </button>
          </span>
        </div>
      )}
      <div role="rowgroup" ref={body} className={styles.body} style={{ height: virtual.getTotalSize() }}>
        {items.map(({ index, start }) => {
          const row = rows[index];
          return row === undefined ? null : (
            <div
              key={row.runId}
              role="row"
              data-index={index}
              ref={virtual.measureElement}
              aria-rowindex={index + 2}
              aria-selected={selection.all || selection.runIds.has(row.runId)}
              className={rowClass(selection.all || selection.runIds.has(row.runId), cursor === index)}
              style={{ transform: `translateY(${start - top}px)` }}
            >
              <Cells
                row={row}
                selected={selection.all || selection.runIds.has(row.runId)}
                onToggle={may ? toggle : undefined}
              />
            </div>
          );
        })}
      </div>
    </div>
  );
}

interface HeaderProps {
  readonly rows: readonly RunRow[];
  readonly selection: Selection;
  readonly onSelect: (selection: Selection) => void;
  readonly may: boolean;
}

function Header({ rows, selection, onSelect, may }: HeaderProps) {
  const every = rows.length > 0 && rows.every(({ runId }) => selection.runIds.has(runId));
  const toggleAll = () => onSelect({ runIds: new Set(every ? [] : rows.map(({ runId }) => runId)), all: false });
  return (
    <div role="row" className={`${styles.row} ${styles.header}`}>
      <span role="columnheader">
        {may ? (
          <input type="checkbox" aria-label="Select the loaded runs" checked={every} onChange={toggleAll} />
        ) : (
          <span className="vh">Selection</span>
        )}
      </span>
      <span role="columnheader">Status</span>
      <span role="columnheader">Run</span>
      <span role="columnheader">Workflow</span>
      <span role="columnheader">Why</span>
      <span role="columnheader">Attributes</span>
      <span role="columnheader" aria-sort="descending">
        Created ↓
      </span>
      <span role="columnheader" className="num">
        Took
      </span>
    </div>
  );
}

interface CellsProps {
  readonly row: RunRow;
  readonly selected: boolean;
  readonly onToggle: ((runId: string) => void) | undefined;
}

function Cells({ row, selected, onToggle }: CellsProps) {
  const id = safeLine(row.id);
  const attributes = Object.entries(row.attributes).slice(0, 3);
  const why = whyText(row);
  return (
    <>
      <span role="cell">
        {onToggle === undefined ? null : (
          <input type="checkbox" aria-label={`Select ${id}`} checked={selected} onChange={() => onToggle(row.runId)} />
        )}
      </span>
      <span role="cell">
        <Status value={stateOf(row.state)} word={row.paused ? "paused" : undefined} />
      </span>
      <span role="cell">
        <RunLink id={row.id} runId={row.runId} className={`mono ${styles.id}`} />
      </span>
      <span role="cell">
        {safeLine(row.workflow)} @ {safeLine(row.version)}
      </span>
      <span role="cell" className={styles.why} title={why}>
        {why}
        <WhyTime why={row.why} />
      </span>
      <span role="cell">
        {attributes.map(([name, value]) => (
          <Tag key={name} title={`${safeLine(name)}: ${safeLine(String(value))}`}>
            {safeLine(String(value))}
          </Tag>
        ))}
      </span>
      <span role="cell">
        <Time at={row.createdAt} />
      </span>
      <span role="cell" className="num">
        {row.startedAt === null ? "–" : <Lasted from={row.startedAt} to={row.endedAt ?? undefined} />}
      </span>
    </>
  );
}

function hasAttributes({ attributes }: RunRow): boolean {
  return Object.keys(attributes).length > 0;
}

/** What somebody is waited for: since when. */
const WAITS: ReadonlySet<string> = new Set([
  "signal",
  "task",
  "condition",
  "child",
  "lock",
  "update",
  "limit",
  "paused",
]);
/** What comes by itself: when. */
const COMES: ReadonlySet<string> = new Set(["timer", "backoff", "start_delay"]);

/** How long it has waited, or still has to: what waits too long is seen in the list. */
function WhyTime({ why: { kind, since, at } }: { readonly why: RunRow["why"] }) {
  if (COMES.has(kind) && at !== undefined)
    return (
      <>
        {", "}
        <Age at={at} />
      </>
    );
  if (!WAITS.has(kind) || since === undefined) return null;
  return (
    <>
      {" for "}
      <Lasted from={since} />
    </>
  );
}

/** `j` and `k` move a cursor, `x` selects, Enter opens. */
function useRowKeys(
  list: RunList,
  toggle: ((runId: string) => void) | undefined,
  show: (index: number) => void,
): number {
  const [cursor, setCursor] = useState(-1);
  const navigate = useNavigate();
  const namespace = useNamespace();
  const go = (by: number) => {
    const next = Math.max(0, Math.min(list.rows.length - 1, cursor + by));
    setCursor(next);
    show(next);
  };
  const current = list.rows[cursor];
  useKey("j", "Next run", () => go(1));
  useKey("k", "Previous run", () => go(-1));
  useKey("x", "Select the run", () => (current === undefined ? undefined : toggle?.(current.runId)));
  useKey("Enter", "Open the run", () => {
    if (current !== undefined) void navigate({ to: pagePath(namespace, "runs", current.runId) });
  });
  return cursor;
}

function rowClass(selected: boolean, cursor: boolean): string {
  return `${styles.row} ${styles.run} ${selected ? styles.selected : ""} ${cursor ? styles.cursor : ""}`;
}

function toggled(set: ReadonlySet<string>, item: string): ReadonlySet<string> {
  const next = new Set(set);
  if (!next.delete(item)) next.add(item);
  return next;
}
