/**
 * Child processes that execute the tasks of a worker, and what is said between them. Nothing durable happens in a child: it
 * gets a task, calls its function and answers.
 */
import type { ErrorRecord } from "../model/error-record.ts";
import type { Limits } from "../model/limits.ts";
import type { Payload } from "../model/payload.ts";
import type { Task } from "../model/task.ts";
import type { LogLevel } from "./logger.ts";

export interface TaskProcesses {
  /** Never throws: a process that cannot be started has ended. */
  start(params: StartProcessParams, events: ProcessEvents): TaskProcess;
}

export interface StartProcessParams extends PoolProcess {
  /** The file that loads the module and serves its tasks. If there is none (a bundle), the module does that itself. */
  readonly loader: string | undefined;
  readonly memoryBytes: number | undefined;
  /** Options of Node; undefined: those of this process. */
  readonly execArgv: readonly string[] | undefined;
}

/** What a process of a pool is told at its start. */
export interface PoolProcess {
  /** A file URL. */
  readonly module: string;
  /** For results in the JSON codec; undefined if the parent encodes them once more. */
  readonly limits: Limits | undefined;
}

export interface TaskProcess {
  readonly pid: number | undefined;
  send(order: PoolOrder): void;
  /** Asks it to end; it executes nothing. */
  leave(): void;
  kill(): void;
}

export interface ProcessEvents {
  readonly said: (report: PoolReport) => void;
  /** Comes about every quarter of a second, also while the process is busy. */
  readonly measured: (residentBytes: number) => void;
  /** `how`: such as "exited with code 1". Nothing comes after it. */
  readonly ended: (how: string) => void;
}

/** From the worker to a process. `id` names one execution. Payloads are in the JSON codec. */
export type PoolOrder =
  | { readonly type: "run"; readonly id: number; readonly task: Task }
  | { readonly type: "abort"; readonly id: number; readonly reason: ErrorRecord }
  /** A heartbeat has been recorded. */
  | { readonly type: "heard"; readonly id: number; readonly beat: number }
  /** Nothing more is to be done. */
  | { readonly type: "leave" };

/** From a process to the worker. */
export type PoolReport =
  /** It has loaded its module. `tasks`: the names of those that it can execute. */
  | { readonly type: "ready"; readonly tasks: readonly string[]; readonly residentBytes: number }
  | { readonly type: "unusable"; readonly error: ErrorRecord }
  /** Null: someone with the token completes it. */
  | { readonly type: "done"; readonly id: number; readonly payload: Payload | null }
  | ({ readonly type: "failed"; readonly id: number } & FailedThere)
  | { readonly type: "beat"; readonly id: number; readonly beat: number; readonly details: Payload | null }
  | { readonly type: "log"; readonly level: LogLevel; readonly fields: object; readonly message: string }
  /** The last word of a process that nobody has caught an error in. */
  | { readonly type: "uncaught"; readonly error: ErrorRecord };

/** A failure as the process saw it, where the error itself and the rule of the task are. */
export interface FailedThere {
  readonly error: ErrorRecord;
  /** What the rule of the definition says. */
  readonly retry: boolean;
  readonly retryAfterMs: number | undefined;
  /** The function has returned, but not what can be kept. */
  readonly final: boolean;
}
