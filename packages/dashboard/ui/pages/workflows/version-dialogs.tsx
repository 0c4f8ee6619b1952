import { useState } from "react";
import type { VersionRow, WorkflowRow } from "../../../src/api/api-messages.ts";
import { within } from "../../api/api-client.ts";
import { useAct } from "../../api/reads.ts";
import { ActionDialog } from "../../components/action-dialog.tsx";
import { TextField } from "../../components/fields.tsx";
import { safeLine } from "../../text/safe-text.ts";

export type VersionAction = "default" | "canary" | "deprecate";

export interface VersionDialogProps {
  readonly action: VersionAction;
  readonly workflow: WorkflowRow;
  readonly version: VersionRow;
  readonly onClose: () => void;
}

export function VersionDialog(props: VersionDialogProps) {
  if (props.action === "canary") return <CanaryDialog {...props} />;
  return props.action === "default" ? <DefaultDialog {...props} /> : <DeprecateDialog {...props} />;
}

function DefaultDialog({ workflow, version, onClose }: VersionDialogProps) {
  const act = useAct();
  const name = `${safeLine(workflow.name)}@${safeLine(version.version)}`;
  return (
    <ActionDialog
      open
      onClose={onClose}
      title={`Make ${name} the default`}
      description={`From now on, starts that name no version get it. Open runs stay on theirs.${version.workers === 0 ? " No living worker offers it: new runs would wait." : ""}`}
      confirm="Make default"
      reason="none"
      done={`${name} is the default`}
      onConfirm={() => act(within("workflows", workflow.name, "default"), { version: version.version })}
    />
  );
}

function CanaryDialog({ workflow, version, onClose }: VersionDialogProps) {
  const act = useAct();
  const [percent, setPercent] = useState(String(Number((version.share * 100).toFixed(2))));
  const share = Number(percent) / 100;
  const right = percent.trim() !== "" && share >= 0 && share <= 1;
  const name = `${safeLine(workflow.name)}@${safeLine(version.version)}`;
  return (
    <ActionDialog
      open
      onClose={onClose}
      title={`Canary of ${name}`}
      description="This share of the starts that name no version gets it, the rest the default. A workflow has one canary: this one replaces another. 0 ends it."
      confirm="Set canary"
      reason="none"
      ready={right}
      done={`The canary of ${name} was set`}
      onConfirm={() => act(within("workflows", workflow.name, "canary"), { version: version.version, share })}
    >
      <TextField
        label="Share in percent"
        value={percent}
        onChange={setPercent}
        wrong={right ? undefined : "This must be a number from 0 to 100."}
        required
      />
    </ActionDialog>
  );
}

function DeprecateDialog({ workflow, version, onClose }: VersionDialogProps) {
  const act = useAct();
  const deprecated = !version.deprecated;
  const name = `${safeLine(workflow.name)}@${safeLine(version.version)}`;
  return (
    <ActionDialog
      open
      onClose={onClose}
      title={deprecated ? `Deprecate ${name}` : `Take the mark from ${name}`}
      description="A note for people. Its runs go on, and starts are not changed."
      confirm={deprecated ? "Deprecate" : "Remove mark"}
      reason="none"
      done={deprecated ? `${name} is deprecated` : `${name} is not deprecated any more`}
      onConfirm={() => act(within("workflows", workflow.name, "deprecate"), { version: version.version, deprecated })}
    />
  );
}
