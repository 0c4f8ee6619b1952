// Dialogs are loaded when one is opened: most visits only look.
import { lazy, Suspense } from "react";
import type { RunAction, RunDetail } from "../../../src/api/api-messages.ts";
import type { TimelineOp } from "./timeline-ops.ts";

export interface RunDialog {
  readonly action: RunAction;
  /** The name of the signal to begin with. */
  readonly name?: string;
}

export interface RunDialogsProps {
  readonly run: RunDetail;
  readonly dialog: RunDialog | undefined;
  readonly onClose: () => void;
}

export interface ForkDialogProps {
  readonly run: RunDetail;
  readonly op: Pick<TimelineOp, "op">;
  readonly open: boolean;
  readonly onClose: () => void;
}

const RunDialogs = lazy(async () => ({ default: (await import("./run-dialogs.tsx")).RunDialogs }));
const ForkDialog = lazy(async () => ({ default: (await import("./fork-dialog.tsx")).ForkDialog }));

export function LazyRunDialogs(props: RunDialogsProps) {
  return <Suspense>{props.dialog === undefined ? null : <RunDialogs {...props} />}</Suspense>;
}

export function LazyForkDialog(props: ForkDialogProps) {
  return <Suspense>{props.open ? <ForkDialog {...props} /> : null}</Suspense>;
}
