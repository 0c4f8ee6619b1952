/** What a commit must know of its run before it may write: read from the row, or known since the run was taken or written last. */
import type { RunCommit } from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import type { KnownHold } from "../database/known-holds.ts";
import { sharedUuidBytes } from "../database/uuid.ts";
import type { KnownWorkers } from "../workers.ts";
import type { StateRow } from "./run-state.ts";

/** Only what a commit needs; every column that is read costs time. */
const FENCE = `
  select run_key, epoch, commit_no, held_by, event_count, delivered, status, 
    deaths + alone_deaths + suspect + alone + (parked_by is not null) as marks, lane_id, deadline_at, ties
  from holdfast_runs where run_id = ?`;

type FenceColumns = readonly [
  ...[runKey: number, epoch: number, commit: number, heldBy: number | null, eventCount: number, delivered: number],
  ...[status: number, marks: number, laneId: number, deadlineAt: number | null],
  ties: number | null,
];

export interface Fence extends Pick<StateRow, "runKey" | "epoch" | "commit" | "heldBy" | "eventCount" | "delivered"> {
  readonly status: number;
  /** Whether there is anything for progress to clear: earlier deaths, or code that parked the run. */
  readonly marked: boolean;
  readonly laneId: number;
  readonly deadlineAt: number | null;
  readonly ties: number | null;
  /** Whether `eventCount` is how many there are. Otherwise it is what the row says, which appends do not change. */
  readonly counted: boolean;
}

export function fenceOf({ sql }: Call, runId: string): Fence | undefined {
  const columns = sql.columns(FENCE, sharedUuidBytes(runId));
  if (!columns) return undefined;
  const [runKey, epoch, commit, heldBy, eventCount, delivered, status, marks, laneId, deadlineAt, ties] =
    columns as FenceColumns;
  return {
    runKey,
    epoch,
    commit,
    heldBy,
    eventCount,
    delivered,
    status,
    marked: marks > 0,
    laneId,
    deadlineAt,
    ties,
    counted: false,
  };
}

/** What is known of the run, if nobody else has changed it since. */
export function believed(
  { holds }: Call,
  { namespace, runId, workerId }: RunCommit,
  workers: KnownWorkers,
): KnownHold | undefined {
  const known = holds.find(runId);
  if (known === undefined || known.workerId !== workerId || known.namespace !== namespace) return undefined;
  return known.taken === workers.find(workerId)?.taken ? known : undefined;
}

/** The same as `fenceOf`, without reading anything. Undefined: the row must be read. */
export function knownFence(call: Call, sent: RunCommit, workers: KnownWorkers): Fence | undefined {
  const known = believed(call, sent, workers);
  if (!known?.plain || known.epoch !== sent.epoch || known.commit !== sent.commit) return undefined;
  if (known.eventCount !== sent.eventCount - sent.events.length) return undefined;
  const { runKey, epoch, commit, eventCount, delivered, status, laneId, deadlineAt } = known;
  const heldBy = workers.find(sent.workerId)?.workerKey ?? null;
  return {
    runKey,
    epoch,
    commit,
    heldBy,
    eventCount,
    delivered,
    status,
    marked: false,
    laneId,
    deadlineAt,
    ties: null,
    counted: true,
  };
}
