/**
 * Reading a long history: first the segments that it has, then the events behind them. A segment that cannot be used is no
 * obstacle: reading goes on with the events from there.
 */
import type { HistoryEvent } from "../../model/event.ts";
import type { Run } from "../../model/run.ts";
import type { Segment } from "../../model/segment.ts";
import type { Logger } from "../../ports/logger.ts";
import type { RunSegments } from "../../ports/store.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { type SegmentFault, unpackSegment } from "./segment-format.ts";

/** Measured: half as many events are read a tenth slower, and twice as many hardly any faster. */
const EVENTS_PER_SEGMENT = 500;
const SEGMENTS_PER_PAGE = 20;

export type LongRun = Pick<Run, "namespace" | "runId" | "eventCount">;

export interface SegmentsRead {
  /** From the first event on. */
  readonly events: HistoryEvent[];
  /** At the time of the first page, before any event was read. */
  readonly edition: number;
  /** Whether a damaged segment was found. */
  readonly damaged: boolean;
}

export interface SegmentReports {
  readonly log?: Logger;
  readonly telemetry?: Telemetry;
}

export interface SegmentSize {
  readonly eventsPerSegment?: number;
}

/** A history that has no more events than one segment is not worth the question whether it has any. */
export function segmentSize({ eventsPerSegment = EVENTS_PER_SEGMENT }: SegmentSize): number {
  return eventsPerSegment;
}

export async function readSegments(
  run: LongRun,
  read: (afterSeq: number, limit: number) => Promise<RunSegments>,
  reports: SegmentReports,
): Promise<SegmentsRead> {
  const events: HistoryEvent[] = [];
  let edition: number | undefined;
  for (;;) {
    const page = await read(events.length, SEGMENTS_PER_PAGE);
    edition ??= page.edition;
    for (const segment of page.segments) {
      const before = events.length;
      // Two workers that pack at once may disagree about where segments end.
      if (segment.firstSeq <= before) continue;
      // The run may have continued since its row was read.
      if (segment.firstSeq > before + 1 || segment.lastSeq > run.eventCount) return { events, edition, damaged: false };
      const fault = unpackSegment(segment, events);
      if (fault) report(run, segment, fault, reports);
      if (events.length === before) return { events, edition, damaged: fault !== undefined };
    }
    if (page.segments.length < SEGMENTS_PER_PAGE) return { events, edition, damaged: false };
  }
}

function report({ runId }: LongRun, segment: Segment, fault: SegmentFault, { log, telemetry }: SegmentReports): void {
  const { firstSeq, lastSeq } = segment;
  telemetry?.count("segments_damaged", 1, { fault });
  const what = fault === "sum" ? "its checksum is wrong" : "its contents cannot be read";
  log?.error(
    { runId, firstSeq, lastSeq, fault },
    `the packed copy of events ${firstSeq} to ${lastSeq} of run ${runId} is damaged (${what}); the events themselves are read instead. Nothing is lost, but check the disk and the memory of the database's machine.`,
  );
}
