// The dialogs of what can be done with a run: what will happen, why, and for terminating the id once more.
import type { RunDetail } from "../../../src/api/api-messages.ts";
import { within } from "../../api/api-client.ts";
import { useAct } from "../../api/reads.ts";
import { ActionDialog } from "../../components/action-dialog.tsx";
import { countOf } from "../../text/count-text.ts";
import { safeLine } from "../../text/safe-text.ts";
import { ForkAnywhere } from "./fork-anywhere.tsx";
import type { RunDialogsProps } from "./lazy-dialogs.tsx";
import { MessageDialog } from "./message-dialog.tsx";

export function RunDialogs({ run, dialog, onClose }: RunDialogsProps) {
  if (dialog === undefined) return null;
  switch (dialog.action) {
    case "signal":
    case "update":
    case "query":
      return <MessageDialog run={run} kind={dialog.action} name={dialog.name ?? ""} onClose={onClose} />;
    case "fork":
      return <ForkAnywhere run={run} onClose={onClose} />;
    default:
      return <PlainDialog run={run} action={dialog.action} onClose={onClose} />;
  }
}

type PlainAction = "cancel" | "terminate" | "pause" | "resume" | "retry";

interface PlainDialogProps {
  readonly run: RunDetail;
  readonly action: PlainAction;
  readonly onClose: () => void;
}

const DONE: Readonly<Record<PlainAction, string>> = {
  cancel: "Cancel requested",
  terminate: "Terminated",
  pause: "Paused",
  resume: "Resumed",
  retry: "Retrying",
};
const CONFIRM: Readonly<Record<PlainAction, string>> = {
  cancel: "Cancel run",
  terminate: "Terminate run",
  pause: "Pause run",
  resume: "Resume run",
  retry: "Retry run",
};

function PlainDialog({ run, action, onClose }: PlainDialogProps) {
  const act = useAct();
  const id = safeLine(run.id);
  return (
    <ActionDialog
      open
      onClose={onClose}
      title={`${CONFIRM[action]} ${id}`}
      description={whatHappens(run, action)}
      confirm={CONFIRM[action]}
      danger={action === "terminate" || action === "cancel"}
      reason={action === "resume" || action === "retry" ? "optional" : "required"}
      typed={action === "terminate" ? run.id : undefined}
      onConfirm={(reason) => act(within("runs", run.runId, action), reason === "" ? {} : { reason })}
      done={DONE[action]}
    />
  );
}

function whatHappens(run: RunDetail, action: PlainAction): string {
  switch (action) {
    case "cancel": {
      const names = run.compensations.map(safeLine);
      if (names.length === 0)
        return "The code is told to stop at its next op. No compensation is registered, so nothing is undone.";
      const will = `${countOf(names.length, "compensation")} will run: ${names.slice(0, 8).join(", ")}${names.length > 8 ? ", …" : ""}.`;
      return `The code is told to stop at its next op. ${will}`;
    }
    case "terminate":
      return "The run ends at once. Its code is not told, and no compensation runs: what it has done stays done.";
    case "pause":
      return "No worker takes the run any more, until somebody resumes it. A step that runs now ends first; timers go on.";
    case "resume":
      return "Workers take the run again, and it goes on where it stopped.";
    case "retry":
      return "The run goes on at what failed, with what had already succeeded.";
  }
}
