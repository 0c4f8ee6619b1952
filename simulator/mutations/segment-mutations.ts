import type { Mutation } from "./mutation.ts";

export const SEGMENT_MUTATIONS: readonly Mutation[] = [
  {
    name: "says that a segment has an event more than were packed",
    file: "calls/segments/segment-format.ts",
    find: "lastSeq: firstSeq + events.length - 1, bytes",
    replace: "lastSeq: firstSeq + events.length, bytes",
    caughtBy: "segments",
  },
  {
    name: "loses the last event of a stretch that it packs",
    file: "calls/segments/segment-packer.ts",
    find: "segments.push(packSegment(stretch));",
    replace: "segments.push(packSegment([...stretch.slice(0, -1), stretch[0]!]));",
    caughtBy: "segments",
  },
  {
    name: "does not check the sum of a segment",
    file: "calls/segments/segment-format.ts",
    find: '  if (crc32(bytes) !== sum) return "sum";\n',
    replace: "",
    caughtBy: "segments",
  },
  {
    name: "does not report a damaged segment",
    file: "calls/segments/segmented-history.ts",
    find: "      if (fault) report(run, segment, fault, reports);\n",
    replace: "",
    caughtBy: "segments",
  },
  {
    name: "reads on behind a segment that is lost",
    file: "calls/segments/segmented-history.ts",
    find: "segment.firstSeq > before + 1 || ",
    replace: "",
    caughtBy: "segments",
  },
  {
    name: "uses a segment that goes beyond what was claimed",
    file: "calls/segments/segmented-history.ts",
    find: " || segment.lastSeq > run.eventCount) return",
    replace: ") return",
    caughtBy: "no-complaints",
  },
  {
    name: "gives the segments of a run to its forks",
    file: "memory/runs/forks.ts",
    find: "  appendNote(state, row, event, now);\n",
    replace:
      "  const packed = state.segments.get(runId);\n  if (packed) state.segments.set(row.runId, { ...packed });\n  appendNote(state, row, event, now);\n",
    caughtBy: "segments",
  },
];
