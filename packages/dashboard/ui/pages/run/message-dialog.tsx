import { useState } from "react";
import type { Answered, MessageRequest, RunDetail, WorkflowPage } from "../../../src/api/api-messages.ts";
import { within } from "../../api/api-client.ts";
import { useAct, useRead } from "../../api/reads.ts";
import { ActionDialog } from "../../components/action-dialog.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { JsonField, TextField } from "../../components/fields.tsx";
import { Payload } from "../../components/payload.tsx";
import { parseJsonText } from "../../text/json-text.ts";
import { safeLine } from "../../text/safe-text.ts";

interface MessageDialogProps {
  readonly run: RunDetail;
  readonly kind: "signal" | "update" | "query";
  readonly name: string;
  readonly onClose: () => void;
}

const CONFIRM = { signal: "Send signal", update: "Send update", query: "Ask" } as const;
const ABOUT = {
  signal: "The signal is kept until the code receives it, even if no worker runs now.",
  update: "The code handles it and answers; both are part of the history. A worker must be running.",
  query: "The code answers from where it is. Nothing is written to the history. A worker must be running.",
} as const;

export function MessageDialog({ run, kind, name: first, onClose }: MessageDialogProps) {
  const act = useAct();
  const once = useOnceId();
  const [name, setName] = useState(first);
  const [payload, setPayload] = useState("");
  const [answer, setAnswer] = useState<string>();
  const known = useRead<WorkflowPage>(within("workflows", run.workflow)).data;
  const names = { signal: known?.signals, update: known?.updates, query: known?.queries }[kind] ?? [];
  if (answer !== undefined) return <AnswerDialog text={answer} name={name} onClose={onClose} />;
  const send = async () => {
    const id = kind === "query" ? {} : { id: once };
    const body: MessageRequest = { name: name.trim(), ...id, ...(payload.trim() === "" ? {} : { payload }) };
    const answered = await act<Partial<Answered>>(within("runs", run.runId, kind), body);
    if (kind === "signal") return;
    setAnswer(answered.result ?? "null");
    // The dialog with the answer takes the place of this one.
    await new Promise(() => {});
  };
  return (
    <ActionDialog
      open
      onClose={onClose}
      title={`${CONFIRM[kind]} ${first === "" ? `to ${safeLine(run.id)}` : safeLine(first)}`}
      description={ABOUT[kind]}
      confirm={CONFIRM[kind]}
      reason="none"
      ready={name.trim() !== "" && parseJsonText(payload).ok}
      onConfirm={send}
      {...(kind === "signal" ? { done: `Sent ${safeLine(name)}` } : {})}
    >
      <TextField
        label="Name"
        value={name}
        onChange={setName}
        required
        hint={names.length === 0 ? undefined : `Known: ${names.slice(0, 10).map(safeLine).join(", ")}`}
      />
      <JsonField label="Payload" value={payload} onChange={setPayload} />
    </ActionDialog>
  );
}

function AnswerDialog(props: { readonly text: string; readonly name: string; readonly onClose: () => void }) {
  const { text, name, onClose } = props;
  return (
    <Dialog open onClose={onClose} title={`Answer of ${safeLine(name)}`}>
      <Payload value={{ form: "json", text, truncated: false, bytes: text.length }} label="Answer" />
    </Dialog>
  );
}

/** Made when the dialog opens, so that a repeated click sends nothing twice. */
function useOnceId(): string {
  const [id] = useState(() => crypto.randomUUID());
  return id;
}
