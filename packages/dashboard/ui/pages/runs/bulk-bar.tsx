import { lazy, Suspense, useState } from "react";
import type { RunCount, RunFilter } from "../../../src/api/api-messages.ts";
import { useRead } from "../../api/reads.ts";
import { Button } from "../../components/button.tsx";
import { Menu } from "../../components/menu.tsx";
import { cappedText, countText } from "../../text/count-text.ts";
import styles from "./runs.module.css";

export interface Selection {
  readonly runIds: ReadonlySet<string>;
  /** All that match the filter, not only those that are loaded. */
  readonly all: boolean;
}

export type BulkAction = "cancel" | "terminate" | "pause" | "resume" | "retry" | "signal";

export const WORDS: Readonly<Record<BulkAction, string>> = {
  retry: "Retry",
  cancel: "Cancel",
  pause: "Pause",
  resume: "Resume",
  signal: "Signal",
  terminate: "Terminate",
};

const BulkDialog = lazy(async () => ({ default: (await import("./bulk-dialog.tsx")).BulkDialog }));

export interface BulkBarProps {
  readonly selection: Selection;
  readonly onChange: (selection: Selection) => void;
  readonly params: Readonly<Record<string, string>>;
  readonly filter: RunFilter;
}

/** What to do with the selected runs. The server does it, and goes on when the tab is closed. */
export function BulkBar({ selection, onChange, params, filter }: BulkBarProps) {
  const [action, setAction] = useState<BulkAction>();
  const matching = useRead<RunCount>("runs/count", params, { enabled: selection.runIds.size > 0 || selection.all });
  if (selection.runIds.size === 0 && !selection.all) return null;
  const all = matching.data === undefined ? "… " : allText(matching.data);
  const clear = () => onChange({ runIds: new Set(), all: false });
  return (
    <div className={styles.bulk}>
      <strong>{selection.all ? `All ${all}that match` : `${countText(selection.runIds.size)} selected`}</strong>
      {selection.all ? null : (
        <Button kind="quiet" small onClick={() => onChange({ ...selection, all: true })}>
          {`Select all ${all}that match`}
        </Button>
      )}
      <span className="push" />
      <Button small onClick={() => setAction("retry")}>
        Retry…
      </Button>
      <Button small onClick={() => setAction("cancel")}>
        Cancel…
      </Button>
      <Menu
        small
        label="More"
        items={(["pause", "resume", "signal", "terminate"] as const).map((each) => ({
          label: `${WORDS[each]}…`,
          onSelect: () => setAction(each),
        }))}
      />
      <Button kind="quiet" small onClick={clear}>
        Clear
      </Button>
      <Suspense>
        {action === undefined ? null : (
          <BulkDialog
            action={action}
            selection={selection}
            filter={filter}
            onClose={() => setAction(undefined)}
            onDone={clear}
          />
        )}
      </Suspense>
    </div>
  );
}

/** With a blank at its end; nothing where they are too many to be counted by the way: the dialog counts them. */
function allText({ count, capped, uncounted }: RunCount): string {
  return uncounted ? "" : `${cappedText(count, capped)} `;
}
