/** A run as far as the fence is concerned. */
export interface FencedRun {
  readonly epoch: number;
  readonly commit: number;
  readonly delivered: number;
}

/** A commit as far as the fence is concerned. */
export interface SentCommit {
  readonly epoch: number;
  readonly commit: number;
  readonly consumed: number;
  readonly transition: { readonly type: string; readonly unlessBehind?: boolean };
}

/** The fence's answer to a commit: `again` was written before, `behind` may be written only if no messages wait. */
export function judgeCommit(
  row: FencedRun,
  isHolder: boolean,
  sent: SentCommit,
): "write" | "again" | "behind" | "lost" {
  if (row.epoch !== sent.epoch) return "lost";
  if (row.commit === sent.commit + 1) return "again";
  if (row.commit !== sent.commit || !isHolder) return "lost";
  const { transition } = sent;
  return transition.unlessBehind && isBehind(row, sent) ? "behind" : "write";
}

/** Whether the run stays held: its holder wants that, or it would be suspended with messages that it has not seen. */
export function staysHeld(
  row: Pick<FencedRun, "delivered">,
  sent: Pick<SentCommit, "consumed" | "transition">,
): boolean {
  const { type } = sent.transition;
  return type === "hold" || (type === "suspend" && isBehind(row, sent));
}

function isBehind({ delivered }: Pick<FencedRun, "delivered">, { consumed }: Pick<SentCommit, "consumed">): boolean {
  return delivered !== consumed;
}
