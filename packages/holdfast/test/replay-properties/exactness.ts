/** The comparison: whatever a machine is told by a history, it must come to stand exactly where the live one stood. */
import type { HistoryEvent } from "../../src/model/event.ts";
import { replayHistory } from "../../src/replay/replayer.ts";
import type { WorkflowBody } from "../../src/replay/run-code.ts";
import type { RunMachine } from "../../src/replay/run-machine.ts";
import { TurnLoop } from "../../src/replay/turn-loop.ts";
import { immediate } from "./immediate.ts";
import { type Cut, LiveRun, newMachine, type Script } from "./live-run.ts";
import { Mismatch } from "./mismatch.ts";
import { type Snapshot, snapshotOf } from "./snapshot.ts";

/** The code of a run, and the log that it writes its observations to. */
export interface Code {
  readonly body: WorkflowBody;
  readonly log: readonly string[];
}

/** A fresh copy of the same code, with nothing observed yet. */
export type MakeCode = () => Code;

export function playLive(code: Code, script: Script): Promise<LiveRun> {
  return new LiveRun({ ...code, script }).play();
}

/** Replays every history that a crash could have left behind, and compares each with what was true at that moment. */
export async function checkEveryPrefix(live: LiveRun, make: MakeCode, fromSeq = 0): Promise<void> {
  assertSound(live.machine, "the live run", live, live.history);
  assertInOrder(live);
  const cuts = live.cuts.filter((cut) => cut.snapshot.seq >= fromSeq);
  await Promise.all(cuts.map((cut) => checkPrefix(live, cut, make())));
}

async function checkPrefix(live: LiveRun, cut: Cut, code: Code): Promise<void> {
  const { seq } = cut.snapshot;
  const prefix = live.history.slice(0, seq);
  const lines: string[] = [];
  const machine = await replayHistory(newMachine(code.body, prefix, lines), immediate);
  const what = `the replay of events 1…${seq}`;
  assertSound(machine, what, live, prefix);
  if (machine.fresh.length > 0 || machine.freshAttributes)
    throw new Mismatch(`${what} recorded something new`, live, {
      history: machine.fresh,
      state: `attributes ${JSON.stringify(machine.freshAttributes)}`,
    });
  // Of a history without events nobody can tell whether the first turn was ever taken.
  if (seq > 0 && lines.length > 0)
    throw new Mismatch(`${what} wrote "${lines[0]}" to the logger again`, live, { history: prefix });
  compare(snapshotOf(machine, code.log), code.log, cut, live, what, prefix);
}

/**
 * A crash at the cut: another machine replays what was written and goes on with the script. With the rest of the live run's
 * script it must write the very same history (`checkSameFuture`); with another, whatever it writes must again replay exactly.
 */
export async function crashAndGoOn(
  live: LiveRun,
  cut: Cut,
  make: MakeCode,
  script: Script,
  loop = new TurnLoop(immediate),
): Promise<LiveRun> {
  const code = make();
  const bySeq = new Map(live.cuts.map((other) => [other.snapshot.seq, other]));
  const onReplayedTurn = (snapshot: Snapshot): void => {
    const other = bySeq.get(snapshot.seq);
    if (other) compare(snapshot, code.log, other, live, `turn by turn, event ${snapshot.seq}`, resumed.history);
    else throw new Mismatch(`a replayed turn ended at event ${snapshot.seq}, where no live turn ended`, live, resumed);
  };
  const history = live.history.slice(0, cut.snapshot.seq);
  const resumed = new LiveRun({ ...code, script, history, from: cut, loop, onReplayedTurn });
  await resumed.play();
  assertSound(resumed.machine, `the run that crashed at event ${cut.snapshot.seq}`, live, resumed.history);
  return resumed;
}

export function checkSameFuture(live: LiveRun, resumed: LiveRun, cut: Cut): void {
  const what = `after a crash at event ${cut.snapshot.seq} the same decisions`;
  if (eventsText(live.history) !== eventsText(resumed.history))
    throw new Mismatch(`${what} led to another history`, live, resumed);
  const lines = live.lines.slice(cut.snapshot.seq > 0 ? cut.lines : 0);
  if (lines.join() !== resumed.lines.join())
    throw new Mismatch(`${what} wrote ${resumed.lines.join()} to the logger, not ${lines.join()}`, live, resumed);
  const later = live.cuts.filter(({ snapshot }) => snapshot.seq >= cut.snapshot.seq);
  if (later.length !== resumed.cuts.length)
    throw new Mismatch(`${what} came to rest ${resumed.cuts.length} times, not ${later.length}`, live, resumed);
  later.forEach((other, i) => {
    const { snapshot } = resumed.cuts[i] as Cut;
    compare(snapshot, resumed.log, other, live, what, resumed.history);
  });
}

function compare(
  snapshot: Snapshot,
  log: readonly string[],
  cut: Cut,
  live: LiveRun,
  what: string,
  history: readonly HistoryEvent[],
): void {
  const { seq, observations, state } = cut.snapshot;
  const fail = (fault: string): never => {
    throw new Mismatch(`${what}: ${fault}`, live, { history, log, state: snapshot.state }, cut.snapshot);
  };
  if (snapshot.seq !== seq) fail(`saw events up to ${snapshot.seq}, the live run up to ${seq}`);
  if (snapshot.observations !== observations)
    fail(`the code observed ${snapshot.observations} things, live ${observations}`);
  for (let i = 0; i < observations; i++)
    if (log[i] !== live.log[i]) fail(`observation ${i} is "${log[i]}", live "${live.log[i]}"`);
  if (snapshot.state !== state) fail("the state is another");
}

function assertSound(machine: RunMachine, what: string, live: LiveRun, history: readonly HistoryEvent[]): void {
  const { divergence, violation } = machine;
  if (divergence)
    throw new Mismatch(`${what} diverged at event ${divergence.seq}: ${divergence.fault}`, live, { history });
  if (violation) throw new Mismatch(`${what} broke a rule: ${violation.message}`, live, { history });
}

/** Events are numbered without gaps, time never runs backwards, and the failed attempts of a step count up from 1. */
function assertInOrder(live: LiveRun): void {
  const attempts = new Map<string | null, number>();
  live.history.forEach(({ seq, at, type, op, meta }, i) => {
    const attempt = (attempts.get(op) ?? 0) + 1;
    const inTime = at >= (live.history[i - 1]?.at ?? 0);
    const counted = type !== "step_attempt_failed" || meta?.attempt === attempt;
    if (seq !== i + 1 || !inTime || !counted) throw new Mismatch(`event ${seq} is out of order`, live, live);
    if (type === "step_attempt_failed") attempts.set(op, attempt);
  });
}

function eventsText(events: readonly HistoryEvent[]): string {
  return JSON.stringify(events, (key, value) => (key === "stack" ? undefined : value));
}
