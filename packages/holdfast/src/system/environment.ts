import { readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { basename, extname } from "node:path";
import { threadId } from "node:worker_threads";
import type { Environment } from "../ports/environment.ts";
import { poolProcess } from "./pool-process.ts";
import { digestOfProgram } from "./program-digest.ts";

const PROGRAM_LENGTH_MAX = 100;
/** The process id namespace of the machine itself, on every Linux. */
const FIRST_PID_NAMESPACE = "pid:[4026531836]";

const digests = new Map<string, string | undefined>();
let workers = 0;

/** This process. Files are read once: the process runs the code that it was started with. */
export const systemEnvironment: Environment = {
  host: hostOf(hostname(), pidNamespace()),
  pid: process.pid,
  inPool: poolProcess() !== undefined,
  workerIds: new Set(),

  workerName() {
    workers += 1;
    // Threads of a process share its program and process id.
    return [programName(), ...(threadId === 0 ? [] : [`t${threadId}`]), workers].join("-");
  },

  isGone(pid) {
    try {
      process.kill(pid, 0); // signal 0 only checks
      return false;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === "ESRCH";
    }
  },

  programDigest(file) {
    if (!digests.has(file)) digests.set(file, digestOfProgram(file));
    return digests.get(file);
  },
};

/**
 * Where a process id is meaningful. Two containers may share a host name, and each has a process 1: neither may take the
 * other for its own predecessor, and neither can see whether a process of the other is gone.
 */
export function hostOf(name: string, namespace: string | undefined): string {
  return namespace === undefined || namespace === FIRST_PID_NAMESPACE ? name : `${name}/${namespace}`;
}

function pidNamespace(): string | undefined {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    return undefined;
  }
}

function programName(): string {
  const script = process.argv[1] ?? "";
  const name = basename(script, extname(script)).replace(/[^\w.-]/g, "");
  return name.slice(0, PROGRAM_LENGTH_MAX) || "worker";
}
