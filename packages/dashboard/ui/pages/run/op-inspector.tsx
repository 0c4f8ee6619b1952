import { useState } from "react";
import type { EventsWindow, PayloadView, RunDetail } from "../../../src/api/api-messages.ts";
import { apiPath, within } from "../../api/api-client.ts";
import { useNamespace, useRead } from "../../api/reads.ts";
import { For } from "../../api/session.tsx";
import { Answer } from "../../components/answers.tsx";
import { Button, IconButton } from "../../components/button.tsx";
import { KeyValues } from "../../components/page.tsx";
import { Payload } from "../../components/payload.tsx";
import { StatusGlyph, stateOf } from "../../components/status.tsx";
import { Age, Time } from "../../components/time.tsx";
import { PageLink, RunLink } from "../../links.tsx";
import { durationText } from "../../text/duration-text.ts";
import { safeLine } from "../../text/safe-text.ts";
import { errorLine } from "./error-text.tsx";
import { LazyForkDialog } from "./lazy-dialogs.tsx";
import styles from "./timeline.module.css";
import type { TimelineOp } from "./timeline-ops.ts";

interface OpInspectorProps {
  readonly run: RunDetail;
  readonly op: TimelineOp;
  readonly createdAt: number;
  readonly onClose: () => void;
}

/** The selected op: its attempts, its result, what belongs to it. */
export function OpInspector({ run, op, createdAt, onClose }: OpInspectorProps) {
  const [fork, setFork] = useState(false);
  return (
    <aside className={styles.inspector} aria-label="Selected op">
      <header>
        <StatusGlyph value={stateOf(op.state)} />
        <h2>{safeLine(op.op)}</h2>
        <span className="faint">{op.kind}</span>
        <span className="push">
          <IconButton label="Close" icon="x" onClick={onClose} />
        </span>
      </header>
      <Attempts run={run} op={op} createdAt={createdAt} />
      {op.ended !== undefined && op.last !== undefined ? (
        <Result run={run} seq={op.last} failed={op.state === "failed"} />
      ) : null}
      <Undone run={run} op={op.op} />
      <section>
        <KeyValues facts={factsOf(run, op, createdAt)} />
      </section>
      <section className={styles.buttons}>
        <For role="writer">
          {run.actions.includes("fork") ? <Button onClick={() => setFork(true)}>Fork before this…</Button> : null}
        </For>
        <PageLink button page="grid" search={{ workflow: run.workflow, op: op.op }}>
          Over the last runs
        </PageLink>
      </section>
      <LazyForkDialog run={run} op={op} open={fork} onClose={() => setFork(false)} />
    </aside>
  );
}

/** What becomes of it if the run fails or is canceled. */
function Undone({ run, op }: { readonly run: RunDetail; readonly op: string }) {
  const place = run.compensations.indexOf(op);
  if (place < 0) return null;
  return (
    <section>
      <h3>If the run fails</h3>
      <p>
        Undone by its compensation, number {place + 1} of {run.compensations.length}.
      </p>
    </section>
  );
}

function lengthText({ state, ended, began, asked }: TimelineOp): string {
  if (ended !== undefined) return durationText(ended - (began ?? asked ?? ended));
  return state === "retrying" ? "" : "so far";
}

/** "eu-1, after 1 s": who made the attempt, and how long it was waited for. */
function attemptText(op: TimelineOp, index: number, began: number | undefined): string {
  const before = index === 0 ? undefined : op.failures[index - 1]?.ended;
  const wait =
    began === undefined || before === undefined || began <= before ? "" : `after ${durationText(began - before)}`;
  const words = [op.worker === undefined ? "" : safeLine(op.worker), wait].filter((word) => word !== "").join(", ");
  return words === "" ? String(index + 1) : `${index + 1} · ${words}`;
}

function Attempts({ run, op, createdAt }: Omit<OpInspectorProps, "onClose">) {
  const failed = op.failures.length > 0;
  const read = useRead<EventsWindow>(
    within("runs", run.runId, "events"),
    { ops: encodeURIComponent(op.op), limit: 200 },
    { enabled: failed },
  );
  const errors = new Map((read.data?.events ?? []).map((event) => [event.seq, event.error] as const));
  const finished = op.ended !== undefined && op.state !== "failed";
  return (
    <section>
      <h3>Attempts</h3>
      <ol className={styles.attempts}>
        {op.failures.map((failure, index) => {
          const error = errors.get(failure.seq);
          return (
            <li key={failure.seq}>
              <StatusGlyph value="failed" />
              <span>{attemptText(op, index, failure.began)}</span>
              <span>{failure.began === undefined ? "" : durationText(failure.ended - failure.began)}</span>
              {error === undefined ? null : <small>{errorLine(error)}</small>}
            </li>
          );
        })}
        {finished || op.ended === undefined ? (
          <li>
            <StatusGlyph value={stateOf(op.state)} />
            {op.state === "retrying" && op.due !== undefined ? (
              <span>
                {op.failures.length + 1}
                {", "}
                <Age at={createdAt + op.due} />
              </span>
            ) : (
              <span>{attemptText(op, op.failures.length, op.began)}</span>
            )}
            <span>{lengthText(op)}</span>
          </li>
        ) : null}
      </ol>
    </section>
  );
}

function Result({ run, seq, failed }: { readonly run: RunDetail; readonly seq: number; readonly failed: boolean }) {
  const namespace = useNamespace();
  const path = within("runs", run.runId, "payload", seq);
  const read = useRead<PayloadView>(path);
  if (failed) return null;
  const download = apiPath(`${within(namespace)}/${path}`, { download: 1 });
  return (
    <section>
      <h3>Result</h3>
      <Answer read={read} rows={2}>
        {({ value }) => (
          <Payload
            value={value}
            label="Result"
            more={value.truncated ? <a href={download}>Download all of it</a> : undefined}
          />
        )}
      </Answer>
    </section>
  );
}

function factsOf(run: RunDetail, op: TimelineOp, createdAt: number) {
  return [
    ...(op.asked === undefined ? [] : [["asked", <Time key="a" at={createdAt + op.asked} form="precise" />] as const]),
    ...(op.after === undefined ? [] : [["after", <EventLink key="f" run={run} seq={op.after} />] as const]),
    ...(op.ended === undefined ? [] : [["ended", <Time key="e" at={createdAt + op.ended} form="precise" />] as const]),
    ...(op.due === undefined ? [] : [["due", <Time key="d" at={createdAt + op.due} form="precise" />] as const]),
    ...(op.worker === undefined ? [] : [["worker", safeLine(op.worker)] as const]),
    ...(op.group === undefined ? [] : [["group", safeLine(op.group)] as const]),
    ...(op.run === undefined
      ? []
      : [["run", <RunLink key="r" id={op.run.id ?? op.run.runId ?? ""} runId={op.run.runId} />] as const]),
    ["critical path", op.critical ? "yes" : "no"] as const,
  ];
}

function EventLink({ run, seq }: { readonly run: RunDetail; readonly seq: number }) {
  return (
    <PageLink page="runs" item={run.runId} search={{ tab: "events", event: String(seq) }}>
      event {seq}
    </PageLink>
  );
}
