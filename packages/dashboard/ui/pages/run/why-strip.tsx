import { useState } from "react";
import type { CauseView, ErrorShown, RunDetail, WhyView } from "../../../src/api/api-messages.ts";
import { For } from "../../api/session.tsx";
import { Button } from "../../components/button.tsx";
import { StatusGlyph, stateOf } from "../../components/status.tsx";
import { Age, Time } from "../../components/time.tsx";
import { PageLink, RunLink } from "../../links.tsx";
import { safeLine, safeText } from "../../text/safe-text.ts";
import { errorLine } from "./error-text.tsx";
import { LazyRunDialogs, type RunDialog } from "./lazy-dialogs.tsx";
import styles from "./run.module.css";

/** Why the run is where it is, in a few sentences, and the button that resolves it. */
export function WhyStrip({ run, why }: { readonly run: RunDetail; readonly why: WhyView }) {
  const state = stateOf(run.state);
  const [first, rest] = sentences(safeText(why.reason));
  const error = why.causes.find((cause) => cause.error !== undefined)?.error ?? run.error;
  return (
    <section
      className={`${styles.why} ${styles[state] ?? ""}`}
      aria-label={run.endedAt === null ? "Why it waits" : "How it ended"}
    >
      <StatusGlyph value={state} hidden />
      <p>
        <strong>
          <TimedText text={first} />
        </strong>{" "}
        <TimedText text={rest} />
        {why.causes.map((cause, index) => (
          <CauseLine key={`${cause.kind} ${index}`} cause={cause} only={why.causes.length === 1} />
        ))}
        {error === null || isTold(error, why) || STOPPED.has(run.status) ? null : <small>{errorLine(error)}</small>}
        {why.otherRun === null ? null : (
          <small>
            See run <RunLink id={why.otherRun.id} runId={why.otherRun.runId} />
          </small>
        )}
        {why.cancelRequested === null ? null : (
          <small>
            Cancel was asked for <Age at={why.cancelRequested.at} />
            {why.cancelRequested.reason === null ? "" : `: ${safeLine(why.cancelRequested.reason)}`}
          </small>
        )}
      </p>
      <ResolveButton run={run} why={why} />
    </section>
  );
}

const ISO_TIME = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/;

/** A sentence whose times are shown in the zone that the person chose. */
function TimedText({ text }: { readonly text: string }) {
  return text
    .split(ISO_TIME)
    .map((part, index) => (index % 2 === 1 ? <Time key={`${part} ${index}`} at={Date.parse(part)} /> : part));
}

/** The sentence says it: as it is, or as what has become of another run. */
function isTold({ message, run, cause }: ErrorShown, { reason, otherRun }: WhyView): boolean {
  return reason.includes(message) || (otherRun !== null && run !== undefined && cause !== undefined);
}

/** Somebody has ended these: the sentence says who and why. */
const STOPPED: ReadonlySet<string> = new Set(["canceled", "terminated"]);

/** Since when, and until when; if there are several, of what. */
function CauseLine({ cause, only }: { readonly cause: CauseView; readonly only: boolean }) {
  if (cause.kind === "ended" || (cause.since === undefined && cause.at === undefined)) return null;
  return (
    <small>
      {only ? "" : `${cause.op === undefined ? cause.kind.replace("_", " ") : safeLine(cause.op)}: `}
      {cause.since === undefined ? null : (
        <>
          {"since "}
          <Time at={cause.since} /> (<Age at={cause.since} />)
        </>
      )}
      {cause.at === undefined ? null : (
        <>
          {cause.since === undefined ? "until " : ", until "}
          <Time at={cause.at} /> (<Age at={cause.at} />)
        </>
      )}
    </small>
  );
}

function ResolveButton({ run, why }: { readonly run: RunDetail; readonly why: WhyView }) {
  const [dialog, setDialog] = useState<RunDialog>();
  const { resolve } = why;
  if (resolve === null) return null;
  const label = safeLine(resolve.label);
  switch (resolve.do) {
    case "open-run":
      return (
        <PageLink button page="runs" item={resolve.run}>
          {label}
        </PageLink>
      );
    case "open-queue":
      return (
        <PageLink button page="queues" search={{ queue: resolve.queue }}>
          {label}
        </PageLink>
      );
    case "open-workers":
      return (
        <PageLink button page="workers" search={{ queue: resolve.queue }}>
          {label}
        </PageLink>
      );
    case "complete-task":
      return (
        <PageLink button page="tasks" search={{ run: run.runId }}>
          {label}
        </PageLink>
      );
    default: {
      const open: RunDialog =
        resolve.do === "signal" ? { action: "signal", name: resolve.signal } : { action: resolve.do };
      return (
        <For role="writer">
          <Button kind="primary" onClick={() => setDialog(open)}>
            {label}
          </Button>
          <LazyRunDialogs run={run} dialog={dialog} onClose={() => setDialog(undefined)} />
        </For>
      );
    }
  }
}

/** The first sentence, and the others. */
function sentences(text: string): readonly [string, string] {
  const end = /[.!?](?=\s)/.exec(text)?.index;
  return end === undefined ? [text, ""] : [text.slice(0, end + 1), text.slice(end + 1).replace(/^ +/, "")];
}
