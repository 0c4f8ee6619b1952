/** Why a child is closed, in its history and its error: what has become of its parent, or that this one gave it up. */
import type { ErrorRecord } from "../model/error-record.ts";
import { REASON_LENGTH_MAX } from "../model/names.ts";
import { type ClosedStatus, isClosed, type Run } from "../model/run.ts";
import type { Store } from "../ports/store.ts";

const ENDS: Readonly<Record<ClosedStatus, string>> = {
  completed: "has completed",
  failed: "has failed",
  canceled: "was canceled",
  terminated: "was terminated",
  timed_out: "has timed out",
  continued: "has continued as new",
  moved: "has moved to another store",
};

/** How many events of an open parent are looked through for the one that gave the child up: it has only just come. */
const EVENTS_READ = 500;

/** `status`: how the parent has ended, or what it is being wound up for; undefined if it goes on without the child. */
export function closeReason(id: string, status?: ClosedStatus, reason?: unknown): string {
  if (status === undefined) return `parent "${id}" does not wait for it any more`;
  const why = typeof reason === "string" && reason !== "" ? `: ${reason}` : "";
  const text = `parent "${id}" ${ENDS[status]}${why}`;
  return text.length <= REASON_LENGTH_MAX ? text : `${text.slice(0, REASON_LENGTH_MAX - 1)}…`;
}

/** Whether the text is such a reason, as far as one can tell. */
export function isCloseReason(text: unknown): boolean {
  return typeof text === "string" && /^parent ".*" (?:has |was |does not wait )/s.test(text);
}

type Parent = Pick<Run, "namespace" | "runId">;

/** The reasons for the children that these runs close, by the run ids of parent and child. */
export async function closeReasons(
  store: Store,
  parents: readonly Parent[],
): Promise<(parent: Parent & Pick<Run, "id">, child: string) => string> {
  const rows = await store.runs.read({ runs: parents.map(({ namespace, runId }) => ({ namespace, runId })) });
  const reasons = new Map<string, string>();
  const open: Run[] = [];
  for (const row of rows) {
    if (row && isClosed(row.status)) reasons.set(row.runId, closeReason(row.id, row.status, reasonIn(row.error)));
    else if (row) open.push(row);
  }
  if (open.length > 0) await readGivenUp(store, open, reasons);
  return ({ runId, id }, child) => reasons.get(`${runId} ${child}`) ?? reasons.get(runId) ?? closeReason(id);
}

async function readGivenUp(store: Store, open: readonly Run[], reasons: Map<string, string>): Promise<void> {
  const runs = open.map(({ namespace, runId, eventCount }) => {
    return { namespace, runId, afterSeq: Math.max(0, eventCount - EVENTS_READ) };
  });
  const histories = await store.histories.read({ runs, limitPerRun: EVENTS_READ });
  histories.forEach((events, i) => {
    for (const { type, meta } of events)
      if (type === "op_canceled" && meta?.child && meta.reason !== undefined)
        reasons.set(`${open[i]?.runId} ${meta.child.runId}`, meta.reason);
  });
}

function reasonIn(error: ErrorRecord | null): unknown {
  return error?.data?.["reason"];
}
