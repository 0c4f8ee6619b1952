import { useVirtualizer } from "@tanstack/react-virtual";
import { type PointerEvent, useLayoutEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import type { RunDetail, Timeline } from "../../../src/api/api-messages.ts";
import { StatusGlyph, stateOf } from "../../components/status.tsx";
import { useSearchState } from "../../search-state.ts";
import { durationText } from "../../text/duration-text.ts";
import { safeLine } from "../../text/safe-text.ts";
import { placeOf, shortScale, type TimeScale, ticksOf, timeAt, trueScale } from "./time-scale.ts";
import styles from "./timeline.module.css";
import { usePalette } from "./timeline-colors.ts";
import { momentsOf, spanOf } from "./timeline-ops.ts";
import { paintTimeline, ROW_HEIGHT } from "./timeline-paint.ts";
import type { TimelineRow } from "./timeline-rows.ts";

export interface TimelineChartProps {
  readonly run: RunDetail;
  readonly rows: readonly TimelineRow[];
  readonly head: Timeline;
  /** The right end: now, or when it ended; milliseconds since its creation. */
  readonly end: number;
  readonly selected: string | undefined;
  readonly onSelect: (row: TimelineRow) => void;
}

/** Rows that fit without scrolling inside of the page. */
const ROWS_SHOWN = 18;
const NARROW = matchMedia("(max-width: 860px)");

export function TimelineChart({ run, rows, head, end, selected, onSelect }: TimelineChartProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 4,
  });
  const scale = useScale(rows, end, head);
  const deadline = run.deadlineAt === null || head.endedAt !== null ? undefined : run.deadlineAt - head.createdAt;
  const height = Math.min(rows.length, ROWS_SHOWN) * ROW_HEIGHT;
  return (
    <div className={styles.chart}>
      <Axis scale={scale} now={head.endedAt === null ? end : undefined} />
      <div ref={scroller} className={styles.scroller} style={{ height }}>
        <div className={styles.sizer} style={{ height: virtual.getTotalSize() }}>
          <Bars
            rows={rows}
            scale={scale}
            now={head.endedAt === null ? end : undefined}
            deadline={deadline}
            height={height}
            scrollTop={virtual.scrollOffset ?? 0}
            onPick={(index) => {
              const row = rows[index];
              if (row !== undefined) onSelect(row);
            }}
          />
          <ul aria-label="Ops">
            {virtual.getVirtualItems().map(({ index, start }) => {
              const row = rows[index];
              if (row === undefined) return null;
              const current = selected !== undefined && row.ops.some(({ op }) => op === selected);
              return (
                <li
                  key={`${row.name} ${index}`}
                  className={styles.line}
                  style={{ transform: `translateY(${start}px)` }}
                >
                  <RowButton row={row} end={end} current={current} onSelect={onSelect} />
                </li>
              );
            })}
          </ul>
        </div>
      </div>
    </div>
  );
}

/** What is shown of the time: all of it, or the part of the URL. */
function useScale(rows: readonly TimelineRow[], end: number, head: Timeline): TimeScale {
  const [search] = useSearchState();
  const from = Math.max(0, Number(search.from ?? 0) || 0);
  const to = Number(search.to ?? end) || end;
  const long = search.scale === "true";
  // Of an open run, the axis grows in steps of a hundredth, not with every tick of the clock.
  const grain =
    head.endedAt === null && search.to === undefined
      ? Math.max(1, 10 ** Math.floor(Math.log10(Math.max(10, end)) - 1))
      : 1;
  const right = Math.max(from + 1, Math.ceil(to / grain) * grain);
  return useMemo(() => {
    if (long) return trueScale(from, right);
    return shortScale(from, right, momentsOf(rows.flatMap((row) => row.ops)));
  }, [rows, from, right, long]);
}

function useNarrow(): boolean {
  return useSyncExternalStore(
    (listener) => {
      NARROW.addEventListener("change", listener);
      return () => NARROW.removeEventListener("change", listener);
    },
    () => NARROW.matches,
  );
}

function Axis({ scale, now }: { readonly scale: TimeScale; readonly now: number | undefined }) {
  const nowPlace = now === undefined ? 2 : placeOf(scale, now);
  const narrow = useNarrow();
  const apart = narrow ? 0.26 : 0.11;
  // At the right end "now" is written to its left.
  const beside = apart * (narrow ? 1.2 : nowPlace > 0.85 ? 1.7 : 0.8);
  const ticks = ticksOf(scale, apart).filter(({ place }) => place < 0.95 && Math.abs(place - nowPlace) > beside);
  return (
    <div className={styles.axis} aria-hidden="true">
      <span />
      <div>
        {ticks.map(({ at, place }) => (
          <span key={at} style={{ left: `${place * 100}%` }}>
            {at === 0 ? "0 s" : durationText(at)}
          </span>
        ))}
        {now !== undefined && nowPlace <= 1 ? (
          <span
            className={nowPlace > 0.85 ? styles.axisEnd : undefined}
            style={{ left: `${Math.min(nowPlace, 1) * 100}%` }}
          >
            now +{durationText(now)}
          </span>
        ) : null}
      </div>
    </div>
  );
}

