import {
  type CommitOutcome,
  type CommitRunsResult,
  type HistoryEvent,
  HoldfastError,
  type RunCommit,
} from "holdfast/adapter";
import * as binary from "../database/binary-array.ts";
import { eventTypeCode, jsonBytes } from "../database/codes.ts";
import type { Row } from "../database/driver.ts";
import type { Server } from "../database/server.ts";
import { callOf, type Values } from "../database/server-call.ts";
import { isEventConflict } from "../errors.ts";
import { withPosition, workersOf } from "./flush-parts.ts";
import { type Placed, positions } from "./new-tasks.ts";

/** The commits of a flush that only append. They have positions of their own. */
export interface Appended {
  readonly appends: readonly RunCommit[];
  readonly appendedBy: readonly number[];
  readonly appended: readonly Placed<HistoryEvent>[];
}

export interface AppendFlush extends Appended {
  /** Each pair of a worker and a namespace once. */
  readonly workers: readonly RunCommit[];
  /** Something of it may have been written before. */
  readonly careful: boolean;
}

export const APPEND_VALUES: Values<AppendFlush> = {
  w_worker: ({ workers }) => binary.uuidArray(workers, ({ workerId }) => workerId),
  w_namespace: ({ workers }) => binary.textArray(workers, ({ namespace }) => namespace),
  g_run: ({ appends }) => binary.uuidArray(appends, ({ runId }) => runId),
  g_by: ({ appendedBy }) => binary.int4Array(appendedBy),
  g_epoch: ({ appends }) => binary.int4Array(appends, ({ epoch }) => epoch),
  g_commit: ({ appends }) => binary.int4Array(appends, ({ commit }) => commit),
  g_first: ({ appends }) => binary.int4Array(appends, ({ events }) => events[0]?.seq ?? 0),
  g_events: ({ appends }) => binary.int4Array(appends, ({ events }) => events.length),
  f_i: ({ appended }) => positions(appended),
  f_seq: ({ appended }) => binary.int4Array(appended, ({ item: { seq } }) => seq),
  f_type: ({ appended }) => binary.int2Array(appended, ({ item: { type } }) => eventTypeCode(type)),
  f_op: ({ appended }) => binary.textArray(appended, ({ item: { op } }) => op),
  f_at: ({ appended }) => binary.timeArray(appended, ({ item: { at } }) => at),
  f_payload: ({ appended }) => binary.byteaArray(appended, ({ item: { payload } }) => payload ?? null),
  f_meta: ({ appended }) =>
    binary.sparse(
      binary.byteaArray,
      appended.map(({ item: { meta } }) => (meta === undefined ? null : jsonBytes(meta))),
    ),
  p_careful: ({ careful }) => careful,
};

export const APPEND = callOf("append_runs", APPEND_VALUES);

export function appendedIn(appends: readonly RunCommit[], by: readonly number[]): Appended {
  return { appends, appendedBy: by, appended: withPosition(appends, ({ events }) => events) };
}

/** `careful`: something of it may have been written before. */
export async function appendRuns(
  server: Server,
  appends: readonly RunCommit[],
  careful = false,
): Promise<CommitRunsResult> {
  const { workers, by } = workersOf(appends);
  try {
    const row = await server.writeOne(APPEND, { ...appendedIn(appends, by), workers, careful });
    return { outcomes: appendOutcomes(row), messages: [], now: row.a_now as number };
  } catch (error) {
    if (!isEventConflict(error)) throw error;
    if (!careful) return appendRuns(server, appends, true);
    // An earlier copy of the call is just being written: whoever repeats it finds that.
    throw new HoldfastError("store_unavailable", "PostgreSQL, append_runs: an earlier copy of it is being written", {
      cause: error,
    });
  }
}

export const OUTCOMES: Readonly<Record<string, CommitOutcome["outcome"]>> = {
  w: "written",
  l: "lost",
  b: "busy",
  n: "behind",
};

export function appendOutcomes({ a_outcome, a_delivered }: Row): CommitOutcome[] {
  const delivered = (a_delivered as string).split(",");
  return [...(a_outcome as string)].map((letter, i) => ({
    outcome: OUTCOMES[letter] as CommitOutcome["outcome"],
    held: letter === "w",
    delivered: Number(delivered[i]),
  }));
}
