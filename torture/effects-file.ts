/**
 * The effects file: what every worker process did to the outside world, in one order. Each line is one `write` with
 * O_APPEND, so the order of the lines is the order in which things happened, across all processes. No clock is
 * involved.
 */
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";

export interface EffectLine {
  readonly phase: "begin" | "end" | "durable" | "told";
  readonly at: number;
  readonly pid: number;
  readonly run: string;
  readonly op: string;
  readonly attempt: number;
  /** The event that scheduled it, if it is a task. */
  readonly task?: number;
  /** The epoch under which the process held the run, or the task. */
  readonly epoch: number;
  /** Identifies this execution; its result in history carries the token. */
  readonly token?: string;
  /** What the code had seen when it requested the step: tokens of results, fired timers, received signals. */
  readonly seen?: readonly string[];
  /** How many milliseconds ago the lease of the process had expired, if it had. */
  readonly lateMs?: number;
  /** The step must be undone if the run does not complete. */
  readonly undoable?: boolean;
  /** It may begin only once, with or without a crash. */
  readonly once?: boolean;
  /** In a `durable` line: the event, or the end of an attempt of a task, that the store has acknowledged. */
  readonly event?: string;
  /** The seq of that event. */
  readonly seq?: number;
  /** In a `told` line: what a client was answered. Its run is the id of the run, its op the id of the message. */
  readonly answer?: unknown;
  /** What a heartbeat has reported, or what an attempt was told of an earlier one. */
  readonly details?: number;
}

export class EffectsFile {
  readonly #fd: number;

  constructor(path: string) {
    this.#fd = openSync(path, "a");
  }

  append(lines: readonly EffectLine[]): void {
    if (lines.length > 0) writeSync(this.#fd, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  }

  close(): void {
    closeSync(this.#fd);
  }
}

/**
 * A process may die in the middle of a long write: only its last line can be torn, and other processes append after it.
 */
export function readEffects(path: string): EffectLine[] {
  return readFileSync(path, "utf8").split("\n").flatMap(parseLine);
}

function parseLine(text: string): EffectLine[] {
  try {
    return text === "" ? [] : [JSON.parse(text) as EffectLine];
  } catch {
    return [];
  }
}
