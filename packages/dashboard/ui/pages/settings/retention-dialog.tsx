import { useState } from "react";
import { useAct } from "../../api/reads.ts";
import { ActionDialog } from "../../components/action-dialog.tsx";
import { TextField } from "../../components/fields.tsx";
import styles from "./settings.module.css";

const STATUSES = ["completed", "failed", "canceled", "terminated", "timed_out", "continued"] as const;
const DURATION = /^\d+(\.\d+)?\s*(ms|s|m|min|h|d|day|days|hour|hours|minute|minutes|second|seconds|week|weeks|w)$/;

export interface RetentionDialogProps {
  readonly retention: Readonly<Record<string, string>>;
  readonly onClose: () => void;
}

export function RetentionDialog({ retention, onClose }: RetentionDialogProps) {
  const act = useAct();
  const names = [...new Set([...STATUSES, ...Object.keys(retention)])];
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>(() => ({ ...retention }));
  const given = names.flatMap((name) =>
    (texts[name] ?? "").trim() === "" ? [] : [[name, (texts[name] ?? "").trim()] as const],
  );
  const wrong = (name: string) => {
    const text = (texts[name] ?? "").trim();
    return text === "" || DURATION.test(text) ? undefined : "This must be a duration: 30 days.";
  };
  return (
    <ActionDialog
      open
      wide
      danger
      onClose={onClose}
      title="Change retention"
      description="Runs that ended longer ago are deleted, with their histories and messages, by the worker that leads. That cannot be undone. An empty field: kept forever."
      confirm="Change retention"
      reason="none"
      ready={names.every((name) => wrong(name) === undefined)}
      done="The retention was changed"
      onConfirm={() => act("settings/retention", { retention: Object.fromEntries(given) })}
    >
      <div className={styles.fields}>
        {names.map((name) => (
          <TextField
            key={name}
            label={name}
            value={texts[name] ?? ""}
            wrong={wrong(name)}
            onChange={(text) => setTexts((old) => ({ ...old, [name]: text }))}
          />
        ))}
      </div>
    </ActionDialog>
  );
}
