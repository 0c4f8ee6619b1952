import type { AddSegmentsParams, DropSegmentsParams, ReadSegmentsParams, RunSegments, Segment } from "holdfast/adapter";
import * as binary from "./database/binary-array.ts";
import type { Server } from "./database/server.ts";
import { callOf, readingCallOf } from "./database/server-call.ts";

const READ = readingCallOf<ReadSegmentsParams>("read_segments", {
  p_namespace: ({ runs }) => binary.textArray(runs, (run) => run.namespace),
  p_run: ({ runs }) => binary.uuidArray(runs, (run) => run.runId),
  p_after: ({ runs }) => binary.int4Array(runs, (run) => run.afterSeq),
  p_limit: ({ limitPerRun }) => limitPerRun,
});
const ADD = callOf<AddSegmentsParams>("add_segments_if_current", {
  p_namespace: ({ namespace }) => namespace,
  p_run: ({ runId }) => runId,
  p_edition: ({ edition }) => edition,
  p_first: ({ segments }) => binary.int4Array(segments, (segment) => segment.firstSeq),
  p_last: ({ segments }) => binary.int4Array(segments, (segment) => segment.lastSeq),
  p_sum: ({ segments }) => binary.timeArray(segments, (segment) => segment.sum),
  p_bytes: ({ segments }) => binary.byteaArray(segments, (segment) => segment.bytes),
});
const DROP = callOf<DropSegmentsParams>("drop_segments", {
  p_namespace: ({ runs }) => binary.textArray(runs, (run) => run.namespace),
  p_run: ({ runs }) => binary.uuidArray(runs, (run) => run.runId),
});

/** The row whose `sum` is the edition has this end. It exists once segments of the run were dropped. */
const EDITION_SEQ = 0;

export async function readSegments(server: Server, params: ReadSegmentsParams): Promise<readonly RunSegments[]> {
  const found = params.runs.map(() => ({ edition: 0, segments: [] as Segment[] }));
  for (const row of await server.read(READ, params)) {
    const run = found[(row.i as number) - 1] as (typeof found)[number];
    const lastSeq = row.last_seq as number;
    const sum = row.sum as number;
    if (lastSeq === EDITION_SEQ) run.edition = sum;
    else run.segments.push({ firstSeq: row.first_seq as number, lastSeq, sum, bytes: row.bytes as Uint8Array });
  }
  return found;
}

export async function addSegmentsIfCurrent(server: Server, params: AddSegmentsParams): Promise<{ added: boolean }> {
  return { added: (await server.writeOne(ADD, params)).o_added as boolean };
}

export async function dropSegments(server: Server, params: DropSegmentsParams): Promise<readonly (number | null)[]> {
  const editions: (number | null)[] = params.runs.map(() => null);
  for (const row of await server.write(DROP, params)) editions[(row.i as number) - 1] = row.edition as number;
  return editions;
}
