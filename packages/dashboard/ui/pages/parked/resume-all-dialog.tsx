import { useState } from "react";
import type { BatchRequest, BatchStarted, ParkedGroup } from "../../../src/api/api-messages.ts";
import { useAct } from "../../api/reads.ts";
import { ActionDialog } from "../../components/action-dialog.tsx";
import { useSearchState } from "../../search-state.ts";
import { countOf } from "../../text/count-text.ts";
import { safeLine } from "../../text/safe-text.ts";
import { causeText, remedyOf } from "./parked-causes.ts";

/** Above this many, the number must be typed. */
const TYPED_FROM = 100;

/** Resumes a whole group, as a batch on the server: it goes on when the tab is closed. */
export function ResumeAllDialog({ group, onClose }: { readonly group: ParkedGroup; readonly onClose: () => void }) {
  const act = useAct();
  const [, setSearch] = useSearchState();
  // A repeated click begins nothing twice.
  const [id] = useState(() => crypto.randomUUID());
  const [now] = useState(() => Date.now());
  const { cause, workflow, count, filter, runs } = group;
  const remedy = remedyOf(cause);
  const met = filter === null ? runs.length : count;
  const begin = async (reason: string) => {
    const request: BatchRequest = {
      action: remedy,
      id,
      reason,
      ...(filter === null ? { filter: {}, runIds: runs.map(({ runId }) => runId) } : { filter, createdBefore: now }),
    };
    const batch = await act<BatchStarted>("batch", request);
    // Of runs that were named one by one there is no batch to look at: they are done.
    if (filter !== null) setSearch({ batch: batch.id }, { replace: true });
  };
  return (
    <ActionDialog
      open
      onClose={onClose}
      title={`${remedy === "resume" ? "Resume" : "Retry"} ${countOf(met, "run")} of ${safeLine(workflow)}`}
      description={`${safeLine(causeText(cause).title)}. Workers take them up one after the other; those whose cause is still there are parked again. The batch goes on when this tab is closed.`}
      confirm={`${remedy === "resume" ? "Resume" : "Retry"} ${countOf(met, "run")}`}
      typed={met > TYPED_FROM ? String(met) : undefined}
      typedWhat="the number"
      done="The batch has begun"
      onConfirm={begin}
    />
  );
}
