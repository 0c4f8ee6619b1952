import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { basename, extname } from "node:path";
import { type EventLoopUtilization, performance } from "node:perf_hooks";
import { threadId } from "node:worker_threads";
import type { Environment } from "../ports/environment.ts";
import { poolProcess } from "./pool-process.ts";
import { digestOfProgram } from "./program-digest.ts";

const PROGRAM_LENGTH_MAX = 100;
/** The process id namespace of the machine itself, on every Linux. */
const FIRST_PID_NAMESPACE = "pid:[4026531836]";

const digests = new Map<string, string | undefined>();
let workers = 0;
/** A stretch of the event loop that is shorter than this says nothing. */
const LOOP_MS_MIN = 100;
let lastLoop: EventLoopUtilization | undefined;
let busyBefore = 0;

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

  about() {
    const { npm_package_name: name, npm_package_version: version } = process.env;
    return { ...ownVersion(), runtime: runtimeName(), ...(name && version ? { program: `${name}@${version}` } : {}) };
  },

  load() {
    return { loopBusy: loopBusy(), memoryBytes: process.memoryUsage().rss };
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

/** Unknown where the package was bundled. */
function ownVersion(): { readonly holdfast?: string } {
  try {
    const own = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as Record<
      string,
      string
    >;
    return own["name"] === "holdfast" && own["version"] ? { holdfast: own["version"] } : {};
  } catch {
    return {};
  }
}

function runtimeName(): string {
  const { bun, deno, node } = process.versions;
  return bun ? `bun ${bun}` : deno ? `deno ${deno}` : `node ${node}`;
}

/** Since it was asked before; the workers of a process may ask one right after the other. */
function loopBusy(): number {
  const now = performance.eventLoopUtilization?.();
  if (!now) return 0;
  const since = performance.eventLoopUtilization(now, lastLoop);
  if (since.idle + since.active < LOOP_MS_MIN) return busyBefore;
  lastLoop = now;
  busyBefore = Math.round(since.utilization * 1_000) / 1_000;
  return busyBefore;
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
