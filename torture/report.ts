/** The tally in words: one line while it runs, a table at the end. */

import type { Tally } from "./campaign.ts";
import { FAULTS, type Fault } from "./finding.ts";
import type { MovesResult } from "./moves/move-campaign.ts";
import { faultsOf, type MutualProgress, type MutualResult } from "./mutual/mutual-load.ts";
import type { BeatProgress, BeatResult } from "./schedules/beat-campaign.ts";

const MEANINGS: Readonly<Record<Fault, string>> = {
  lost: "lost runs",
  wrong: "wrong ends",
  repeated: "repeated steps, tasks, children and messages",
  forgotten: "forgotten tasks, children and debts",
  early: "effects before their predecessors were durable",
  late: "effects after the lease",
};

const FINDINGS_SHOWN = 20;

export function killsOf({ kills }: Tally): number {
  return Object.values(kills).reduce((sum, count) => sum + count, 0);
}

export function faultCounts({ findings }: Tally): Record<Fault, number> {
  const counts = Object.fromEntries(FAULTS.map((fault) => [fault, 0])) as Record<Fault, number>;
  for (const { fault } of findings) counts[fault] += 1;
  return counts;
}

export function progressLine(tally: Tally, elapsedMs: number, minutes: number): string {
  const { started, open, zombies, databaseCrashes, terminatedConnections, findings } = tally;
  const parts = [
    `${clock(elapsedMs)} of ${clock(minutes * 60_000)}`,
    `${started} runs (${open} open)`,
    `${killsOf(tally)} kills (${tally.taskWorkerKills} of workers with tasks, ${tally.killsWithBoth} with parents and children)`,
    `${zombies} zombies`,
    ...(databaseCrashes > 0 ? [`${databaseCrashes} database crashes`] : []),
    ...(terminatedConnections > 0 ? [`${terminatedConnections} connections ended`] : []),
    findings.length === 0 ? "no findings" : `${findings.length} FINDINGS`,
  ];
  return parts.join(", ");
}

export function finalReport(tally: Tally, elapsedMs: number, seed: number): string {
  const { kills, findings, accidents } = tally;
  const counts = faultCounts(tally);
  const rows: [string, string | number][] = [
    ["time", clock(elapsedMs)],
    ["seed", seed],
    ["rounds", tally.rounds],
    ["runs started", tally.started],
    ["runs that ended", tally.finished],
    ["effects", tally.effects],
    ["  of them cut off, and executed again", tally.cutOff],
    ["tasks scheduled", tally.tasks.scheduled],
    ["tasks with a result in history", tally.tasks.finished],
    ["executions of tasks", tally.tasks.executions],
    ["  of them cut off, and executed again", tally.tasks.cutOff],
    ["dead letters kept", tally.tasks.deadLetters],
    ["answers given with tokens", tally.answers],
    ["  of them accepted", tally.accepted],
    ["children", tally.conversations.children],
    ["  of them with an outcome in their parents' history", tally.conversations.answered],
    ["messages between runs", tally.conversations.messages],
    ["updates answered", tally.conversations.updates],
    ["answers that clients were given", tally.conversations.told],
    ["kills", killsOf(tally)],
    ["  of workers with tasks", tally.taskWorkerKills],
    ["  of workers that held parents", tally.killsWithParents],
    ["  of workers that held children", tally.killsWithChildren],
    ["  of workers that held both", tally.killsWithBoth],
    ["  of clients", tally.clientKills],
    ...Object.entries(kills).map(([point, count]): [string, number] => [`  ${point}`, count]),
    ["drained workers", tally.drains],
    ["zombies", tally.zombies],
    ["  of them workers with tasks", tally.taskWorkerZombies],
    ["database crashes", tally.databaseCrashes],
    ["connections ended by the server", tally.terminatedConnections],
    ["runs parked for dead workers, resumed", tally.resumed],
    ["dead letters of dead workers, taken up", tally.retried],
    ...FAULTS.map((fault): [string, number] => [MEANINGS[fault], counts[fault]]),
  ];
  const table = tableOf(rows);
  const shown = findings.slice(0, FINDINGS_SHOWN).map(({ fault, id, text }) => `${fault}: ${id} ${text}`);
  const more = findings.length > FINDINGS_SHOWN ? [`… and ${findings.length - FINDINGS_SHOWN} more`] : [];
  const ended = accidents.map((accident) => `a worker process ended unexpectedly: ${accident}`);
  return [...table, "", ...shown, ...more, ...ended].join("\n").trimEnd();
}

export function mutualLine(progress: MutualProgress | undefined, minutes: number): string {
  const { elapsedMs = 0, finished = 0, deadlocks = 0 } = progress ?? {};
  return `${clock(elapsedMs)} of ${clock(minutes * 60_000)}, ${finished} runs have ended, ${deadlocks} deadlocks`;
}

export function mutualReport(result: MutualResult): string {
  const table = tableOf([
    ["time", clock(result.elapsedMs)],
    ["runs started", result.started],
    ["runs that ended", result.finished],
    ["intervals", result.intervals],
    ["fewest runs that ended in one", result.fewest],
    ["runs per flush", result.commitsPerFlush.toFixed(1)],
    ["commits that change no row", result.appends],
    ["messages that took their run", result.taken],
    ["put off because of a lock", result.busy],
    ["deadlocks that the server counts", result.serverDeadlocks],
    ["errors and lines of the log that mention one", result.deadlocks],
    ["runs that have not completed", result.unfinished],
    ["debts left", result.debts],
  ]);
  return [...table, "", ...faultsOf(result), ...result.complaints].join("\n").trimEnd();
}

export function beatLine(progress: BeatProgress | undefined, minutes: number): string {
  const { elapsedMs = 0, rounds = 0, times = 0, kills = 0 } = progress ?? {};
  const judged = `${times} times of schedules judged in ${rounds} rounds`;
  return `${clock(elapsedMs)} of ${clock(minutes * 60_000)}, ${judged}, ${kills} kills`;
}

export function beatReport(result: BeatResult, seed: number): string {
  const counted = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts).map(([name, count]): [string, number] => [`  ${name}`, count]);
  const table = tableOf([
    ["time", clock(result.elapsedMs)],
    ["seed", seed],
    ["rounds", result.rounds],
    ["times that were due", result.times],
    ["runs of schedules", result.runs],
    ["decisions", Object.values(result.decisions).reduce((sum, count) => sum + count, 0)],
    ...counted(result.decisions),
    ["kills", result.kills],
    ["  aimed at the leader", result.leadersKilled],
    ...counted(result.killsAt),
    ["zombies", result.zombies],
    ["database crashes", result.databaseCrashes],
    ["connections ended by the server", result.connectionsEnded],
    ["findings", result.findings.length],
  ]);
  const shown = result.findings.slice(0, FINDINGS_SHOWN).map(({ fault, id, text }) => `${fault}: ${id} ${text}`);
  return [...table, "", ...shown, ...result.accidents].join("\n").trimEnd();
}

function tableOf(rows: readonly (readonly [string, string | number])[]): string[] {
  const width = Math.max(...rows.map(([name]) => name.length)) + 2;
  return rows.map(([name, value]) => `${name.padEnd(width)}${String(value).padStart(9)}`);
}

function clock(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

export function movesReport({ runs, movedRuns, kills, faults }: MovesResult): string {
  const verdict = faults.length === 0 ? "each has ended once" : faults.slice(0, 50).join("\n");
  return `${runs} runs, ${movedRuns} of them moved, ${kills} movers killed: ${verdict}`;
}
