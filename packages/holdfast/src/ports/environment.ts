import type { WorkerAbout, WorkerLoad } from "../model/worker-row.ts";

/** The process in which the engine runs, and what it can see of the program and the machine. */
export interface Environment {
  readonly host: string;
  readonly pid: number;
  /** Whether it is a process of a task pool. */
  readonly inPool: boolean;
  /** Ids under which workers of this process are registered now. */
  readonly workerIds: Set<string>;
  /** A name for one more worker of this process; the same at every start of the same program. */
  workerName(): string;
  /** Whether no process of this machine has that id; false also if that is unknown. */
  isGone(pid: number): boolean;
  /** The runtime, and the program if it is known. */
  about?(): Pick<WorkerAbout, "holdfast" | "runtime" | "program">;
  /** How busy the process is. */
  load?(): Pick<WorkerLoad, "loopBusy" | "memoryBytes">;
  /** Changes whenever the file does, or a file of the same program that it imports; undefined if that is unknown. */
  programDigest(file: string): string | undefined;
}
