import { hostname } from "node:os";
import { basename, extname } from "node:path";
import { threadId } from "node:worker_threads";
import type { Environment } from "../ports/environment.ts";
import { digestOfProgram } from "./program-digest.ts";

const PROGRAM_LENGTH_MAX = 100;

const digests = new Map<string, string | undefined>();
let workers = 0;

/** This process. Files are read once: it runs the code that it was started with. */
export const systemEnvironment: Environment = {
  host: hostname(),
  pid: process.pid,
  workerIds: new Set(),

  workerName() {
    workers += 1;
    // Threads of a process have the same program and the same process id.
    return [programName(), ...(threadId === 0 ? [] : [`t${threadId}`]), workers].join("-");
  },

  isGone(pid) {
    try {
      process.kill(pid, 0); // signal 0 only asks
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

function programName(): string {
  const script = process.argv[1] ?? "";
  const name = basename(script, extname(script)).replace(/[^\w.-]/g, "");
  return name.slice(0, PROGRAM_LENGTH_MAX) || "worker";
}
