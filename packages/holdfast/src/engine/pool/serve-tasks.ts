/** The other end of a task pool: what a process of it does. */
import { jsonCodec } from "../../codec/json-codec.ts";
import { limitPayloads } from "../../codec/limited-codec.ts";
import { classifyError } from "../../errors/classify.ts";
import { fromErrorRecord, toErrorRecord } from "../../errors/error-record.ts";
import { HoldfastError } from "../../errors/holdfast-error.ts";
import { shouldRetry } from "../../errors/retry-rule.ts";
import { describeValue } from "../../errors/safe-read.ts";
import type { Payload } from "../../model/payload.ts";
import type { Task } from "../../model/task.ts";
import type { Codec } from "../../ports/codec.ts";
import { LOG_LEVELS, type Logger, type LogLevel } from "../../ports/logger.ts";
import type { FailedThere, PoolOrder, PoolReport } from "../../ports/task-processes.ts";
import { type AnyTask, isTask, type TaskFunction } from "../../replay/ops/task-options.ts";
import { systemClock } from "../../system/clock.ts";
import { onUncaught, openParent, type ParentChannel, poolProcess, residentBytes } from "../../system/pool-process.ts";
import { checkedOutput } from "../tasks/checked-output.ts";
import { LATER, TaskAttempt, type TaskAttemptOwner, type TaskEnd } from "../tasks/task-attempt.ts";

let service: TaskService | undefined;

/**
 * Serves tasks to the worker that has started this process for its task pool; in any other process it does nothing. A module
 * that exports its tasks needs no call of this: it is for programs that are bundled together with Holdfast.
 */
export function serveTasks(tasks: Readonly<Record<string, unknown>> | readonly unknown[]): void {
  if (poolProcess() === undefined) return;
  openService().add(Object.values(tasks).flat());
}

/** From here on this process ends with the worker. */
export function openService(): TaskService {
  service ??= new TaskService();
  return service;
}

/** The module cannot be loaded. */
export function reportUnusable(error: unknown): void {
  openService().fail(error);
}

class TaskService implements TaskAttemptOwner {
  readonly #tasks = new Map<string, AnyTask>();
  readonly #running = new Map<number, TaskAttempt>();
  readonly #ids = new Map<TaskAttempt, number>();
  readonly #beats = new Map<number, () => void>();
  readonly #parent: ParentChannel;
  readonly #log: Logger;
  readonly #codec: Codec;
  #beat = 0;
  #announced = false;

  constructor() {
    this.#parent = openParent((order) => this.#obey(order));
    onUncaught((error) => this.#parent.send({ type: "uncaught", error: toErrorRecord(error) }));
    this.#log = this.#logger();
    const limits = poolProcess()?.limits;
    this.#codec = limits ? limitPayloads(jsonCodec, limits, this.#log) : jsonCodec;
  }

  add(values: readonly unknown[]): void {
    for (const value of values) {
      if (!isServed(value)) continue;
      const known = this.#tasks.get(value.name);
      if (known && known !== value) return this.fail(twoTasks(value.name));
      this.#tasks.set(value.name, value);
    }
    if (this.#announced) return;
    this.#announced = true;
    this.#parent.stay();
    // A module may have more to add.
    systemClock.immediate(() =>
      this.#parent.send({ type: "ready", tasks: [...this.#tasks.keys()], residentBytes: residentBytes() }),
    );
  }

  fail(error: unknown): void {
    this.#announced = true;
    this.#parent.stay();
    this.#parent.last({ type: "unusable", error: toErrorRecord(error) });
  }

  #obey(order: PoolOrder): void {
    if (order.type === "run") this.#run(order.id, order.task);
    else if (order.type === "abort") this.#running.get(order.id)?.abort(fromErrorRecord(order.reason));
    else if (order.type === "heard") this.#beats.get(order.beat)?.();
  }

  #run(id: number, task: Task): void {
    const attempt = new TaskAttempt(task, { clock: systemClock, codec: this.#codec, log: this.#log }, this);
    this.#running.set(id, attempt);
    this.#ids.set(attempt, id);
    attempt.run((this.#tasks.get(task.name) as AnyTask).fn as TaskFunction<never, unknown>);
  }

  /** Resolves once the worker has recorded it. */
  async heard(attempt: TaskAttempt, details: Payload | null): Promise<void> {
    const id = this.#ids.get(attempt) as number;
    this.#beat += 1;
    const beat = this.#beat;
    this.#parent.send({ type: "beat", id, beat, details });
    await new Promise<void>((resolve) => this.#beats.set(beat, resolve));
    this.#beats.delete(beat);
  }

  ended(attempt: TaskAttempt, end: TaskEnd): void {
    void this.#report(attempt, end);
  }

  async #report(attempt: TaskAttempt, end: TaskEnd): Promise<void> {
    const id = this.#ids.get(attempt) as number;
    const definition = this.#tasks.get(attempt.task.name) as AnyTask;
    let report: PoolReport;
    try {
      if ("value" in end) {
        const value = await checkedOutput(definition, end.value);
        const encoded = (): Payload => this.#codec.encode(value, `result of task "${attempt.task.op}"`);
        report = { type: "done", id, payload: value === LATER ? null : encoded() };
      } else {
        const error = "error" in end ? end.error : undefined;
        report = { type: "failed", id, ...failedThere(definition, error, attempt.attempt, false) };
      }
    } catch (error) {
      report = { type: "failed", id, ...failedThere(definition, error, attempt.attempt, true) };
    }
    this.#running.delete(id);
    this.#ids.delete(attempt);
    this.#parent.send(report);
  }

  #logger(): Logger {
    const method = (level: LogLevel) => (fields: object, message: string) => {
      try {
        this.#parent.send({ type: "log", level, fields, message });
      } catch {
        // Something in it cannot be sent: a function, a proxy.
        this.#parent.send({ type: "log", level, fields: shownFields(fields), message });
      }
    };
    return Object.fromEntries(LOG_LEVELS.map((level) => [level, method(level)])) as unknown as Logger;
  }
}

function isServed(value: unknown): value is AnyTask {
  return isTask(value) && !value.external;
}

/** One of them would never be called. */
function twoTasks(name: string): HoldfastError {
  return new HoldfastError("invalid_option", `The module of the pool has two tasks with the name "${name}".`);
}

function failedThere({ retryIf }: AnyTask, error: unknown, attempt: number, final: boolean): FailedThere {
  const { kind, retryAfterMs } = classifyError(error, { nowMs: systemClock.now() });
  const retry = shouldRetry(retryIf, error, { kind, attempt });
  return { error: toErrorRecord(error, { kind }), retry, retryAfterMs, final };
}

function shownFields(fields: object): object {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, shown(value)]));
}

function shown(value: unknown): unknown {
  return typeof value === "object" || typeof value === "function" ? describeValue(value) : value;
}
