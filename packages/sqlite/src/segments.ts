import {
  type AddSegmentsParams,
  type DropSegmentsParams,
  mayAddSegments,
  type ReadSegmentsParams,
  type RunSegments,
  type Segment,
} from "holdfast/adapter";
import type { Call } from "./database/call.ts";
import { blob } from "./database/driver.ts";
import { keyOf, stateOf } from "./runs/run-state.ts";

/** The row whose `sum` is the edition has this end. It exists once segments of the run were dropped. */
const EDITION_SEQ = 0;

const SELECT = `
  select first_seq as firstSeq, last_seq as lastSeq, sum, bytes from holdfast_segments
  where run_key = ? and last_seq > ? order by last_seq limit ?`;
const EDITION = "select sum from holdfast_segments where run_key = ? and last_seq = ?";
const PACKED = "select max(last_seq) from holdfast_segments where run_key = ?";
const INSERT = "insert into holdfast_segments (run_key, first_seq, last_seq, sum, bytes) values (?, ?, ?, ?, ?)";
const DELETE = "delete from holdfast_segments where run_key = ?";

export function readSegments(call: Call, params: ReadSegmentsParams): RunSegments[] {
  return params.runs.map(({ namespace, runId, afterSeq }) => {
    const runKey = keyOf(call, { namespace, runId });
    if (runKey === null) return { edition: 0, segments: [] };
    const segments = call.sql.all<Segment>(SELECT, runKey, Math.max(afterSeq, EDITION_SEQ), params.limitPerRun);
    return { edition: editionOf(call, runKey), segments };
  });
}

export function addSegmentsIfCurrent(call: Call, params: AddSegmentsParams): { added: boolean } {
  const row = stateOf(call, params.namespace, params.runId);
  if (!row) return { added: false };
  const { runKey, eventCount } = row;
  const packedSeq = (call.sql.columns(PACKED, runKey)?.[0] as number | null | undefined) ?? 0;
  const run = { eventCount, edition: editionOf(call, runKey), packedSeq };
  if (!mayAddSegments(run, params)) return { added: false };
  for (const { firstSeq, lastSeq, sum, bytes } of params.segments)
    call.sql.execute(INSERT, runKey, firstSeq, lastSeq, sum, blob(bytes));
  return { added: true };
}

export function dropSegments(call: Call, { runs }: DropSegmentsParams): (number | null)[] {
  return runs.map((run) => {
    const runKey = keyOf(call, run);
    return runKey === null ? null : dropSegmentsOf(call, runKey);
  });
}

/** For calls that rewrite the payloads of a run: in the same transaction. Returns the new edition. */
export function dropSegmentsOf(call: Call, runKey: number): number {
  const edition = editionOf(call, runKey) + 1;
  call.sql.run(DELETE, runKey);
  call.sql.execute(INSERT, runKey, EDITION_SEQ, EDITION_SEQ, edition, new Uint8Array(1));
  return edition;
}

function editionOf({ sql }: Call, runKey: number): number {
  return (sql.columns(EDITION, runKey, EDITION_SEQ)?.[0] as number | undefined) ?? 0;
}
