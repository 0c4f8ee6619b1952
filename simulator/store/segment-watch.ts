import { unpackSegment } from "../../packages/holdfast/src/calls/segments/segment-format.ts";
import type { MemoryState } from "../../packages/holdfast/src/memory/state.ts";
import type { HistoryEvent } from "../../packages/holdfast/src/model/event.ts";
import type { Segment } from "../../packages/holdfast/src/model/segment.ts";
import type { RunSegments } from "../../packages/holdfast/src/ports/store.ts";
import type { Dice } from "../dice.ts";
import type { Found } from "../evidence.ts";
import type { Trace } from "../trace.ts";
import { digest } from "./recorder.ts";

/** What an engine says of a segment that it could not use. */
interface Report {
  readonly runId: string;
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly fault: string;
}

/**
 * Looks at every segment when it is stored: it holds the events of its run as they are, and none that is not there yet. Also harms
 * segments, and remembers which: those alone may be called damaged.
 */
export class SegmentWatch {
  readonly faults: Found[] = [];
  readonly reports: Report[] = [];
  readonly #state: MemoryState;
  readonly #trace: Trace;
  readonly #known = new Map<string, RunSegments>();
  /** With the run that each belongs to. */
  readonly #damaged = new Map<Segment, string>();
  packed = 0;
  harmed = 0;

  constructor(state: MemoryState, trace: Trace) {
    this.#state = state;
    this.#trace = trace;
  }

  note(at: number, who: string, method: string): void {
    for (const [runId, stored] of this.#state.segments) {
      const before = this.#known.get(runId);
      if (before === stored) continue;
      this.#known.set(runId, stored);
      const fresh = stored.segments.filter((segment) => !before?.segments.includes(segment));
      this.packed += fresh.length;
      this.#trace.add(at, who, runId, `${method}: edition ${stored.edition}, new segments ${fresh.map(shown)}`);
      for (const segment of fresh) this.#look(runId, segment);
    }
  }

  #look(runId: string, segment: Segment): void {
    const events: HistoryEvent[] = [];
    const wrong = unpackSegment(segment, events);
    const history = this.#state.events.get(runId) ?? [];
    const what = `the segment of events ${shown(segment)}`;
    if (segment.lastSeq > history.length)
      this.faults.push({ runId, text: `${what} goes beyond event ${history.length}, the last one` });
    else if (wrong || !sameEvents(events, history.slice(segment.firstSeq - 1, segment.lastSeq)))
      this.faults.push({ runId, text: `${what} does not hold those events` });
  }

  /** A bit of a stored segment changes, one is lost, or all of a run are dropped, as by who rewrites its payloads. */
  harm(at: number, dice: Dice): void {
    const packed = [...this.#state.segments].filter(([, { segments }]) => segments.length > 0);
    if (packed.length === 0) return;
    const [runId, { edition, segments }] = dice.pick(packed);
    const victim = dice.pick(segments);
    const how = dice.pick(["changed", "changed", "changed", "lost", "dropped"] as const);
    this.harmed += 1;
    this.#trace.add(at, "trouble", runId, `the segment of events ${shown(victim)} is ${how}`);
    const others = (instead: readonly Segment[]): readonly Segment[] =>
      segments.flatMap((one) => (one === victim ? instead : [one]));
    if (how === "dropped") return this.#set(runId, { edition: edition + 1, segments: [] });
    if (how === "lost") return this.#set(runId, { edition, segments: others([]) });
    // A second change might undo the first.
    if (this.#damaged.has(victim)) return;
    const bytes = Uint8Array.from(victim.bytes);
    const place = dice.int(0, bytes.length - 1);
    bytes[place] = (bytes[place] as number) ^ (1 << dice.int(0, 7));
    const damaged = { ...victim, bytes };
    this.#damaged.set(damaged, runId);
    this.#set(runId, { edition, segments: others([damaged]) });
  }

  #set(runId: string, segments: RunSegments): void {
    this.#state.segments.set(runId, segments);
    this.#known.set(runId, segments);
  }

  /** The damaged segment that whoever reads that many events now comes upon. */
  damagedIn(runId: string, eventCount: number): Segment | undefined {
    let last = 0;
    for (const segment of this.#state.segments.get(runId)?.segments ?? []) {
      if (segment.firstSeq !== last + 1 || segment.lastSeq > eventCount) return undefined;
      if (this.#damaged.has(segment)) return segment;
      last = segment.lastSeq;
    }
    return undefined;
  }

  /** An engine says that a segment is damaged. */
  reported(report: Report): void {
    this.reports.push(report);
    const { runId, fault } = report;
    const isTrue = [...this.#damaged].some(
      ([{ firstSeq, lastSeq }, of]) => of === runId && firstSeq === report.firstSeq && lastSeq === report.lastSeq,
    );
    if (!isTrue || fault !== "sum")
      this.faults.push({ runId, text: `the segment of events ${shown(report)} is said to be damaged (${fault})` });
  }
}

function shown({ firstSeq, lastSeq }: Pick<Segment, "firstSeq" | "lastSeq">): string {
  return `${firstSeq}-${lastSeq}`;
}

export function sameEvents(some: readonly HistoryEvent[], others: readonly HistoryEvent[]): boolean {
  return some.length === others.length && some.every((event, i) => digest(event) === digest(others[i] as HistoryEvent));
}
