import { ageText, durationText } from "../text/duration-text.ts";
import { offsetText, type TimeForm, timeText } from "../text/time-text.ts";
import { useNow, useZone } from "./time-settings.tsx";

/** A point in time, in the zone that the person chose. `at` is in milliseconds since 1970. */
export function Time({ at, form }: { readonly at: number; readonly form?: TimeForm }) {
  const { zone } = useZone();
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return <span>–</span>;
  const iso = date.toISOString();
  return (
    <time dateTime={iso} title={`${iso} (${timeText(at, zone, "precise")} ${offsetText(at, zone)})`}>
      {timeText(at, zone, form)}
    </time>
  );
}

/** "2 h 11 m ago", or "in 3 d" for the future; counts on by the server's clock. */
export function Age({ at }: { readonly at: number }) {
  const now = useNow();
  return <time dateTime={new Date(at).toISOString()}>{ageText(now - at)}</time>;
}

/** How long it has lasted: from `from` until `to`, or until now. */
export function Lasted({ from, to }: { readonly from: number; readonly to?: number | undefined }) {
  return to === undefined ? <LastedSoFar from={from} /> : <span>{durationText(Math.max(0, to - from))}</span>;
}

function LastedSoFar({ from }: { readonly from: number }) {
  const now = useNow();
  const ms = Math.max(0, now - from);
  return <span>{durationText(ms < 60_000 ? Math.floor(ms / 1000) * 1000 : ms)}</span>;
}
