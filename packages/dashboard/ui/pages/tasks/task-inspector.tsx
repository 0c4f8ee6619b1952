import { useState } from "react";
import type { TaskRow } from "../../../src/api/api-messages.ts";
import { useMay } from "../../api/session.tsx";
import { Button } from "../../components/button.tsx";
import { Tag } from "../../components/chips.tsx";
import { KeyValues } from "../../components/page.tsx";
import { Payload } from "../../components/payload.tsx";
import { Age, Time } from "../../components/time.tsx";
import { PageLink } from "../../links.tsx";
import { safeLine, safeText } from "../../text/safe-text.ts";
import { Inspector, InspectorSection } from "../parts/split.tsx";
import { type TaskAction, TaskDialog } from "./task-dialogs.tsx";
import { TaskMark } from "./task-mark.tsx";
import styles from "./tasks.module.css";

export function TaskInspector({ task, onClose }: { readonly task: TaskRow; readonly onClose: () => void }) {
  const [action, setAction] = useState<TaskAction>();
  const may = useMay("writer");
  const ref = task.ref;
  return (
    <Inspector label="Selected task" title={<span className="mono">{safeLine(task.name)}</span>} onClose={onClose}>
      <InspectorSection>
        <TaskMark task={task} />
        {may && ref !== null ? (
          <div className={styles.buttons}>
            {task.status === "dead" ? (
              <Button onClick={() => setAction("retry")}>Retry…</Button>
            ) : (
              <>
                <Button onClick={() => setAction("complete")}>Complete…</Button>
                <Button onClick={() => setAction("fail")}>Fail…</Button>
              </>
            )}
          </div>
        ) : null}
      </InspectorSection>
      <InspectorSection title="Task">
        <KeyValues facts={factsOf(task)} />
      </InspectorSection>
      <InspectorSection title="Input">
        <Payload value={task.input} label="Input" />
      </InspectorSection>
      <InspectorSection title="Last heartbeat reported">
        <Payload value={task.details} label="Heartbeat details" />
      </InspectorSection>
      <Failures task={task} />
      {may && action !== undefined && ref !== null ? (
        <TaskDialog action={action} task={task} reference={ref} onClose={() => setAction(undefined)} />
      ) : null}
    </Inspector>
  );
}

function factsOf(task: TaskRow) {
  const { runId, op, queue, attempt, availableAt, workerId, requires, createdAt } = task;
  return [
    [
      "run",
      <PageLink key="run" page="runs" item={runId} search={{ op }} className="mono">
        {safeLine(runId)}
      </PageLink>,
    ],
    ["op", <code key="op">{safeLine(op)}</code>],
    ["queue", safeLine(queue)],
    ["attempt", String(attempt)],
    ...(availableAt === null ? [] : [["due", <Age key="due" at={availableAt} />] as const]),
    ...(workerId === null
      ? []
      : [
          [
            "worker",
            <PageLink key="worker" page="workers" search={{ worker: workerId, show: "all" }} className="mono">
              {safeLine(workerId)}
            </PageLink>,
          ] as const,
        ]),
    ...(requires.length === 0
      ? []
      : [["requires", requires.map((label) => <Tag key={label}>{safeLine(label)}</Tag>)] as const]),
    ["scheduled", <Time key="scheduled" at={createdAt} />],
  ] as const;
}

function Failures({ task: { failures } }: { readonly task: TaskRow }) {
  if (failures.length === 0) return null;
  return (
    <InspectorSection title="Failed attempts, the newest first">
      <ol className={styles.failures}>
        {[...failures].reverse().map(({ attempt, at, name, message, code }) => (
          <li key={`${attempt} ${at}`}>
            <strong>{attempt}</strong> · <Time at={at} />
            <small>
              {safeLine(code === undefined ? name : `${name} (${code})`)}: {safeText(message)}
            </small>
          </li>
        ))}
      </ol>
    </InspectorSection>
  );
}
