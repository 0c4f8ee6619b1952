import { availableParallelism } from "node:os";
import { isAbsolute } from "node:path";
import { pathToFileURL } from "node:url";
import {
  invalidOption,
  isDuration,
  listOf,
  type OptionCheck,
  type OptionChecks,
  optionsOf,
  requireDuration,
  wholeNumber,
} from "../../errors/option-checks.ts";
import { shownValue } from "../../errors/shown-value.ts";
import { type ByteSize, bytesOf } from "../../model/byte-size.ts";
import type { CheckedDuration } from "../../model/checked-duration.ts";

/** Options of a worker's task pool. */
export interface TaskPoolOptions<S extends string = string> {
  /**
   * The module that exports the worker's tasks, for example `new URL("./tasks.js", import.meta.url)`: every process of the pool
   * loads it. A URL, or an absolute path.
   */
  readonly module: URL | string;
  /**
   * How many processes execute tasks.
   * @defaultValue the number of processors
   */
  readonly processes?: number;
  /**
   * How many tasks one process executes at once. What one of them does to the process, it does to all.
   * @defaultValue `1`
   */
  readonly perProcess?: number;
  /**
   * After how many tasks a process is replaced. Its successor is ready before it gets its last task.
   * @defaultValue never
   */
  readonly recycleAfter?: number;
  /**
   * How much memory a process may use, such as `"512 MiB"` or `"1 GiB"`; at least 64 MiB. At 80 % it is replaced, above the
   * limit it is killed.
   * @defaultValue no limit
   */
  readonly memory?: ByteSize;
  /**
   * How long a canceled task may take to stop, before its process is killed.
   * @defaultValue `"5s"`
   */
  readonly cancelGrace?: CheckedDuration<S>;
  /**
   * Options of Node for the processes.
   * @defaultValue those of this process, without its debugger
   */
  readonly execArgv?: readonly string[];
}

export interface ResolvedPoolOptions {
  /** A file URL. */
  readonly module: string;
  readonly processes: number;
  readonly perProcess: number;
  readonly recycleAfter: number;
  readonly memoryBytes: number | undefined;
  readonly cancelGraceMs: number;
  readonly execArgv: readonly string[] | undefined;
}

const MEMORY_BYTES_MIN = 64 * 1024 * 1024;

const isModule: OptionCheck = (value, where, option) => {
  if (moduleUrl(value) !== undefined) return;
  const advice = 'Use new URL("./tasks.js", import.meta.url)';
  throw invalidOption(where, option, `is ${shownValue(value)}, not a file URL or an absolute path. ${advice}`);
};

const isMemory: OptionCheck = (value, where, option) => {
  const bytes = bytesOf(value);
  if (bytes === undefined)
    throw invalidOption(where, option, `is ${shownValue(value)}, not a size like "512 MiB" or "1 GiB"`);
  if (bytes < MEMORY_BYTES_MIN) throw invalidOption(where, option, `is ${shownValue(value)}; the minimum is 64 MiB`);
};

const isText: OptionCheck = (value, where, option) => {
  if (typeof value !== "string") throw invalidOption(where, option, `is ${shownValue(value)}, not a string`);
};

const POOL_OPTIONS: OptionChecks<TaskPoolOptions> = {
  module: isModule,
  processes: wholeNumber(1),
  perProcess: wholeNumber(1),
  recycleAfter: wholeNumber(1),
  memory: isMemory,
  cancelGrace: isDuration,
  execArgv: listOf(isText),
};

export const isPool: OptionCheck = (value, where, option) => {
  optionsOf(POOL_OPTIONS)(value, where, option);
  if ((value as TaskPoolOptions).module === undefined)
    throw invalidOption(where, `${option}.module`, 'is missing. Use new URL("./tasks.js", import.meta.url)');
};

export function resolvePool(options: TaskPoolOptions): ResolvedPoolOptions {
  return {
    module: moduleUrl(options.module) as string,
    processes: options.processes ?? availableParallelism(),
    perProcess: options.perProcess ?? 1,
    recycleAfter: options.recycleAfter ?? Number.POSITIVE_INFINITY,
    memoryBytes: options.memory === undefined ? undefined : bytesOf(options.memory),
    cancelGraceMs: requireDuration(options.cancelGrace ?? "5s", "worker", "pool.cancelGrace"),
    execArgv: options.execArgv,
  };
}

/** Relative paths are refused: nobody could tell what they are relative to. */
function moduleUrl(value: unknown): string | undefined {
  const text = value instanceof URL ? value.href : value;
  if (typeof text !== "string") return undefined;
  if (isAbsolute(text)) return pathToFileURL(text).href;
  return text.startsWith("file://") && URL.canParse(text) ? text : undefined;
}
