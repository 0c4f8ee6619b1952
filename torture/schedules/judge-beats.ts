/**
 * The verdict about the schedules of a round: each time that was due has one decision that is final, each time that was fired has one
 * run, no other run exists, runs that must not overlap do not, and somebody else's runs are as they were.
 */
import type { Finding } from "../finding.ts";
import type { Beat } from "./beats.ts";

export interface BeatRun {
  readonly id: string;
  readonly runId: string;
  /** By its attributes. */
  readonly scheduledAt: number;
  readonly status: string;
  readonly createdAt: number;
  readonly endedAt: number | null;
}

export interface BeatDecision {
  readonly at: number;
  readonly what: string;
  readonly runId?: string;
}

export interface ForeignRun {
  readonly id: string;
  readonly status: string;
  /** Messages that it was sent. */
  readonly delivered: number;
}

export interface BeatEvidence {
  readonly beat: Beat;
  /** When it was due. */
  readonly times: readonly number[];
  readonly foreignTimes: readonly number[];
  /** Null: the schedule is gone. */
  readonly state: { readonly nextAt: number | null; readonly buffered: readonly number[] } | null;
  readonly decisions: readonly BeatDecision[];
  /** The runs of the schedule. */
  readonly runs: readonly BeatRun[];
  readonly foreignRuns: readonly ForeignRun[];
}

export function judgeBeat(evidence: BeatEvidence): Finding[] {
  const { beat, state } = evidence;
  const findings: Finding[] = [];
  const note: Note = (fault, text) => void findings.push({ fault, id: beat.id, text });
  if (state === null) note("lost", "the schedule is gone");
  else if (state.nextAt !== null || state.buffered.length > 0)
    note("lost", `a time is left: next ${shown(state.nextAt)}, buffered ${state.buffered.map(shown).join(", ")}`);
  judgeDecisions(evidence, note);
  judgeRuns(evidence, note);
  if (beat.overlap !== "allow") judgeOverlap(evidence.runs, note);
  for (const { id, status, delivered } of evidence.foreignRuns)
    if (status !== "waiting" || delivered > 0)
      note("wrong", `somebody else's run ${id} was touched: it is ${status}, and was sent ${delivered} messages`);
  return findings;
}

type Note = (fault: Finding["fault"], text: string) => void;

/** What may become of a time, by policy: a list of what is decided about it, in order. */
const SEQUENCES: Readonly<Record<Beat["overlap"], readonly string[]>> = {
  allow: ["fired"],
  skip: ["fired", "skipped"],
  "buffer-one": ["fired", "skipped", "buffered fired"],
  "buffer-all": ["fired", "buffered fired"],
  "cancel-other": ["fired", "buffered fired", "buffered skipped"],
  "terminate-other": ["fired", "buffered fired", "buffered skipped"],
};

function judgeDecisions({ beat, times, foreignTimes, decisions }: BeatEvidence, note: Note): void {
  const byTime = new Map<number, string[]>(times.map((at) => [at, []]));
  for (const { at, what } of decisions) {
    if (byTime.has(at)) byTime.get(at)?.push(what);
    else note("wrong", `${what} at ${shown(at)}, which is none of its times`);
  }
  for (const [at, whats] of byTime) {
    const said = whats.join(" ");
    const may = foreignTimes.includes(at) ? ["failed", "buffered failed", "buffered skipped"] : SEQUENCES[beat.overlap];
    if (may.includes(said)) continue;
    note(whats.length === 0 ? "lost" : "wrong", `${shown(at)} has the decisions [${said}]`);
  }
}

function judgeRuns({ times, foreignTimes, decisions, runs, beat }: BeatEvidence, note: Note): void {
  const fired = new Map(decisions.filter(({ what }) => what === "fired").map(({ at, runId }) => [at, runId]));
  const seen = new Set<number>();
  for (const { id, runId, scheduledAt } of runs) {
    if (id !== `${beat.id}@${shown(scheduledAt)}`) note("wrong", `run ${id} is said to be of ${shown(scheduledAt)}`);
    if (seen.has(scheduledAt)) note("repeated", `${shown(scheduledAt)} has two runs`);
    seen.add(scheduledAt);
    if (!times.includes(scheduledAt)) note("wrong", `run ${id} is of none of its times`);
    else if (fired.get(scheduledAt) !== runId) note("wrong", `run ${id} was not fired, or as another run`);
  }
  for (const at of fired.keys()) if (!seen.has(at)) note("lost", `${shown(at)} was fired, and has no run`);
  const last = Math.max(...seen);
  for (const { id, status, scheduledAt } of runs) {
    const ends = beat.endless ? ["canceled", "terminated"] : ["completed"];
    const isLast = beat.endless && scheduledAt === last;
    // It has made way for a time whose run could not be started then.
    if (isLast && foreignTimes.some((at) => at > last) && ends.includes(status)) continue;
    if (isLast && status !== "waiting") note("wrong", `run ${id} is the last one, and is ${status}`);
    if (!isLast && !ends.includes(status)) note("lost", `run ${id} should have ended by now, and is ${status}`);
  }
}

function judgeOverlap(runs: readonly BeatRun[], note: Note): void {
  const sorted = [...runs].sort((a, b) => a.createdAt - b.createdAt);
  for (const [i, run] of sorted.entries()) {
    const before = sorted[i - 1];
    if (before && (before.endedAt === null || before.endedAt > run.createdAt))
      note("wrong", `run ${run.id} was started before run ${before.id} had ended`);
  }
}

function shown(at: number | null): string {
  return at === null ? "never" : new Date(at).toISOString();
}
