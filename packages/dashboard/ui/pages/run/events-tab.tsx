// The history, in windows of 200 that are read when they are scrolled to. A place in it is a number, so the list needs no cursor.
import { useQueries } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef, useState } from "react";
import type { EventRow, EventsWindow, RunDetail } from "../../../src/api/api-messages.ts";
import { readApi, within } from "../../api/api-client.ts";
import { runTopic } from "../../api/live.ts";
import { useNamespace, useRead } from "../../api/reads.ts";
import { Answer, Empty, Failure } from "../../components/answers.tsx";
import { Button, Segments } from "../../components/button.tsx";
import { Bar, Panel } from "../../components/page.tsx";
import { useSearchState } from "../../search-state.ts";
import { countText } from "../../text/count-text.ts";
import { EVENT_HEIGHT, EventInspector, EventLine } from "./event-line.tsx";
import styles from "./run.module.css";
import timeline from "./timeline.module.css";

export const WINDOW = 200;

export function EventsTab({ run }: { readonly run: RunDetail }) {
  const [search, change] = useSearchState();
  const filtered = search.failed === "1" || (search.ops ?? "") !== "";
  const selected = search.event === undefined ? undefined : Number(search.event);
  return (
    <div className={selected === undefined ? timeline.whole : timeline.split}>
      <Panel label="Events">
        <EventTools filtered={filtered} />
        {filtered ? <FoundEvents run={run} /> : <AllEvents run={run} />}
      </Panel>
      {selected === undefined || Number.isNaN(selected) ? null : (
        <EventInspector run={run} seq={selected} onClose={() => change({ event: undefined }, { replace: true })} />
      )}
    </div>
  );
}

function EventTools({ filtered }: { readonly filtered: boolean }) {
  const [search, change] = useSearchState();
  const [text, setText] = useState(search.ops ?? "");
  return (
    <Bar>
      <Segments
        label="Show"
        value={search.failed === "1" ? "failed" : "all"}
        options={[
          { value: "all", label: "All" },
          { value: "failed", label: "Failures" },
        ]}
        onChange={(value) => change({ failed: value === "failed" ? "1" : undefined })}
      />
      <form
        onSubmit={(event) => {
          event.preventDefault();
          change({ ops: text.trim() });
        }}
      >
        <input
          className={styles.filter}
          aria-label="Only events of these ops"
          placeholder="Filter by op…"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </form>
      {filtered ? (
        <Button kind="quiet" onClick={() => change({ failed: undefined, ops: undefined })}>
          Clear
        </Button>
      ) : (
        <Segments
          label="Order"
          value={search.order === "oldest" ? "oldest" : "newest"}
          options={[
            { value: "newest", label: "Newest first" },
            { value: "oldest", label: "Oldest first" },
          ]}
          onChange={(value) => change({ order: value === "oldest" ? "oldest" : undefined })}
        />
      )}
    </Bar>
  );
}

/** Every event of the run; only the windows that are in sight are read. */
function AllEvents({ run }: { readonly run: RunDetail }) {
  const [search] = useSearchState();
  const namespace = useNamespace();
  const scroller = useRef<HTMLDivElement>(null);
  const total = run.historyLength;
  const newest = search.order !== "oldest";
  const seqOf = (index: number) => (newest ? total - 1 - index : index);
  const virtual = useVirtualizer({
    count: total,
    getScrollElement: () => scroller.current,
    estimateSize: () => EVENT_HEIGHT,
    overscan: 8,
  });
  const items = virtual.getVirtualItems();
  const windows = [...new Set(items.map(({ index }) => Math.floor(seqOf(index) / WINDOW)))];
  const reads = useQueries({
    queries: windows.map((window) => {
      // A full window never changes: histories only grow.
      const full = (window + 1) * WINDOW <= total;
      return {
        queryKey: [namespace, "events", run.runId, window, full ? "full" : total],
        queryFn: () =>
          readApi<EventsWindow>(within(namespace, "runs", run.runId, "events"), {
            from: window * WINDOW,
            limit: WINDOW,
          }),
        staleTime: full ? Number.POSITIVE_INFINITY : 0,
        placeholderData: (old: EventsWindow | undefined) => old,
      };
    }),
  });
  const failed = reads.find(({ error, data }) => error !== null && data === undefined);
  const again = () => {
    for (const read of reads) if (read.error !== null) void read.refetch();
  };
  const known = new Map<number, EventRow>();
  for (const { data } of reads) for (const event of data?.events ?? []) known.set(event.seq, event);
  return (
    <>
      {failed === undefined ? null : <Failure error={failed.error} onRetry={again} />}
      <section ref={scroller} className={styles.events} aria-label={`${countText(total)} events`} tabIndex={0}>
        <div style={{ height: virtual.getTotalSize() }}>
          {items.map(({ index, start }) => (
            <EventLine key={seqOf(index)} seq={seqOf(index)} event={known.get(seqOf(index))} top={start} />
          ))}
        </div>
      </section>
    </>
  );
}

/** What a filter leaves, window by window. */
function FoundEvents({ run }: { readonly run: RunDetail }) {
  const [search] = useSearchState();
  const [from, setFrom] = useState(0);
  const ops = (search.ops ?? "")
    .split(",")
    .map((op) => encodeURIComponent(op.trim()))
    .join(",");
  const read = useRead<EventsWindow>(
    within("runs", run.runId, "events"),
    { from, limit: WINDOW, failed: search.failed === "1" ? 1 : undefined, ops },
    { live: [runTopic(run.runId)] },
  );
  return (
    <Answer
      read={read}
      isEmpty={({ events, next }) => events.length === 0 && next === null && from === 0}
      empty={<Empty title="No event matches">Clear the filter to see all of them.</Empty>}
    >
      {({ events, next }) => (
        <>
          <section className={styles.events} aria-label="Events that match" tabIndex={0}>
            <div style={{ height: events.length * EVENT_HEIGHT }}>
              {events.map((event, index) => (
                <EventLine key={event.seq} seq={event.seq} event={event} top={index * EVENT_HEIGHT} />
              ))}
            </div>
          </section>
          <Bar>
            {from === 0 ? null : <Button onClick={() => setFrom(0)}>From the beginning</Button>}
            {next === null ? null : <Button onClick={() => setFrom(next)}>Next</Button>}
          </Bar>
        </>
      )}
    </Answer>
  );
}
