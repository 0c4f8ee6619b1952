import { useState } from "react";
import type { QueueRow } from "../../../src/api/api-messages.ts";
import { within } from "../../api/api-client.ts";
import { useAct } from "../../api/reads.ts";
import { ActionDialog } from "../../components/action-dialog.tsx";
import { TextField } from "../../components/fields.tsx";
import { safeLine } from "../../text/safe-text.ts";
import { changesOf, type LimitProblems, type LimitTexts, limitsOf, textsOf } from "./limit-form.ts";
import styles from "./queues.module.css";

type Field = readonly [keyof LimitTexts, string];

const OWN: readonly Field[] = [
  ["concurrency", "At once"],
  ["rate", "Begin at most"],
  ["per", "per"],
  ["burst", "Burst"],
];
const PER_KEY: readonly Field[] = [
  ["keyConcurrency", "At once for each key"],
  ["keyRate", "Begin at most for each key"],
  ["keyPer", "per (each key)"],
  ["keyBurst", "Burst for each key"],
];
const OTHER: readonly Field[] = [["backlog", "Runs that may wait"]];

/** All limits are set at once; the dialog says what changes before it happens. */
export function LimitDialog({ queue, onClose }: { readonly queue: QueueRow; readonly onClose: () => void }) {
  const act = useAct();
  const [texts, setTexts] = useState(() => textsOf(queue.limits));
  // What the form was made from, whatever the page learns while it is open.
  const [expected] = useState(queue.limits);
  const read = limitsOf(texts, expected);
  const limits = "limits" in read ? read.limits : undefined;
  const problems = "problems" in read ? read.problems : {};
  const changes = limits === undefined ? [] : changesOf(expected, limits);
  const change = (name: keyof LimitTexts, text: string) => setTexts((old) => ({ ...old, [name]: text }));
  const group = (legend: string, fields: readonly Field[]) => (
    <Group legend={legend} fields={fields} texts={texts} problems={problems} onChange={change} />
  );
  return (
    <ActionDialog
      open
      wide
      onClose={onClose}
      title={`Limits of ${safeLine(queue.name)}`}
      description="They hold for runs, from when they begin to their end, and, counted apart, for attempts of tasks. Workers keep to them from their next claim on. An empty field is no limit; 0 at once lets nothing begin."
      confirm="Change limits"
      reason="none"
      ready={limits !== undefined && changes.length > 0}
      done={`The limits of ${safeLine(queue.name)} were changed`}
      onConfirm={() => act(within("queues", queue.name, "limits"), { limits, expected })}
    >
      {group("The queue as a whole", OWN)}
      {group("Each key by itself", PER_KEY)}
      {group("Backlog", OTHER)}
      <div className={styles.changes} role="status">
        {changes.length === 0 ? "Nothing changes." : changes.map((words) => <div key={words}>{safeLine(words)}</div>)}
      </div>
    </ActionDialog>
  );
}

interface GroupProps {
  readonly legend: string;
  readonly fields: readonly Field[];
  readonly texts: LimitTexts;
  readonly problems: LimitProblems;
  readonly onChange: (name: keyof LimitTexts, text: string) => void;
}

function Group({ legend, fields, texts, problems, onChange }: GroupProps) {
  return (
    <fieldset className={styles.group}>
      <legend>{legend}</legend>
      {fields.map(([name, label]) => (
        <TextField
          key={name}
          label={label}
          value={texts[name]}
          wrong={problems[name]}
          onChange={(text) => onChange(name, text)}
        />
      ))}
    </fieldset>
  );
}
