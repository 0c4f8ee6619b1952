// The dialog of every action: it says what will happen, asks for a reason, and for the dangerous ones asks to type a name.
import { type FormEvent, type ReactNode, useId, useState } from "react";
import { messageOf } from "../api/api-error.ts";
import { Button } from "./button.tsx";
import dialog from "./dialog.module.css";
import { Dialog } from "./dialog.tsx";
import { TextField } from "./fields.tsx";
import { useToasts } from "./toasts.tsx";

export interface ActionDialogProps {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly title: ReactNode;
  /** What will happen: "2 compensations will run: charge, reserve". */
  readonly description?: ReactNode;
  /** The button that does it: "Cancel run". */
  readonly confirm: string;
  readonly danger?: boolean;
  /** Whether to ask why. @defaultValue "required" */
  readonly reason?: "required" | "optional" | "none";
  /** What must be typed before the button works: the id, or the number of runs. */
  readonly typed?: string | undefined;
  /** What the typed word is: "the id". */
  readonly typedWhat?: string;
  /** More fields, above the reason. */
  readonly children?: ReactNode;
  /** False while the fields are not right. */
  readonly ready?: boolean;
  /** Does it. The dialog closes when the promise resolves, and shows the error when it rejects. */
  readonly onConfirm: (reason: string) => Promise<unknown>;
  /** Shown as a toast afterward. */
  readonly done?: string;
  readonly wide?: boolean;
}

export function ActionDialog(props: ActionDialogProps) {
  // A dialog that opens again starts empty: the reason for one run is not the reason for the next.
  return props.open ? <OpenActionDialog {...props} /> : null;
}

function OpenActionDialog(props: ActionDialogProps) {
  const { onClose, title, description, confirm, danger, typed, children, onConfirm, done, wide } = props;
  const [reason, setReason] = useState("");
  const [word, setWord] = useState("");
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<string>();
  const toasts = useToasts();
  const form = useId();
  const asks = props.reason ?? "required";
  const ready =
    (props.ready ?? true) &&
    !busy &&
    (asks !== "required" || reason.trim() !== "") &&
    (typed === undefined || word === typed);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!ready) return;
    setBusy(true);
    setRefusal(undefined);
    try {
      await onConfirm(reason.trim());
      if (done !== undefined) toasts.done(done);
      onClose();
    } catch (error) {
      setRefusal(messageOf(error));
      setBusy(false);
    }
  };
  const button = (
    <Button kind={danger ? "danger" : "primary"} type="submit" form={form} disabled={!ready}>
      {confirm}
    </Button>
  );
  return (
    <Dialog open onClose={onClose} title={title} description={description} actions={button} wide={wide ?? false}>
      <form id={form} onSubmit={(event) => void submit(event)} className={dialog.form}>
        {children}
        {asks === "none" ? null : (
          <TextField
            label={`Reason (${asks})`}
            value={reason}
            onChange={setReason}
            hint="Goes into the audit log"
            required={asks === "required"}
          />
        )}
        {typed === undefined ? null : (
          <TextField
            label={`Type ${props.typedWhat ?? "the id"} to confirm: ${typed}`}
            value={word}
            onChange={setWord}
            required
          />
        )}
        {refusal === undefined ? null : (
          <p role="alert" className={dialog.refused}>
            {refusal}
          </p>
        )}
      </form>
    </Dialog>
  );
}
