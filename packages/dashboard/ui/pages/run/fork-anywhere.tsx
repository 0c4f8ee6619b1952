import { useState } from "react";
import type { RunDetail } from "../../../src/api/api-messages.ts";
import { Answer } from "../../components/answers.tsx";
import { Button } from "../../components/button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { SelectField } from "../../components/fields.tsx";
import { safeLine } from "../../text/safe-text.ts";
import { ForkDialog } from "./fork-dialog.tsx";
import { useTimeline } from "./timeline-data.ts";

/** Asks before which op to fork, then how. */
export function ForkAnywhere({ run, onClose }: { readonly run: RunDetail; readonly onClose: () => void }) {
  const read = useTimeline(run.runId);
  const [chosen, setChosen] = useState<string>();
  const [next, setNext] = useState(false);
  const ops = (read.data?.ops ?? []).slice(0, 1000).map(({ op }) => op);
  const op = chosen ?? ops.at(-1);
  if (next && op !== undefined) return <ForkDialog run={run} op={{ op }} open onClose={onClose} />;
  const actions = (
    <Button kind="primary" disabled={op === undefined} onClick={() => setNext(true)}>
      Next
    </Button>
  );
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Fork ${safeLine(run.id)}`}
      description="A new run starts with the history up to an op."
      actions={actions}
    >
      <Answer read={read} rows={1}>
        {() => (
          <SelectField
            label="Before"
            value={op ?? ""}
            options={ops.map((each) => ({ value: each, label: safeLine(each) }))}
            onChange={setChosen}
          />
        )}
      </Answer>
    </Dialog>
  );
}
