import { useState } from "react";
import type { BatchCount, BatchRequest, BatchStarted, RunFilter } from "../../../src/api/api-messages.ts";
import { useAct } from "../../api/reads.ts";
import { ActionDialog } from "../../components/action-dialog.tsx";
import { TextField } from "../../components/fields.tsx";
import { cappedText, countOf } from "../../text/count-text.ts";
import { type BulkAction, type Selection, WORDS } from "./bulk-bar.tsx";

const ABOUT: Readonly<Record<BulkAction, string>> = {
  retry: "Each goes on at what failed. Those that are open are skipped.",
  cancel: "Each is told to stop at its next op, and its compensations run. Those that have ended are skipped.",
  pause: "No worker takes them any more until somebody resumes them.",
  resume: "Workers take them again.",
  signal: "Each gets the signal once.",
  terminate: "They end at once. No compensation runs: what they have done stays done.",
};
/** From here on the number has to be typed. */
const TYPED_FROM = 100;

interface BulkDialogProps {
  readonly action: BulkAction;
  readonly selection: Selection;
  readonly filter: RunFilter;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** Counts first, then asks, then begins. */
export function BulkDialog({ action, selection, filter, onClose, onDone }: BulkDialogProps) {
  const act = useAct();
  const [id] = useState(() => crypto.randomUUID());
  const [signal, setSignal] = useState("");
  const counted = useCounted(selection, filter);
  const count = selection.all ? counted.data?.count : selection.runIds.size;
  const shown = count === undefined ? "…" : cappedText(count, selection.all && (counted.data?.capped ?? false));
  const begin = async (reason: string) => {
    const which = selection.all
      ? {
          filter,
          all: isEveryRun(filter),
          ...(counted.data === undefined ? {} : { createdBefore: counted.data.createdBefore }),
        }
      : { filter: {}, runIds: [...selection.runIds] };
    const body: BatchRequest = {
      action,
      id,
      reason,
      ...which,
      ...(action === "signal" ? { signal: { name: signal.trim() } } : {}),
    };
    await act<BatchStarted>("batch", body);
    onDone();
  };
  const many = count !== undefined && count > TYPED_FROM;
  return (
    <ActionDialog
      open
      onClose={onClose}
      title={`${WORDS[action]} ${shown} ${count === 1 ? "run" : "runs"}`}
      description={ABOUT[action]}
      confirm={
        action === "signal" ? "Send signal" : `${WORDS[action]} ${count === undefined ? "runs" : countOf(count, "run")}`
      }
      danger={action === "cancel" || action === "terminate"}
      typed={many || action === "terminate" ? String(count ?? "") : undefined}
      typedWhat="the number of runs"
      ready={count !== undefined && (action !== "signal" || signal.trim() !== "")}
      onConfirm={begin}
      done="The server does it; the progress is below the list"
    >
      {action === "signal" ? (
        <TextField label="Name of the signal" value={signal} onChange={setSignal} required />
      ) : null}
    </ActionDialog>
  );
}

/** Nothing narrows it: such a batch has to say that every run is meant. */
function isEveryRun({ attributes, ...filter }: RunFilter): boolean {
  const given = [...Object.values(filter), ...Object.values(attributes ?? {})];
  return given.every((value) => value === undefined || String(value).trim() === "");
}

function useCounted(selection: Selection, filter: RunFilter) {
  const act = useAct();
  const [counted, setCounted] = useState<{ readonly data?: BatchCount }>({});
  const [asked, setAsked] = useState(false);
  if (selection.all && !asked) {
    setAsked(true);
    act<BatchCount>("batch/count", { filter }).then(
      (data) => setCounted({ data }),
      () => setCounted({}),
    );
  }
  return counted;
}
