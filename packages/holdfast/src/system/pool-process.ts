/** This process as a process of a task pool, seen from inside. */
import { Worker } from "node:worker_threads";
import type { PoolOrder, PoolProcess, PoolReport } from "../ports/task-processes.ts";

/** Makes a process one of a pool; says which module it serves. */
export const POOL_VARIABLE = "HOLDFAST_TASK_POOL";
/** The pipe to the parent for what must be told even while the process is busy. */
export const SIZE_FD = 4;

const MARK = Symbol.for("holdfast.task-pool");
const MEASURED_EVERY_MS = 250;

/**
 * A thread, because the function of a task may never let the event loop run. It tells the parent how much memory the process
 * uses. When nobody reads that any more, the parent is gone, and so is all reason to go on.
 */
const WATCHER = `
  const { writeSync } = require("node:fs");
  setInterval(() => {
    try {
      writeSync(${SIZE_FD}, process.memoryUsage.rss() + "\\n");
    } catch (error) {
      if (error.code !== "EAGAIN") process.kill(process.pid, "SIGKILL");
    }
  }, ${MEASURED_EVERY_MS});`;

/** Several copies of this package may be loaded; the first one reads what the process is. */
type Marked = { [MARK]?: PoolProcess };

/** What this process was told at its start; undefined if it is not one of a pool. */
export function poolProcess(): PoolProcess | undefined {
  const marked = globalThis as Marked;
  const text = process.env[POOL_VARIABLE];
  if (text === undefined || process.send === undefined) return marked[MARK];
  // The processes that it starts itself are not of the pool.
  delete process.env[POOL_VARIABLE];
  marked[MARK] = JSON.parse(text) as PoolProcess;
  return marked[MARK];
}

/** The code of tasks may use the channel too: what is ours is marked. */
export function wrapped(message: PoolOrder | PoolReport): object {
  return { holdfast: message };
}

export function readWrapped<T>(message: unknown): T | undefined {
  return (message as { readonly holdfast?: T } | null | undefined)?.holdfast;
}

export interface ParentChannel {
  /** Keeps this process alive. Until then, one with nothing left to do ends: its module waits for what never comes. */
  stay(): void;
  /** Throws if something in the report cannot be sent. */
  send(report: PoolReport): void;
  /** Ends this process when the report is sent. */
  last(report: PoolReport): void;
}

/** The channel to the parent. From here on this process ends when the parent is gone, and ignores the signals that are for it. */
export function openParent(onOrder: (order: PoolOrder) => void): ParentChannel {
  process.on("message", (message) => {
    const order = readWrapped<PoolOrder>(message);
    if (order?.type === "leave") process.exit();
    if (order) onOrder(order);
  });
  process.on("disconnect", () => process.exit());
  // A terminal sends them to all processes at once, a service manager too: the parent decides what becomes of tasks.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => {});
  process.channel?.unref();
  const options = { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 2 };
  new Worker(WATCHER, { eval: true, execArgv: [], env: {}, resourceLimits: options }).unref();
  return {
    stay: () => process.channel?.ref(),
    send: (report) => void process.send?.(wrapped(report), undefined, {}, () => {}),
    last: (report) => void process.send?.(wrapped(report), undefined, {}, () => process.exit(1)),
  };
}

/** Nobody has caught an error: the process is about to end. */
export function onUncaught(callback: (error: unknown) => void): void {
  process.on("uncaughtExceptionMonitor", callback);
}

export function residentBytes(): number {
  return process.memoryUsage.rss();
}
