// The timeline: a canvas for the bars, and a list of buttons, one per row, as its twin in the document.
import { lazy, Suspense, useMemo } from "react";
import type { RunDetail } from "../../../src/api/api-messages.ts";
import { Answer, Empty } from "../../components/answers.tsx";
import { Button, Segments } from "../../components/button.tsx";
import { Bar, Panel } from "../../components/page.tsx";
import { useNow } from "../../components/time-settings.tsx";
import { useSearchState } from "../../search-state.ts";
import { useKey } from "../../shell/keys.ts";
import { durationText } from "../../text/duration-text.ts";
import styles from "./timeline.module.css";
import { TimelineChart } from "./timeline-chart.tsx";
import { type TimelineData, useTimeline } from "./timeline-data.ts";
import { criticalMs, type TimelineOp } from "./timeline-ops.ts";
import { ROWS_MAX, rowsOf, type TimelineRow } from "./timeline-rows.ts";

const LatestEvents = lazy(async () => ({ default: (await import("./latest-events.tsx")).LatestEvents }));
const OpInspector = lazy(async () => ({ default: (await import("./op-inspector.tsx")).OpInspector }));
const TimelineTable = lazy(async () => ({ default: (await import("./timeline-table.tsx")).TimelineTable }));

export function TimelineTab({ run }: { readonly run: RunDetail }) {
  const read = useTimeline(run.runId);
  return (
    <Answer
      read={read}
      isEmpty={({ ops }) => ops.length === 0}
      empty={<Empty title="No ops yet">They appear here as soon as the code asks for one.</Empty>}
    >
      {(data) => <TimelineView run={run} data={data} />}
    </Answer>
  );
}

function TimelineView({ run, data }: { readonly run: RunDetail; readonly data: TimelineData }) {
  const [search, change] = useSearchState();
  const clock = useNow();
  const end = (data.head.endedAt ?? clock) - data.head.createdAt;
  const open = data.head.endedAt === null;
  const merged = search.rows === "name" || data.ops.length > ROWS_MAX;
  const expected = open && search.table === undefined;
  // Not with every tick of the clock: there may be 50,000 ops.
  const rows = useMemo(
    () => withExpected(rowsOf(data.ops, merged ? "name" : "op"), data, expected),
    [data, merged, expected],
  );
  const selected = data.ops.find(({ op }) => op === search.op);
  useKey("0", "Timeline: show all of the time", () => change({ from: undefined, to: undefined }));
  const select = (row: TimelineRow) => {
    const op = row.ops[0];
    if (op !== undefined) change({ op: op.op === search.op ? undefined : op.op }, { replace: true });
  };
  return (
    <div className={selected === undefined ? styles.whole : styles.split}>
      <div className={styles.whole}>
        <Panel label="Timeline">
          <TimelineTools data={data} merged={merged} now={end} />
          {search.table === undefined ? (
            <TimelineChart run={run} rows={rows} head={data.head} end={end} selected={search.op} onSelect={select} />
          ) : (
            <Suspense>
              <TimelineTable rows={rows} end={end} createdAt={data.head.createdAt} />
            </Suspense>
          )}
          <Legend expected={open && data.head.expected.length > 0} workflow={`${run.workflow}@${run.version}`} />
        </Panel>
        <Suspense>
          <LatestEvents run={run} />
        </Suspense>
      </div>
      {selected === undefined ? null : (
        <Suspense>
          <OpInspector
            run={run}
            op={selected}
            createdAt={data.head.createdAt}
            onClose={() => change({ op: undefined }, { replace: true })}
          />
        </Suspense>
      )}
    </div>
  );
}

function withExpected(rows: readonly TimelineRow[], data: TimelineData, open: boolean): readonly TimelineRow[] {
  if (!open) return rows;
  return [...rows, ...data.head.expected.map(({ op, ms }) => ({ name: op, ops: [] as TimelineOp[], expectedMs: ms }))];
}

interface ToolsProps {
  readonly data: TimelineData;
  readonly merged: boolean;
  readonly now: number;
}

function TimelineTools({ data, merged, now }: ToolsProps) {
  const [search, change] = useSearchState();
  const showCritical = search.critical !== "0";
  return (
    <Bar>
      <Segments
        label="Time axis"
        value={search.scale === "true" ? "true" : "short"}
        options={[
          { value: "short", label: "Short gaps" },
          { value: "true", label: "True scale" },
        ]}
        onChange={(value) => change({ scale: value === "true" ? "true" : undefined, from: undefined, to: undefined })}
      />
      <Segments
        label="Rows"
        value={merged ? "name" : "op"}
        options={[
          { value: "op", label: "By op" },
          { value: "name", label: "By name" },
        ]}
        onChange={(value) => change({ rows: value === "name" ? "name" : undefined })}
      />
      <Button
        kind="quiet"
        aria-pressed={showCritical}
        onClick={() => change({ critical: showCritical ? "0" : undefined })}
      >
        Critical path {durationText(criticalMs(data.ops, now))}
      </Button>
      <Button
        kind="quiet"
        aria-pressed={search.table !== undefined}
        onClick={() => change({ table: search.table === undefined ? "1" : undefined })}
      >
        As table
      </Button>
      {search.from === undefined ? (
        <span className={`push faint ${styles.hint}`}>
          drag to zoom · <kbd>0</kbd> all
        </span>
      ) : (
        <span className="push">
          <Button kind="quiet" onClick={() => change({ from: undefined, to: undefined })}>
            Show all
          </Button>
        </span>
      )}
    </Bar>
  );
}

const LEGEND = [
  ["done", "attempt"],
  ["failed", "failed attempt"],
  ["queued", "queued"],
  ["backoff", "backoff"],
  ["wait", "waits"],
  ["child", "child"],
  ["critical", "critical path"],
] as const;

function Legend({ expected, workflow }: { readonly expected: boolean; readonly workflow: string }) {
  return (
    <div className={styles.legend}>
      {LEGEND.map(([kind, word]) => (
        <span key={kind}>
          <i className={styles[kind]} />
          {word}
        </span>
      ))}
      {expected ? (
        <span>
          <i className={styles.queued} />
          usually next, from recent runs of {workflow}
        </span>
      ) : null}
    </div>
  );
}
