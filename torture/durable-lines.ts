/** What a process notes in the effects file when the store has acknowledged something: from then on nobody may repeat it. */
import process from "node:process";
import { jsonCodec } from "holdfast";
import type {
  BeatTasksParams,
  BeatTasksResult,
  CommitRunsParams,
  CommitRunsResult,
  FinishTasksParams,
  FinishTasksResult,
} from "holdfast/adapter";
import type { EffectLine } from "./effects-file.ts";

const RECORDED: readonly string[] = [
  "step_completed",
  "step_failed",
  "step_attempt_failed",
  "task_completed",
  "task_failed",
];

export function linesOfCommit({ commits }: CommitRunsParams, { outcomes }: CommitRunsResult): EffectLine[] {
  const written = commits.filter((_, i) => outcomes[i]?.outcome === "written");
  return written.flatMap(({ runId, epoch, events }) =>
    events
      .filter(({ type }) => RECORDED.includes(type))
      .map(({ type, op, seq, meta }) => ({
        ...durable(runId, op as string, epoch, type),
        seq,
        attempt: meta?.attempt ?? 1,
      })),
  );
}

/** Ends of attempts. What holds the attempt is known by its epoch; the op and the attempt are those of its first line. */
export function linesOfFinish({ finishes }: FinishTasksParams, { outcomes }: FinishTasksResult): EffectLine[] {
  return finishes
    .filter((_, i) => outcomes[i]?.outcome === "done")
    .map(({ runId, seq, epoch, result }) => ({ ...durable(runId, "", epoch, `attempt_${result.type}`), task: seq }));
}

export function linesOfBeat({ beats }: BeatTasksParams, { outcomes }: BeatTasksResult): EffectLine[] {
  return beats
    .filter(({ details }, i) => details !== null && outcomes[i]?.outcome === "heard")
    .map(({ runId, seq, epoch, details }) => ({
      ...durable(runId, "", epoch, "beat"),
      task: seq,
      details: Number(jsonCodec.decode(details as Uint8Array)),
    }));
}

function durable(run: string, op: string, epoch: number, event: string): EffectLine {
  return { phase: "durable", at: Date.now(), pid: process.pid, run, op, attempt: 0, epoch, event };
}