interface BarsProps {
  readonly rows: readonly TimelineRow[];
  readonly scale: TimeScale;
  readonly now: number | undefined;
  readonly deadline: number | undefined;
  readonly height: number;
  readonly scrollTop: number;
  readonly onPick: (row: number) => void;
}

function Bars({ rows, scale, now, deadline, height, scrollTop, onPick }: BarsProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [search] = useSearchState();
  const palette = usePalette();
  const zoom = useZoom(scale, (y) => onPick(Math.floor((y + scrollTop) / ROW_HEIGHT)));
  useLayoutEffect(() => {
    const element = canvas.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context || width === 0) return;
    const ratio = devicePixelRatio;
    element.width = Math.round(width * ratio);
    element.height = Math.round(height * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const showCritical = search.critical !== "0";
    const ticks = ticksOf(scale, 0.11);
    paintTimeline(context, { rows, scale, ticks, now, deadline, showCritical, palette, width, height, scrollTop });
  }, [rows, scale, now, deadline, palette, width, height, scrollTop, search.critical]);
  return (
    <div className={styles.bars} style={{ height }}>
      <canvas ref={canvas} aria-hidden="true" style={{ height }} {...zoom.handlers} />
      {zoom.box === undefined ? null : (
        <i
          className={styles.zoom}
          style={{ left: `${zoom.box.from * 100}%`, width: `${(zoom.box.to - zoom.box.from) * 100}%` }}
        />
      )}
    </div>
  );
}

/** Dragging chooses a part of the time; it goes into the URL. A click without dragging is a click on the row. */
function useZoom(scale: TimeScale, onClick: (y: number) => void) {
  const [, change] = useSearchState();
  const [box, setBox] = useState<{ readonly from: number; readonly to: number }>();
  const start = useRef<number>(undefined);
  const placeOfPointer = (event: PointerEvent<HTMLElement>) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - left) / width));
  };
  const handlers = {
    onPointerDown: (event: PointerEvent<HTMLElement>) => {
      start.current = placeOfPointer(event);
      event.currentTarget.setPointerCapture(event.pointerId);
    },
    onPointerMove: (event: PointerEvent<HTMLElement>) => {
      if (start.current === undefined) return;
      const place = placeOfPointer(event);
      setBox({ from: Math.min(start.current, place), to: Math.max(start.current, place) });
    },
    onPointerUp: (event: PointerEvent<HTMLElement>) => {
      if (box === undefined || box.to - box.from <= 0.01) {
        onClick(event.clientY - event.currentTarget.getBoundingClientRect().top);
      } else {
        change({ from: String(Math.floor(timeAt(scale, box.from))), to: String(Math.ceil(timeAt(scale, box.to))) });
      }
      start.current = undefined;
      setBox(undefined);
    },
  };
  return { box, handlers };
}

interface RowButtonProps {
  readonly row: TimelineRow;
  readonly end: number;
  readonly current: boolean;
  readonly onSelect: (row: TimelineRow) => void;
}

function RowButton({ row, end, current, onSelect }: RowButtonProps) {
  const op = row.ops[0];
  const name = safeLine(row.name);
  if (op === undefined) {
    return (
      <span className={`${styles.op} ${styles.expected}`}>
        <StatusGlyph value="pending" label="not asked for yet" />
        <b>{name}</b>
        <em>usually next</em>
      </span>
    );
  }
  const { from, to } = spanOf(op, end);
  const attempts = op.attempts > 1 ? ` ×${op.attempts}` : "";
  const kind = row.ops.length > 1 ? `${op.kind}, ${row.ops.length} ops` : `${op.kind}${attempts}`;
  return (
    <button
      type="button"
      className={styles.op}
      aria-current={current ? "true" : undefined}
      onClick={() => onSelect(row)}
    >
      <StatusGlyph value={stateOf(op.state)} />
      <b>{name}</b>
      <em>{kind}</em>
      <span className="vh">{`${durationText(to - from)}${op.ended === undefined ? " so far" : ""}`}</span>
    </button>
  );
}
