import { useState } from "react";
import type { TaskRow } from "../../../src/api/api-messages.ts";
import { useAct } from "../../api/reads.ts";
import { ActionDialog } from "../../components/action-dialog.tsx";
import { JsonField, TextField } from "../../components/fields.tsx";
import { parseJsonText } from "../../text/json-text.ts";
import { safeLine } from "../../text/safe-text.ts";

export type TaskAction = "complete" | "fail" | "retry";

export interface TaskDialogProps {
  readonly task: TaskRow;
  /** Stands for the token of the task, which stays on the server. */
  readonly reference: string;
  readonly onClose: () => void;
}

export function TaskDialog({ action, ...props }: TaskDialogProps & { readonly action: TaskAction }) {
  if (action === "complete") return <CompleteDialog {...props} />;
  return action === "fail" ? <FailDialog {...props} /> : <RetryDialog {...props} />;
}

function CompleteDialog({ task, reference, onClose }: TaskDialogProps) {
  const act = useAct();
  const [result, setResult] = useState("");
  const held = task.status === "held" ? " A worker has it now: what that reports later is refused." : "";
  return (
    <ActionDialog
      open
      onClose={onClose}
      title={`Complete ${safeLine(task.name)}`}
      description={`Its run gets the result and goes on. That cannot be taken back.${held}`}
      confirm="Complete task"
      reason="none"
      ready={parseJsonText(result).ok}
      done={`${safeLine(task.name)} was completed`}
      onConfirm={() => act("tasks/complete", { ref: reference, ...(result.trim() === "" ? {} : { result }) })}
    >
      <JsonField label="Result" value={result} onChange={setResult} />
    </ActionDialog>
  );
}

function FailDialog({ task, reference, onClose }: TaskDialogProps) {
  const act = useAct();
  const [message, setMessage] = useState("");
  return (
    <ActionDialog
      open
      onClose={onClose}
      title={`Fail ${safeLine(task.name)}`}
      description={`Attempt ${task.attempt} has failed: it counts. The task is tried again if its rule says so; otherwise its run gets the error.`}
      confirm="Fail task"
      danger
      reason="none"
      ready={message.trim() !== ""}
      done={`Attempt ${task.attempt} of ${safeLine(task.name)} was failed`}
      onConfirm={() => act("tasks/fail", { ref: reference, message: message.trim() })}
    >
      <TextField label="Error message" value={message} onChange={setMessage} hint="Goes into the history" required />
    </ActionDialog>
  );
}

function RetryDialog({ task, reference, onClose }: TaskDialogProps) {
  const act = useAct();
  return (
    <ActionDialog
      open
      onClose={onClose}
      title={`Retry ${safeLine(task.name)}`}
      description="The run that failed on it is open again and goes on at this task. What was done before is not done again."
      confirm="Retry task"
      reason="none"
      done={`${safeLine(task.name)} is tried again`}
      onConfirm={() => act("tasks/retry", { ref: reference })}
    />
  );
}
