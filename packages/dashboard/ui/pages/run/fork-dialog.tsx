import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { ForkRequest, Started } from "../../../src/api/api-messages.ts";
import { within } from "../../api/api-client.ts";
import { useAct, useNamespace } from "../../api/reads.ts";
import { ActionDialog } from "../../components/action-dialog.tsx";
import { JsonField, TextField } from "../../components/fields.tsx";
import { pagePath } from "../../links.tsx";
import { parseJsonText } from "../../text/json-text.ts";
import { safeLine } from "../../text/safe-text.ts";
import type { ForkDialogProps } from "./lazy-dialogs.tsx";

/** A new run with the history up to an op; optionally the op ends with what is typed here. */
export function ForkDialog({ run, op, open, onClose }: ForkDialogProps) {
  const act = useAct();
  const namespace = useNamespace();
  const navigate = useNavigate();
  const [result, setResult] = useState("");
  const [id, setId] = useState("");
  const fork = async (reason: string) => {
    const body: ForkRequest = {
      before: op.op,
      reason,
      ...(id.trim() === "" ? {} : { id: id.trim() }),
      ...(result.trim() === "" ? {} : { edit: { [op.op]: { result } } }),
    };
    const started = await act<Started>(within("runs", run.runId, "fork"), body);
    void navigate({ to: pagePath(namespace, "runs", started.runId) });
  };
  return (
    <ActionDialog
      open={open}
      onClose={onClose}
      title={`Fork before ${safeLine(op.op)}`}
      description={`A new run starts with the history of ${safeLine(run.id)} up to ${safeLine(op.op)}, and goes on from there. This run stays as it is.`}
      confirm="Fork run"
      ready={parseJsonText(result).ok}
      onConfirm={fork}
      done="Forked"
    >
      <JsonField
        label={`Result of ${safeLine(op.op)}`}
        value={result}
        onChange={setResult}
        hint="JSON: the op is not executed and ends with this. Empty: it is executed again"
      />
      <TextField label="Id of the new run (optional)" value={id} onChange={setId} />
    </ActionDialog>
  );
}
