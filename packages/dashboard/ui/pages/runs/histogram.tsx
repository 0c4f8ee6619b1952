import { type PointerEvent, useRef, useState } from "react";
import type { Histogram as Buckets } from "../../../src/api/api-messages.ts";
import { useRead } from "../../api/reads.ts";
import { Status } from "../../components/status.tsx";
import { useNow, useZone } from "../../components/time-settings.tsx";
import { useSearchState } from "../../search-state.ts";
import { countText } from "../../text/count-text.ts";
import { durationText } from "../../text/duration-text.ts";
import { timeText } from "../../text/time-text.ts";
import { hourTicks } from "./hour-ticks.ts";
import styles from "./runs.module.css";

const HEIGHT = 56;

/** Runs by the time of their creation. Dragging over it narrows the time; it goes into the URL. */
export function Histogram({ params }: { readonly params: Readonly<Record<string, string>> }) {
  const minute = Math.floor(useNow() / 60_000) * 60_000;
  const from = params.createdAfter;
  const to = params.createdBefore ?? String(minute + 60_000);
  const { data } = useRead<Buckets>("runs/histogram", { ...params, from, to });
  if (data === undefined) return <figure className={styles.histogram} aria-hidden="true" />;
  return <Drawn buckets={data} />;
}

function Drawn({ buckets }: { readonly buckets: Buckets }) {
  const { counts, failed, from, to, bucketMs, atMost } = buckets;
  const { zone } = useZone();
  const brush = useBrush(from, to);
  const sum = counts.reduce((total, count) => total + count, 0);
  const most = Math.max(1, ...counts);
  const busiest = counts.indexOf(most);
  const capped = counts.some((count) => count >= atMost);
  const words = `${countText(sum)}${capped ? "+" : ""} ${sum === 1 ? "run" : "runs"} in ${durationText(to - from)}, ${durationText(bucketMs)} per bar`;
  const broken = failed.reduce((total, count) => total + count, 0);
  const peak = sum === 0 ? "" : `; most at ${timeText(from + busiest * bucketMs, zone)}: ${countText(most)}`;
  return (
    <figure className={styles.histogram}>
      <figcaption className={styles.caption}>
        <span>{words}</span>
        {broken === 0 ? null : <Status value="failed" word={`${countText(broken)} failed`} />}
        <span>drag to narrow the time</span>
      </figcaption>
      <div className={styles.plot} {...brush.handlers}>
        <svg
          viewBox={`0 0 ${counts.length * 10} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${words}${broken === 0 ? "" : `, ${countText(broken)} failed`}${peak}`}
        >
          {counts.map((count, index) => {
            const height = heightOf(count, most);
            return <rect key={from + index * bucketMs} x={index * 10} y={HEIGHT - height} width="8" height={height} />;
          })}
          {failed.map((count, index) => {
            const height = heightOf(count, most);
            const top = HEIGHT - heightOf(counts[index] ?? 0, most);
            return count === 0 ? null : (
              <rect
                key={`failed ${index}`}
                className={styles.failed}
                x={index * 10}
                y={top}
                width="8"
                height={height}
              />
            );
          })}
        </svg>
        {brush.box === undefined ? null : (
          <i
            className={styles.brush}
            style={{ left: `${brush.box.from * 100}%`, width: `${(brush.box.to - brush.box.from) * 100}%` }}
          />
        )}
      </div>
      <div className={styles.times} aria-hidden="true">
        {hourTicks(from, to, zone).map(({ at, day }) => (
          <span key={at} style={{ left: `${((at - from) / (to - from)) * 100}%` }}>
            {timeText(at, zone, day ? "dayAndHour" : "short")}
          </span>
        ))}
      </div>
    </figure>
  );
}

function heightOf(count: number, most: number): number {
  return count === 0 ? 0 : Math.max(1.5, (count / most) * (HEIGHT - 2));
}

function useBrush(from: number, to: number) {
  const [, change] = useSearchState();
  const [box, setBox] = useState<{ readonly from: number; readonly to: number }>();
  const start = useRef<number>(undefined);
  const placeOf = (event: PointerEvent<HTMLElement>) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - left) / width));
  };
  const handlers = {
    onPointerDown: (event: PointerEvent<HTMLElement>) => {
      start.current = placeOf(event);
      event.currentTarget.setPointerCapture(event.pointerId);
    },
    onPointerMove: (event: PointerEvent<HTMLElement>) => {
      if (start.current === undefined) return;
      const place = placeOf(event);
      setBox({ from: Math.min(start.current, place), to: Math.max(start.current, place) });
    },
    onPointerUp: () => {
      start.current = undefined;
      setBox(undefined);
      if (box === undefined || box.to - box.from < 0.005) return;
      const at = (part: number) => String(Math.round(from + (to - from) * part));
      change({ created: undefined, createdAfter: at(box.from), createdBefore: at(box.to) });
    },
  };
  return { box, handlers };
}
