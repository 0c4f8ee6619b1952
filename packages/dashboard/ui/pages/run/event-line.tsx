import type { EventRow, EventsWindow, PayloadView, RunDetail } from "../../../src/api/api-messages.ts";
import { apiPath, within } from "../../api/api-client.ts";
import { useNamespace, useRead } from "../../api/reads.ts";
import { Answer } from "../../components/answers.tsx";
import { IconButton } from "../../components/button.tsx";
import { CopyAs } from "../../components/copy-as.tsx";
import { KeyValues } from "../../components/page.tsx";
import { Payload, PayloadLine } from "../../components/payload.tsx";
import { type State, StatusGlyph } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { useSearchState } from "../../search-state.ts";
import { durationText } from "../../text/duration-text.ts";
import { safeLine } from "../../text/safe-text.ts";
import { ErrorView, errorLine } from "./error-text.tsx";
import styles from "./run.module.css";
import timeline from "./timeline.module.css";

interface EventLineProps {
  readonly seq: number;
  /** Undefined while its window is on its way. */
  readonly event: EventRow | undefined;
  readonly top: number;
}

export const EVENT_HEIGHT = 29;

export function EventLine({ seq, event, top }: EventLineProps) {
  const [search, change] = useSearchState();
  const current = search.event === String(seq);
  return (
    <button
      type="button"
      className={styles.event}
      style={{ transform: `translateY(${top}px)` }}
      aria-current={current ? "true" : undefined}
      onClick={() => change({ event: current ? undefined : String(seq) }, { replace: true })}
    >
      <EventCells seq={seq} event={event} />
    </button>
  );
}

export function EventCells({ seq, event }: Pick<EventLineProps, "seq" | "event">) {
  return (
    <>
      <span className={styles.seq}>{seq}</span>
      <span className={styles.at}>{event === undefined ? "" : <Time at={event.at} form="preciseClock" />}</span>
      {event === undefined ? <span /> : <StatusGlyph value={glyphOf(event)} hidden />}
      <span>{event?.type ?? ""}</span>
      <span>{event === undefined ? "" : <EventText event={event} />}</span>
      <span className={styles.took}>{event?.ms === undefined ? "" : durationText(event.ms)}</span>
    </>
  );
}

function EventText({ event }: { readonly event: EventRow }) {
  const words = [
    event.op === null ? undefined : safeLine(event.op),
    event.attempt === undefined || event.attempt < 2 ? undefined : `attempt ${event.attempt}`,
    event.worker === undefined ? undefined : safeLine(event.worker),
    event.by === undefined ? undefined : `by ${safeLine(event.by)}`,
    event.reason === undefined ? undefined : `“${safeLine(event.reason)}”`,
    event.error === undefined ? undefined : errorLine(event.error),
  ].filter((word) => word !== undefined);
  return (
    <>
      {words.join(" · ")}
      {event.fireAt === undefined ? null : (
        <>
          {" · until "}
          <Time at={event.fireAt} />
        </>
      )}
      {event.value === undefined || event.value.form === "none" ? null : (
        <>
          {" → "}
          <PayloadLine value={event.value} />
        </>
      )}
    </>
  );
}

/** The shape that says at a glance what kind of event it is. */
function glyphOf({ type }: EventRow): State {
  if (/fail|error|diverg/.test(type)) return "failed";
  if (/timed_out|timeout/.test(type)) return "timed_out";
  if (/cancel/.test(type)) return "canceled";
  if (/terminat/.test(type)) return "terminated";
  if (/timer|sleep/.test(type)) return "sleeping";
  if (/compensat/.test(type)) return "compensating";
  if (/signal|update|message|receive/.test(type)) return "waiting";
  if (/continued/.test(type)) return "continued";
  if (/park|paus/.test(type)) return "parked";
  if (/complet|fired|resolved/.test(type)) return "completed";
  return /start|began/.test(type) ? "running" : "pending";
}

interface EventInspectorProps {
  readonly run: RunDetail;
  readonly seq: number;
  readonly onClose: () => void;
}

/** One event with everything that it says. */
export function EventInspector({ run, seq, onClose }: EventInspectorProps) {
  const read = useRead<EventsWindow>(within("runs", run.runId, "events"), { from: seq, limit: 1 });
  const event = read.data?.events[0];
  return (
    <aside className={timeline.inspector} aria-label="Selected event">
      <header>
        <h2>
          {seq} {event?.type ?? ""}
        </h2>
        <span className="push">
          <IconButton label="Close" icon="x" onClick={onClose} />
        </span>
      </header>
      <Answer read={read} rows={3}>
        {(window) => {
          const shown = window.events[0];
          return shown === undefined ? (
            <section>There is no such event.</section>
          ) : (
            <EventDetails run={run} event={shown} />
          );
        }}
      </Answer>
    </aside>
  );
}

function EventDetails({ run, event }: { readonly run: RunDetail; readonly event: EventRow }) {
  const more = Object.entries(event.more ?? {}).map(
    ([name, value]) => [safeLine(name), safeLine(textOf(value))] as const,
  );
  return (
    <>
      <section>
        <KeyValues
          facts={[
            ["at", <Time key="t" at={event.at} form="precise" />],
            ["category", event.category],
            ...(event.op === null ? [] : [["op", <code key="o">{safeLine(event.op)}</code>] as const]),
            ...(event.attempt === undefined ? [] : [["attempt", event.attempt] as const]),
            ...(event.ms === undefined ? [] : [["took", durationText(event.ms)] as const]),
            ...(event.worker === undefined ? [] : [["worker", safeLine(event.worker)] as const]),
            ...(event.by === undefined ? [] : [["by", safeLine(event.by)] as const]),
            ...(event.reason === undefined ? [] : [["reason", safeLine(event.reason)] as const]),
            ...more,
          ]}
        />
      </section>
      {event.error === undefined ? null : (
        <section>
          <ErrorView error={event.error} />
        </section>
      )}
      {event.value === undefined || event.value.form === "none" ? null : <EventValue run={run} seq={event.seq} />}
      <section>
        <CopyAs />
      </section>
    </>
  );
}

function EventValue({ run, seq }: { readonly run: RunDetail; readonly seq: number }) {
  const namespace = useNamespace();
  const path = within("runs", run.runId, "payload", seq);
  const read = useRead<PayloadView>(path);
  return (
    <section>
      <h3>Value</h3>
      <Answer read={read} rows={2}>
        {({ value }) => (
          <Payload
            value={value}
            label="Value"
            more={
              value.truncated ? (
                <a href={apiPath(`${within(namespace)}/${path}`, { download: 1 })}>Download all of it</a>
              ) : undefined
            }
          />
        )}
      </Answer>
    </section>
  );
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
