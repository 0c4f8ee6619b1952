import { useState } from "react";
import type { WorkerEvents, WorkerView } from "../../../src/api/api-messages.ts";
import { within } from "../../api/api-client.ts";
import { useAct, useRead } from "../../api/reads.ts";
import { useMay } from "../../api/session.tsx";
import { ActionDialog } from "../../components/action-dialog.tsx";
import { Answer, Empty } from "../../components/answers.tsx";
import { Button } from "../../components/button.tsx";
import { Tag } from "../../components/chips.tsx";
import { KeyValues } from "../../components/page.tsx";
import { Age, Time } from "../../components/time.tsx";
import { useNow } from "../../components/time-settings.tsx";
import { PageLink } from "../../links.tsx";
import { bytesText, countOf, countText } from "../../text/count-text.ts";
import { durationText } from "../../text/duration-text.ts";
import { safeLine } from "../../text/safe-text.ts";
import { Inspector, InspectorSection } from "../parts/split.tsx";
import { healthOf } from "./worker-health.ts";
import { WorkerMark } from "./worker-mark.tsx";
import styles from "./workers.module.css";

export interface WorkerInspectorProps {
  readonly worker: WorkerView;
  readonly leads: boolean;
  readonly onClose: () => void;
}

export function WorkerInspector({ worker, leads, onClose }: WorkerInspectorProps) {
  const [draining, setDraining] = useState(false);
  const { health, about } = healthOf(worker, useNow());
  const mayDrain = useMay("admin") && worker.status === "online" && !worker.drainAsked;
  return (
    <Inspector label="Selected worker" title={<span className="mono">{safeLine(worker.name)}</span>} onClose={onClose}>
      <InspectorSection>
        <WorkerMark health={health} />
        <p className={styles.about}>
          {about}
          {leads ? " It fires the schedules." : ""}
        </p>
        {mayDrain ? <Button onClick={() => setDraining(true)}>Drain…</Button> : null}
      </InspectorSection>
      <InspectorSection title="Process">
        <KeyValues facts={processFacts(worker)} />
      </InspectorSection>
      {worker.load === null ? null : (
        <InspectorSection title="Load with its last heartbeat">
          <KeyValues facts={loadFacts(worker.load)} />
        </InspectorSection>
      )}
      <Words title="Queues" words={worker.queues} />
      <Words title="Workflows" words={worker.workflows} />
      <Words title="Tasks" words={worker.tasks} />
      <Words
        title="Labels"
        words={Object.entries(worker.labels).map(([name, value]) => (value ? `${name}=${value}` : name))}
      />
      <Words
        title="Options"
        words={Object.entries(worker.about.options ?? {}).map(([name, value]) => `${name}: ${value}`)}
      />
      <Lifecycle workerId={worker.workerId} />
      <DrainDialog worker={worker} open={draining} onClose={() => setDraining(false)} />
    </Inspector>
  );
}

function processFacts(worker: WorkerView) {
  const { workerId, host, pid, about, startedAt, heartbeatAt, leaseMs, stoppedAt, died } = worker;
  return [
    ["id", <code key="id">{workerId}</code>],
    ...(host === null ? [] : [["host", safeLine(host)] as const]),
    ...(pid === null ? [] : [["process", String(pid)] as const]),
    ...(about.program === undefined ? [] : [["program", safeLine(about.program)] as const]),
    ...(about.runtime === undefined ? [] : [["runtime", safeLine(about.runtime)] as const]),
    ...(about.holdfast === undefined ? [] : [["Holdfast", safeLine(about.holdfast)] as const]),
    ["started", <Time key="started" at={startedAt} />],
    ["heartbeat", <Age key="heartbeat" at={heartbeatAt} />],
    ["lease", durationText(leaseMs)],
    ...(stoppedAt === null ? [] : [[died ? "died" : "stopped", <Time key="stopped" at={stoppedAt} />] as const]),
  ] as const;
}

function loadFacts(load: NonNullable<WorkerView["load"]>) {
  return [
    ["holds", `${countOf(load.runs, "run")}, ${countOf(load.tasks, "task")}`],
    ["event loop", `${Math.round(load.loopBusy * 100)} % busy, ${durationText(load.loopDelayMs)} late`],
    ["memory", bytesText(load.memoryBytes)],
    ...(load.pace === undefined ? [] : [["attempts", paceText(load.pace)] as const]),
  ] as const;
}

/** `120 a minute, 3 ms on average, 40 ms at most, 2 failed`. */
function paceText(pace: NonNullable<NonNullable<WorkerView["load"]>["pace"]>): string {
  const { overMs, attempts, failed, attemptMsMean, attemptMsMax } = pace;
  if (attempts === 0) return `none in ${durationText(overMs)}`;
  const perMinute = Math.round((attempts * 60_000) / Math.max(overMs, 1));
  const took = `${durationText(attemptMsMean)} on average, ${durationText(attemptMsMax)} at most`;
  return `${countText(perMinute)} a minute, ${took}${failed === 0 ? "" : `, ${countText(failed)} failed`}`;
}

function Words({ title, words }: { readonly title: string; readonly words: readonly string[] }) {
  if (words.length === 0) return null;
  return (
    <InspectorSection title={title}>
      <div className={styles.words}>
        {words.map((word) => (
          <Tag key={word}>{title === "Workflows" ? <WorkflowWord word={word} /> : safeLine(word)}</Tag>
        ))}
      </div>
    </InspectorSection>
  );
}

function WorkflowWord({ word }: { readonly word: string }) {
  const at = word.lastIndexOf("@");
  return (
    <PageLink page="workflows" item={at > 0 ? word.slice(0, at) : word}>
      {safeLine(word)}
    </PageLink>
  );
}

function Lifecycle({ workerId }: { readonly workerId: string }) {
  const read = useRead<WorkerEvents>("workers/events", { workerId, limit: 20 }, { live: ["workers"] });
  return (
    <InspectorSection title="Lifecycle">
      <Answer
        read={read}
        rows={3}
        isEmpty={({ events }) => events.length === 0}
        empty={<Empty title="Nothing is known" />}
      >
        {({ events }) => (
          <ol className={styles.events}>
            {events.map(({ type, at }) => (
              <li key={`${type} ${at}`}>
                <span>{type}</span>
                <Time at={at} />
              </li>
            ))}
          </ol>
        )}
      </Answer>
    </InspectorSection>
  );
}

interface DrainDialogProps {
  readonly worker: WorkerView;
  readonly open: boolean;
  readonly onClose: () => void;
}

function DrainDialog({ worker, open, onClose }: DrainDialogProps) {
  const act = useAct();
  const { name, workerId, activeRuns, activeTasks } = worker;
  return (
    <ActionDialog
      open={open}
      onClose={onClose}
      title={`Drain ${safeLine(name)}`}
      description={`It claims nothing new, finishes its steps, gives back its runs (${activeRuns} now, and ${countOf(activeTasks, "task")}), and stops. It does not start again by itself.`}
      confirm="Drain worker"
      reason="none"
      done={`${safeLine(name)} was asked to drain`}
      onConfirm={() => act(within("workers", workerId, "drain"))}
    />
  );
}
