/** Child processes of this one, with Node's IPC channel. */
import { type ChildProcess, fork, type Serializable } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type {
  PoolOrder,
  PoolProcess,
  PoolReport,
  ProcessEvents,
  StartProcessParams,
  TaskProcess,
  TaskProcesses,
} from "../ports/task-processes.ts";
import { POOL_VARIABLE, readWrapped, SIZE_FD, wrapped } from "./pool-process.ts";

/** Node's heap gets this share of the limit, so that it collects garbage in time, and says so when it cannot. */
const HEAP_SHARE = 0.75;
const MIB = 1024 * 1024;

/** Options of this process that are not for its children: ports that can be opened once, programs of their own. */
const OWN_OPTIONS = /^--(?:inspect|watch|test|env-file|input-type)/;
/** The same, followed by a value. */
const OWN_PAIRS = new Set(["-e", "--eval", "-p", "--print", "-pe"]);

export const systemTaskProcesses: TaskProcesses = { start };

function start(params: StartProcessParams, events: ProcessEvents): TaskProcess {
  const { module, limits, memoryBytes } = params;
  const file = params.loader !== undefined && existsSync(new URL(params.loader)) ? params.loader : module;
  const told: PoolProcess = { module, limits };
  const heap =
    memoryBytes === undefined ? [] : [`--max-old-space-size=${Math.floor((memoryBytes * HEAP_SHARE) / MIB)}`];
  try {
    const child = fork(fileURLToPath(file), [], {
      serialization: "advanced",
      execArgv: [...(params.execArgv ?? forChildren(process.execArgv)), ...heap],
      env: { ...process.env, [POOL_VARIABLE]: JSON.stringify(told) },
      stdio: ["ignore", "inherit", "inherit", "ipc", "pipe"],
    });
    return watched(child, events);
  } catch (error) {
    events.ended(`could not be started: ${String(error)}`);
    return { pid: undefined, send() {}, leave() {}, kill() {} };
  }
}

function watched(child: ChildProcess, events: ProcessEvents): TaskProcess {
  let over = false;
  const end = (how: string): void => {
    if (over) return;
    over = true;
    events.ended(how);
  };
  child.on("message", (message) => {
    const report = readWrapped<PoolReport>(message);
    if (report && !over) events.said(report);
  });
  // Also when it could not be killed, because it has just ended.
  child.on("error", (error) => {
    if (child.pid === undefined) end(`could not be started: ${error.message}`);
  });
  child.stdio[SIZE_FD]?.on("error", () => {});
  // "close", not "exit": what it said last has arrived by then.
  child.once("close", (code, signal) => end(signal === null ? `exited with code ${code}` : `was ended by ${signal}`));
  child.stdio[SIZE_FD]?.on("data", (chunk: Buffer) => {
    const bytes = Number(chunk.toString().trim().split("\n").at(-1));
    if (!over && bytes > 0) events.measured(bytes);
  });
  // One that has gone is heard of through its end.
  const send = (order: PoolOrder): void => {
    if (child.connected) child.send(wrapped(order) as Serializable, () => {});
  };
  return {
    pid: child.pid,
    send,
    // Not by a disconnect: Node would never report the end of a process that this one has disconnected from.
    leave: () => send({ type: "leave" }),
    kill: () => void child.kill("SIGKILL"),
  };
}

/** Loaders stay, such as those that compile TypeScript. */
export function forChildren(execArgv: readonly string[]): string[] {
  return execArgv.filter(
    (option, i) => !OWN_OPTIONS.test(option) && !OWN_PAIRS.has(option) && !OWN_PAIRS.has(execArgv[i - 1] ?? ""),
  );
}
