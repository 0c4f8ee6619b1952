import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { Facets, Started, WorkflowPage } from "../../../src/api/api-messages.ts";
import { within } from "../../api/api-client.ts";
import { useAct, useNamespace, useRead } from "../../api/reads.ts";
import { ActionDialog } from "../../components/action-dialog.tsx";
import { JsonField, SelectField, TextField } from "../../components/fields.tsx";
import { pagePath } from "../../links.tsx";
import { parseJsonText } from "../../text/json-text.ts";
import { safeLine } from "../../text/safe-text.ts";
import { useStartPlace } from "../parts/start-place.tsx";

interface StartDialogProps {
  readonly open: boolean;
  readonly workflow: string | undefined;
  readonly onClose: () => void;
}

export function StartDialog(props: StartDialogProps) {
  return props.open ? <OpenStartDialog {...props} /> : null;
}

function OpenStartDialog({ workflow: first, onClose }: StartDialogProps) {
  const act = useAct();
  const navigate = useNavigate();
  const namespace = useNamespace();
  const workflows = useRead<Facets>("facets").data?.workflows ?? [];
  const [chosen, setChosen] = useState(first);
  const [typed, setTyped] = useState<string>();
  const [id, setId] = useState("");
  const workflow = chosen ?? workflows[0] ?? "";
  const sample = useRead<WorkflowPage>(within("workflows", workflow), {}, { enabled: workflow !== "" }).data
    ?.sampleInput;
  const input = typed ?? sample ?? "";
  const place = useStartPlace(workflow);
  const start = async () => {
    const body = {
      workflow,
      ...(input.trim() === "" ? {} : { input }),
      ...(id.trim() === "" ? {} : { id: id.trim() }),
      ...place.request,
    };
    const started = await act<Started>("start", body);
    void navigate({ to: pagePath(namespace, "runs", started.runId) });
  };
  return (
    <ActionDialog
      open
      onClose={onClose}
      title="Start a run"
      description="The run is kept as soon as this is confirmed. A worker takes it when one is free."
      confirm="Start run"
      reason="none"
      ready={workflow !== "" && parseJsonText(input).ok}
      onConfirm={start}
      done="Started"
    >
      {workflows.length === 0 ? (
        <TextField label="Workflow" value={workflow} onChange={setChosen} required />
      ) : (
        <SelectField
          label="Workflow"
          value={workflow}
          options={workflows.map((name) => ({ value: name, label: safeLine(name) }))}
          onChange={setChosen}
        />
      )}
      <JsonField label="Input" value={input} onChange={setTyped} />
      <TextField label="Id (optional)" value={id} onChange={setId} hint="Two starts with the same id are one run" />
      {place.fields}
    </ActionDialog>
  );
}
